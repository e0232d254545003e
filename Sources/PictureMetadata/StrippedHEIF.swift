import FileKinds

/// Strips a HEIC or AVIF (ISO 23008-12). Its parts lie at offsets that tables state, so everything stays
/// where it is: zeros replace the content of items that the main picture does not need, what no item holds,
/// properties and boxes that are not needed to show the picture. Boxes behind the last picture go.
///
/// The main picture needs the items that it is made of, and its transparency. Small pictures, gain maps,
/// depths and further pictures go: they may show what was cut away.
enum StrippedHEIF {
  /// Items that are pictures, or are made of others.
  private static let pictures: Set<String> = [
    "hvc1", "hev1", "lhv1", "av01", "avc1", "vvc1", "jpeg", "j2k1", "unci", "grid", "iovl", "iden",
    "tmap",
  ]
  private static let metaLimit: Int64 = 4 << 20
  private static let brandsLimit = 4096
  private static let boxLimit = 100

  private struct Box {
    let type: String
    /// The whole box, with its head.
    let range: Range<Int64>
    let content: Range<Int64>
  }

  static func plan(_ file: inout FileWindow) throws(StrippedPicture.Fault) -> StrippedPicture {
    let boxes = try boxes(&file)
    let metas = boxes.filter { $0.type == "meta" }
    // A moov holds a film beside the picture, with tables and dates of its own.
    if metas.count != 1 || boxes.contains(where: { $0.type == "moov" }) { throw .damaged }
    let length = metas[0].content.upperBound - metas[0].content.lowerBound
    if length > metaLimit { throw .damaged }
    var items = ItemTables(try file.bytes(Int(length), at: metas[0].content.lowerBound))
    try items.strip(keeping: pictures)

    var result = StrippedPicture()
    var held: Int64 = 0
    var waiting: [(head: [UInt8], zeros: Int64)] = []
    for box in boxes {
      if !["ftyp", "meta", "mdat"].contains(box.type) {
        // The kind becomes one that readers skip. A box behind everything else goes as a whole.
        let length = Int(box.content.lowerBound - box.range.lowerBound)
        let head = try file.bytes(length, at: box.range.lowerBound)
        let hidden = Array(head[..<4]) + Array("free".utf8) + Array(head[8...])
        waiting.append((hidden, Int64(box.content.count)))
        continue
      }
      for (head, zeros) in waiting {
        try result.insert(head)
        try result.insert(zeros: zeros)
      }
      waiting = []
      switch box.type {
      case "ftyp":
        try result.keep(box.range.lowerBound..<box.content.lowerBound)
        if box.content.count > brandsLimit { throw .damaged }
        let brands = try file.bytes(box.content.count, at: box.content.lowerBound)
        try result.insert(knownBrands(brands))
      case "meta":
        try result.keep(box.range.lowerBound..<box.content.lowerBound)
        try result.insert(items.bytes)
      default:
        try result.keep(box.range.lowerBound..<box.content.lowerBound)
        held += try items.add(items.inFile, of: box.content, to: &result)
      }
    }
    // All that an item needs must lie in a box mdat.
    if held != items.inFile.lazy.map({ Int64($0.range.count) }).reduce(0, +) { throw .damaged }
    return result
  }

  /// The main brand, a version, and the compatible brands. One that no table has becomes a common one.
  private static func knownBrands(_ brands: [UInt8]) -> [UInt8] {
    let known = Set(ImageKind.pictureBrands.map { Array($0.utf8) })
    var result: [UInt8] = []
    for place in stride(from: 0, to: brands.count, by: 4) {
      let brand = Array(brands[place..<min(place + 4, brands.count)])
      let isNumber = place == 4 || brand.count < 4
      let none = isNumber ? [UInt8](repeating: 0, count: brand.count) : Array("mif1".utf8)
      result += known.contains(brand) && !isNumber ? brand : none
    }
    return result
  }

  /// The boxes of the file, which they must fill.
  private static func boxes(_ file: inout FileWindow) throws(StrippedPicture.Fault) -> [Box] {
    var boxes: [Box] = []
    var offset: Int64 = 0
    while offset < file.size {
      var length = try file.number(4, at: offset)
      let type = String(decoding: try file.bytes(4, at: offset + 4), as: UTF8.self)
      var head: Int64 = 8
      if length == 1 {
        let high = try file.number(4, at: offset + 8)
        if high > 1 << 20 { throw .damaged }
        length = high << 32 | (try file.number(4, at: offset + 12))
        head = 16
      }
      if length == 0 { length = file.size - offset }
      guard length >= head, length <= file.size - offset, boxes.count < boxLimit else {
        throw .damaged
      }
      boxes.append(
        Box(type: type, range: offset..<offset + length, content: offset + head..<offset + length))
      offset += length
    }
    return boxes
  }
}

