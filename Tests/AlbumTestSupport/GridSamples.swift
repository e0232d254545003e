import Foundation

/// HEIC pictures as telephones take them: tiles of the picture, a grid that says how they lie, and a small
/// picture. No program of Debian makes them, so their boxes (ISO 14496-12 and 23008-12) are built here around
/// items that heif-enc encodes.
package struct GridSample {
  package let bytes: [UInt8]
  /// Where the tiles lie in the file, the last one at its end.
  package let tiles: [Range<Int>]

  /// What a container says wrongly of one of its tiles, by its number from 0.
  package enum Defect: Sendable {
    /// It does not say where the tile lies.
    case placeless(Int)
    /// The grid refers to the tile, and there is no such item.
    case unknown(Int)
    /// The grid does not refer to the tile.
    case unreferenced(Int)
    /// The tile is a quarter of its size, and says so.
    case small(Int)
    /// The tile is a quarter of its size, and the container says that it has the size of the others.
    case smallerThanStated(Int)
  }

  /// The quarters of `TestPictures` as tiles of 320 by 200, with a small picture of 160 by 100.
  package static func make(with defect: Defect? = nil) throws -> GridSample {
    let colours = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
    func tile(_ number: Int, _ width: Int, _ height: Int) throws -> Item {
      let pixels = (0..<width * height).flatMap { _ in colours[number] }
      return try Item(encoding: Data("P6\n\(width) \(height)\n255\n".utf8) + pixels)
    }
    var tiles = try colours.indices.map { try tile($0, 320, 200) }
    switch defect {
    case .small(let number): tiles[number] = try tile(number, 160, 100)
    case .smallerThanStated(let number):
      let stated = tiles[number].properties.filter { $0[4..<8].elementsEqual("ispe".utf8) }
      let other = try tile(number, 160, 100)
      let kept = other.properties.filter { !$0[4..<8].elementsEqual("ispe".utf8) }
      tiles[number] = Item(properties: kept + stated, content: other.content)
    default: break
    }
    let small = try Item(encoding: TestPictures.pixels(width: 160, height: 100))
    return GridSample(tiles, small, defect)
  }

  /// The output of heif-enc for a PPM: the properties of the one item, and its bytes.
  private struct Item {
    let properties: [[UInt8]]
    let content: [UInt8]

    init(properties: [[UInt8]], content: [UInt8]) {
      self.properties = properties
      self.content = content
    }

    init(encoding pixels: Data) throws {
      let file = try Workshop.open { shop in
        try shop.write(pixels, "in.ppm")
        try shop.run("vips", "copy", "in.ppm", "in.png")
        try shop.run("heif-enc", "-q", "80", "in.png", "-o", "out.heic")
        return try shop.read("out.heic")
      }
      let outer = Item.boxes(file[...])
      content = Array(outer["mdat", default: []].dropFirst(8))
      // Version and flags follow its head.
      let meta = Item.boxes(outer["meta", default: []].dropFirst(12))
      let list = Item.boxes(meta["iprp", default: []].dropFirst(8))["ipco", default: []]
      properties = Item.boxes(list.dropFirst(8)).sorted { $0.key < $1.key }.map { Array($0.value) }
    }

    /// The boxes of one level by their types, each with its head.
    private static func boxes(_ bytes: ArraySlice<UInt8>) -> [String: ArraySlice<UInt8>] {
      var found: [String: ArraySlice<UInt8>] = [:]
      var rest = bytes
      while rest.count >= 8 {
        let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        found[String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)] = rest.prefix(length)
        rest = rest.dropFirst(max(8, length))
      }
      return found
    }
  }

  private static let grid = 1
  private static let small = 2
  private static let firstTile = 3

  /// Two rows of two tiles.
  private init(_ tiles: [Item], _ picture: Item, _ defect: Defect?) {
    // Version, flags, rows less one, columns less one, width, height.
    let descriptor: [UInt8] = [0, 0, 1, 1] + big(640, 2) + big(400, 2)
    let contents = [descriptor, picture.content] + tiles.map(\.content)
    let head = box("ftyp", Array("heic\0\0\0\0mif1heic".utf8))
    func meta(_ start: Int) -> [UInt8] {
      GridSample.meta([picture] + tiles, contents.map(\.count), contentStart: start, defect)
    }
    let start = head.count + meta(0).count + 8
    bytes = head + meta(start) + box("mdat", contents.flatMap { $0 })
    var places: [Range<Int>] = []
    var place = start
    for content in contents {
      places.append(place..<place + content.count)
      place += content.count
    }
    self.tiles = Array(places.dropFirst(2))
  }

  private static func meta(
    _ items: [Item], _ lengths: [Int], contentStart: Int, _ defect: Defect?
  ) -> [UInt8] {
    let numbers = Array(grid...items.count + 1)
    var tiles = Array(numbers.dropFirst(firstTile - 1))
    var known = numbers
    var placed = numbers
    switch defect {
    case .placeless(let number): placed.removeAll { $0 == firstTile + number }
    case .unknown(let number): known.removeAll { $0 == firstTile + number }
    case .unreferenced(let number): tiles.remove(at: number)
    default: break
    }
    let info = known.flatMap { number -> [UInt8] in
      let type = number == grid ? "grid" : "hvc1"
      return fullBox(
        "infe", 2, big(number, 2) + [0, 0] + Array(type.utf8) + [0], isHidden: number >= firstTile)
    }
    let references =
      box("dimg", big(grid, 2) + big(tiles.count, 2) + tiles.flatMap { big($0, 2) })
      + box("thmb", big(small, 2) + big(1, 2) + big(grid, 2))
    var place = contentStart
    var places: [UInt8] = []
    for (number, length) in zip(numbers, lengths) {
      if placed.contains(number) {
        places += big(number, 2) + [0, 0, 0, 1] + big(place, 4) + big(length, 4)
      }
      place += length
    }
    return fullBox(
      "meta", 0,
      fullBox("hdlr", 0, [0, 0, 0, 0] + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
        + fullBox("pitm", 0, big(grid, 2)) + fullBox("iinf", 0, big(known.count, 2) + info)
        + fullBox("iref", 0, references) + properties(of: items)
        + fullBox("iloc", 0, [0x44, 0] + big(placed.count, 2) + places))
  }

  /// The properties of the grid, then those of each item.
  private static func properties(of items: [Item]) -> [UInt8] {
    var all = [fullBox("ispe", 0, big(640, 4) + big(400, 4))]
    var uses = big(grid, 2) + [1, 1]
    for (place, item) in items.enumerated() {
      uses += big(small + place, 2) + [UInt8(item.properties.count)]
      for property in item.properties {
        all.append(property)
        // The decoder's configuration is essential.
        let isEssential = property[4..<8].elementsEqual("hvcC".utf8)
        uses.append(UInt8(all.count) | (isEssential ? 0x80 : 0))
      }
    }
    let count = big(items.count + 1, 4)
    return box("iprp", box("ipco", all.flatMap { $0 }) + fullBox("ipma", 0, count + uses))
  }
}

private func big(_ number: Int, _ count: Int) -> [UInt8] {
  (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}

private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
  big(content.count + 8, 4) + Array(type.utf8) + content
}

private func fullBox(_ type: String, _ version: UInt8, _ content: [UInt8], isHidden: Bool = false)
  -> [UInt8]
{
  box(type, [version, 0, 0, isHidden ? 1 : 0] + content)
}
