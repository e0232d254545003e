/// The references between the items of a box `meta`.
struct ItemReferences {
  private var references: [ItemTables.Reference] = []
  private var transparencies: Set<Int64> = []
  /// References to the pictures that one is made of or coded from.
  private static let parts: Set<String> = ["dimg", "base", "pred", "tbas", "exbl"]
  /// Kinds of auxiliary pictures that hold transparency: of HEVC, and of any codec.
  private static let transparency = [
    "urn:mpeg:hevc:2015:auxid:1", "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
  ].map { Array($0.utf8) }

  /// `boxes`: those of the box `meta`.
  init(_ tables: ItemTables, _ boxes: [ItemTables.Box]) throws(StrippedPicture.Fault) {
    for box in boxes where box.type == "iref" {
      references += try tables.references(in: box.content)
    }
    if !references.contains(where: { $0.type == "auxl" }) { return }
    for box in boxes where box.type == "iprp" {
      let inner = try tables.boxes(in: box.content)
      var properties: [ItemTables.Box] = []
      for box in inner where box.type == "ipco" { properties += try tables.boxes(in: box.content) }
      for table in inner where table.type == "ipma" {
        try addTransparencies(tables, table.content, properties)
      }
    }
  }

  func items(neededBy primary: Int64) -> Set<Int64> {
    var needed: Set = [primary]
    var waiting = [primary]
    while let item = waiting.popLast() {
      for other in parts(of: item) where needed.insert(other).inserted { waiting.append(other) }
    }
    return needed
  }

  private func parts(of item: Int64) -> [Int64] {
    references.flatMap { reference -> [Int64] in
      if reference.from == item, ItemReferences.parts.contains(reference.type) {
        return reference.to.map(\.item)
      }
      let isIts = reference.type == "auxl" && reference.to.contains { $0.item == item }
      return isIts && transparencies.contains(reference.from) ? [reference.from] : []
    }
  }

  private mutating func addTransparencies(
    _ tables: ItemTables, _ content: Range<Int>, _ properties: [ItemTables.Box]
  ) throws(StrippedPicture.Fault) {
    for (item, number) in try tables.associations(in: content).pairs
    where number > 0 && number <= properties.count
      && isTransparency(tables, properties[number - 1])
    {
      transparencies.insert(item)
    }
  }

  /// `auxC`: version, flags, and a text up to a zero.
  private func isTransparency(_ tables: ItemTables, _ property: ItemTables.Box) -> Bool {
    if property.type != "auxC" { return false }
    let name = tables.bytes[property.content].dropFirst(4).prefix { $0 != 0 }
    return ItemReferences.transparency.contains { name.elementsEqual($0) }
  }
}