/// The tables of a box `meta`.
struct ItemTables {
  struct Stretch {
    var range: Range<Int64>
    /// False if its content becomes zeros.
    var isPicture: Bool
    /// The stretch where EXIF data begin.
    var isExif = false
  }

  private(set) var bytes: [UInt8]
  /// The stretches of items that lie in the file, and those in the box `idat`.
  private(set) var inFile: [Stretch] = []
  private var inBox: [Stretch] = []
  private var kinds: [Int64: String] = [:]
  /// Where the tables state the kind of an item.
  private var kindPlaces: [Int64: Int] = [:]
  /// The items that the main picture needs.
  private var needed: Set<Int64> = []
  private static let itemLimit: Int64 = 100_000

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func strip(keeping pictures: Set<String>) throws(StrippedPicture.Fault) {
    var primary: Int64?
    var (hasPlaces, data): (Bool, Range<Int>?) = (false, nil)
    if bytes.count < 4 { throw .damaged }
    let boxes = try boxes(in: 4..<bytes.count)
    for box in boxes where box.type == "iinf" { try readKinds(box.content) }
    for box in boxes where box.type == "pitm" { primary = try primaryItem(box.content) }
    guard let primary, let kind = kinds[primary], pictures.contains(kind) else { throw .damaged }
    needed = try ItemReferences(self, boxes).items(neededBy: primary)
    for (item, kind) in kinds where pictures.contains(kind) && !needed.contains(item) {
      replaceType(at: kindPlaces[item]!)
    }
    for box in boxes {
      switch box.type {
      case "hdlr":
        // Version and flags, a number, the type of the handler, reserved bytes, and a name.
        guard box.content.count >= 12, bytes[box.content].dropFirst(8).starts(with: "pict".utf8)
        else { throw .damaged }
        clear(box.content)
        bytes.replaceSubrange(box.content.dropFirst(8).prefix(4), with: "pict".utf8)
      case "iloc":
        if hasPlaces { throw .damaged }
        hasPlaces = true
        try readPlaces(box.content)
      case "iref":
        let gone = Set(kinds.keys.filter { isPicture($0, pictures) && !needed.contains($0) })
        for reference in try references(in: box.content) {
          clear(reference.rest)
          cut(reference, gone)
        }
      case "iinf", "pitm": break
      case "iprp": try stripProperties(box.content)
      case "idat":
        if data != nil { throw .damaged }
        data = box.content
      default: hide(box)
      }
    }
    try clearData(data)
  }

  /// Cuts a reference off what is gone, because a reader could look for that. Where something stays, it takes
  /// the places of the others.
  private mutating func cut(_ reference: Reference, _ gone: Set<Int64>) {
    if gone.isDisjoint(with: [reference.from] + reference.to.map(\.item)) { return }
    guard !gone.contains(reference.from),
      let staying = reference.to.first(where: { !gone.contains($0.item) })
    else { return replaceType(at: reference.typePlace) }
    for other in reference.to where gone.contains(other.item) {
      bytes.replaceSubrange(other.place, with: bytes[staying.place])
    }
  }

  /// `iprp`: the properties, and which item has which.
  private mutating func stripProperties(
    _ content: Range<Int>
  ) throws(StrippedPicture.Fault) {
    for box in try boxes(in: content) {
      switch box.type {
      case "ipma": clear(try associations(in: box.content).end..<box.content.upperBound)
      case "ipco":
        for property in try boxes(in: box.content) {
          let content = Array(bytes[property.content])
          guard let kept = try HEIFProperties.stripped(property.type, content) else {
            hide(property)
            continue
          }
          bytes.replaceSubrange(property.content, with: kept)
        }
      default: hide(box)
      }
    }
  }

  private func isPicture(_ item: Int64, _ pictures: Set<String>) -> Bool {
    kinds[item].map { pictures.contains($0) } ?? false
  }

  /// `pitm`: version, flags, and a number.
  private mutating func primaryItem(
    _ content: Range<Int>
  ) throws(StrippedPicture.Fault) -> Int64 {
    let length = try number(1, content.lowerBound, content) > 0 ? 4 : 2
    let item = try number(length, content.lowerBound + 4, content)
    clear(content.dropFirst(4 + length))
    return item
  }

  /// `ipma`: version, flags, the number of items; of each item its number, the number of its properties, and
  /// their places in `ipco` from 1 on, whose highest bit has another meaning. `end`: where that ends.
  func associations(
    in content: Range<Int>
  ) throws(StrippedPicture.Fault) -> (pairs: [(item: Int64, property: Int)], end: Int) {
    var place = content.lowerBound
    func take(_ count: Int) throws(StrippedPicture.Fault) -> Int64 {
      defer { place += count }
      return try number(count, place, content)
    }
    let isLong = try take(1) > 0
    let isWide = try take(3) & 1 == 1
    var pairs: [(Int64, Int)] = []
    for _ in 0..<(try take(4)) {
      let item = try take(isLong ? 4 : 2)
      for _ in 0..<(try take(1)) {
        pairs.append((item, Int(isWide ? try take(2) & 0x7FFF : try take(1) & 0x7F)))
      }
    }
    return (pairs, place)
  }

  // MARK: Boxes

  struct Box {
    let type: String
    let start: Int
    let content: Range<Int>
  }

  func boxes(in range: Range<Int>) throws(StrippedPicture.Fault) -> [Box] {
    if range.lowerBound > range.upperBound { throw .damaged }
    var boxes: [Box] = []
    var offset = range.lowerBound
    while offset < range.upperBound {
      let length = Int(try number(4, offset, range))
      _ = try number(4, offset + 4, range)
      if length < 8 || length > range.upperBound - offset { throw .damaged }
      let type = String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self)
      boxes.append(Box(type: type, start: offset, content: offset + 8..<offset + length))
      offset += length
    }
    return boxes
  }

  func number(
    _ count: Int, _ offset: Int, _ range: Range<Int>
  ) throws(StrippedPicture.Fault) -> Int64 {
    guard offset >= range.lowerBound, offset <= range.upperBound, count <= range.upperBound - offset
    else { throw .damaged }
    let value = bytes[offset..<offset + count].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    if value >= 1 << 48 { throw .damaged }
    return Int64(value)
  }

  private mutating func clear(_ range: Range<Int>) {
    for place in range { bytes[place] = 0 }
  }

  /// Makes a box one that readers skip.
  private mutating func hide(_ box: Box) {
    bytes.replaceSubrange(box.start + 4..<box.start + 8, with: "free".utf8)
    clear(box.content)
  }

  /// Makes the type of an item, or of a reference, one that readers skip. They read what follows all the
  /// same.
  private mutating func replaceType(at place: Int) {
    bytes.replaceSubrange(place..<place + 4, with: "free".utf8)
  }

  // MARK: Items

  /// Reads the kinds of items, and clears their names.
  private mutating func readKinds(_ content: Range<Int>) throws(StrippedPicture.Fault) {
    let isShort = try number(1, content.lowerBound, content) == 0
    let start = content.lowerBound + (isShort ? 6 : 8)
    if start > content.upperBound { throw .damaged }
    for entry in try boxes(in: start..<content.upperBound) {
      let version = try number(1, entry.content.lowerBound, entry.content)
      guard entry.type == "infe", version == 2 || version == 3 else { throw .damaged }
      let size = version == 2 ? 2 : 4
      let item = try number(size, entry.content.lowerBound + 4, entry.content)
      let place = entry.content.lowerBound + 4 + size + 2
      _ = try number(4, place, entry.content)
      if kinds[item] != nil { throw .damaged }
      kinds[item] = String(decoding: bytes[place..<place + 4], as: UTF8.self)
      kindPlaces[item] = place
      clear(place + 4..<entry.content.upperBound)
    }
  }

  /// Reads where items lie.
  private mutating func readPlaces(_ content: Range<Int>) throws(StrippedPicture.Fault) {
    var place = content.lowerBound
    func take(_ count: Int) throws(StrippedPicture.Fault) -> Int64 {
      defer { place += count }
      return try number(count, place, content)
    }
    let version = try take(1)
    _ = try take(3)
    let sizes = Int(try take(2))
    let (offsetSize, lengthSize) = (sizes >> 12, sizes >> 8 & 15)
    let (baseSize, indexSize) = (sizes >> 4 & 15, version > 0 ? sizes & 15 : 0)
    let count = try take(version < 2 ? 2 : 4)
    if version > 2 || count > ItemTables.itemLimit { throw .damaged }
    for _ in 0..<count {
      let item = try take(version < 2 ? 2 : 4)
      let method = version > 0 ? try take(2) & 15 : 0
      // Only in this file.
      let source = try take(2)
      if method > 1 || source != 0 { throw .damaged }
      let base = try take(baseSize)
      let kind = kinds[item] ?? ""
      for number in 0..<(try take(2)) {
        _ = try take(indexSize)
        let start = base + (try take(offsetSize))
        let length = try take(lengthSize)
        let limit = Int(ItemTables.itemLimit)
        if length == 0 || inFile.count + inBox.count >= limit { throw .damaged }
        // Of a grid, at most 12 bytes are its fields.
        let used = kind == "grid" ? min(length, 12) : length
        let range = start..<start + used
        let stretch = Stretch(
          range: range, isPicture: needed.contains(item), isExif: kind == "Exif" && number == 0)
        let rest = Stretch(range: range.upperBound..<start + length, isPicture: false)
        let stretches = rest.range.isEmpty ? [stretch] : [stretch, rest]
        if method == 0 { inFile += stretches } else { inBox += stretches }
      }
    }
    clear(place..<content.upperBound)
    inFile = try ItemTables.ordered(inFile)
    inBox = try ItemTables.ordered(inBox)
  }

  /// One reference of an item to others.
  struct Reference {
    let type: String
    let typePlace: Int
    let from: Int64
    let to: [(item: Int64, place: Range<Int>)]
    /// What its box holds besides.
    let rest: Range<Int>
  }

  /// The references in the content of `iref`.
  func references(in content: Range<Int>) throws(StrippedPicture.Fault) -> [Reference] {
    let size = try number(1, content.lowerBound, content) == 0 ? 2 : 4
    if content.count < 4 { throw .damaged }
    var references: [Reference] = []
    for box in try boxes(in: content.lowerBound + 4..<content.upperBound) {
      let from = try number(size, box.content.lowerBound, box.content)
      var place = box.content.lowerBound + size + 2
      var others: [(Int64, Range<Int>)] = []
      for _ in 0..<(try number(2, place - 2, box.content)) {
        others.append((try number(size, place, box.content), place..<place + size))
        place += size
      }
      references.append(
        Reference(
          type: box.type, typePlace: box.start + 4, from: from, to: others,
          rest: place..<box.content.upperBound))
    }
    return references
  }

  /// Sorts stretches. Pictures may share one, but never with something else.
  private static func ordered(_ stretches: [Stretch]) throws(StrippedPicture.Fault) -> [Stretch] {
    var ordered: [Stretch] = []
    for next in stretches.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      guard let last = ordered.last, next.range.lowerBound < last.range.upperBound else {
        ordered.append(next)
        continue
      }
      if !last.isPicture || !next.isPicture { throw .damaged }
      let end = max(last.range.upperBound, next.range.upperBound)
      ordered[ordered.count - 1].range = last.range.lowerBound..<end
    }
    return ordered
  }

  // MARK: Content

  /// EXIF data that say nothing but that the picture is upright: in these files a property turns it.
  private static let emptyExif = [0, 0, 0, 0] + StrippedPicture.exif(orientation: 1)

  /// Adds what pictures hold of a stretch of the file, and zeros for the rest. Returns how many bytes of
  /// items it has.
  func add(
    _ stretches: [Stretch], of part: Range<Int64>, to result: inout StrippedPicture
  ) throws(StrippedPicture.Fault) -> Int64 {
    var place = part.lowerBound
    var held: Int64 = 0
    for stretch in stretches where stretch.range.overlaps(part) {
      let range = stretch.range
      if range.clamped(to: part) != range { throw .damaged }
      try result.insert(zeros: range.lowerBound - place)
      held += Int64(range.count)
      if stretch.isPicture {
        try result.keep(range)
      } else {
        let hasRoom = range.count >= ItemTables.emptyExif.count
        let exif = stretch.isExif && hasRoom ? ItemTables.emptyExif : []
        try result.insert(exif)
        try result.insert(zeros: Int64(range.count - exif.count))
      }
      place = range.upperBound
    }
    try result.insert(zeros: part.upperBound - place)
    return held
  }

  /// Does the same in the box `idat`.
  private mutating func clearData(_ data: Range<Int>?) throws(StrippedPicture.Fault) {
    guard let data else {
      if !inBox.isEmpty { throw .damaged }
      return
    }
    var isHeld = [Bool](repeating: false, count: data.count)
    for stretch in inBox {
      if stretch.range.upperBound > Int64(data.count) { throw .damaged }
      for place in stretch.range where stretch.isPicture { isHeld[Int(place)] = true }
    }
    for (number, place) in data.enumerated() where !isHeld[number] { bytes[place] = 0 }
  }
}
