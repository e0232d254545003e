/// Finds the EXIF data of a HEIC or AVIF, an item of a file of boxes (ISO 14496-12, section 8.11; ISO
/// 23008-12, annex A).
enum ItemBoxes {
  /// How many boxes of one level it looks at, and the size of the largest box `meta` that it reads.
  private static let boxLimit = 100
  private static let metaLimit: Int64 = 4 << 20

  static func exif(size: Int64, _ read: CaptureDate.Read) -> Range<Int64>? {
    guard let meta = meta(size: size, read) else { return nil }
    // Version and flags.
    var boxes = BoxBytes(meta[...])
    guard boxes.take(4) != nil else { return nil }
    var info: ArraySlice<UInt8>?
    var places: ArraySlice<UInt8>?
    for _ in 0..<boxLimit {
      guard let (type, content) = boxes.box() else { break }
      if type == "iinf" { info = content }
      if type == "iloc" { places = content }
    }
    guard let info, let places, let item = exifItem(info),
      let part = place(of: item, places), part.lowerBound >= 0, part.upperBound <= size
    else { return nil }
    // The item begins with the offset of the TIFF's head behind these 4 bytes.
    guard part.upperBound - part.lowerBound > 4, let bytes = read(4, part.lowerBound),
      bytes.count == 4
    else { return nil }
    let start = part.lowerBound + 4 + Int64(Numbers(isBigEndian: true).value(bytes[...]))
    return start < part.upperBound ? start..<part.upperBound : nil
  }

  /// The content of the box `meta` at the top level.
  private static func meta(size: Int64, _ read: CaptureDate.Read) -> [UInt8]? {
    let numbers = Numbers(isBigEndian: true)
    var offset: Int64 = 0
    for _ in 0..<boxLimit {
      guard let head = read(16, offset), head.count == 16 else { return nil }
      var length = Int64(numbers.value(head[0..<4]))
      var start: Int64 = 8
      if length == 1 {
        let high = Int64(numbers.value(head[8..<12]))
        if high > 1 << 20 { return nil }
        length = high << 32 | Int64(numbers.value(head[12..<16]))
        start = 16
      }
      if length == 0 { length = size - offset }
      guard length >= start, length <= size - offset else { return nil }
      if head[4..<8].elementsEqual("meta".utf8) {
        guard length - start <= metaLimit else { return nil }
        let content = read(Int(length - start), offset + start)
        return content.flatMap { Int64($0.count) == length - start ? $0 : nil }
      }
      offset += length
    }
    return nil
  }

  /// The number of the item of type `Exif`, from the content of `iinf`.
  private static func exifItem(_ content: ArraySlice<UInt8>) -> Int? {
    var info = BoxBytes(content)
    guard let version = info.number(1), info.take(3) != nil,
      let count = info.number(version == 0 ? 2 : 4)
    else { return nil }
    for _ in 0..<min(count, 100_000) {
      guard let (type, entry) = info.box() else { return nil }
      var fields = BoxBytes(entry)
      guard type == "infe", let version = fields.number(1), version >= 2, fields.take(3) != nil,
        let item = fields.number(version == 2 ? 2 : 4), fields.number(2) != nil,
        let kind = fields.take(4)
      else { continue }
      if kind.elementsEqual("Exif".utf8) { return item }
    }
    return nil
  }

  /// Where the first stretch of an item lies in the file, from the content of `iloc`.
  private static func place(of wanted: Int, _ content: ArraySlice<UInt8>) -> Range<Int64>? {
    var table = BoxBytes(content)
    guard let version = table.number(1), version <= 2, table.take(3) != nil,
      let sizes = table.number(2), let count = table.number(version < 2 ? 2 : 4)
    else { return nil }
    let (offsetSize, lengthSize) = (sizes >> 12, sizes >> 8 & 15)
    let (baseSize, indexSize) = (sizes >> 4 & 15, version > 0 ? sizes & 15 : 0)
    for _ in 0..<min(count, 100_000) {
      guard let item = table.number(version < 2 ? 2 : 4) else { return nil }
      var method = 0
      if version > 0 {
        guard let field = table.number(2) else { return nil }
        method = field & 15
      }
      guard table.number(2) != nil, let base = table.number(baseSize),
        let stretches = table.number(2)
      else { return nil }
      for number in 0..<stretches {
        guard table.number(indexSize) != nil, let offset = table.number(offsetSize),
          let length = table.number(lengthSize)
        else { return nil }
        // Only stretches of the file itself, each below 2^48.
        if item == wanted, number == 0, method == 0 {
          return Int64(base + offset)..<Int64(base + offset + length)
        }
      }
    }
    return nil
  }
}

/// A cursor over the bytes of boxes, big-endian.
private struct BoxBytes {
  private var rest: ArraySlice<UInt8>
  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  /// A number of so many bytes, 0 of none; nil from 2^48 on.
  mutating func number(_ size: Int) -> Int? {
    guard size <= 8, let bytes = take(size) else { return nil }
    let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return value < 1 << 48 ? Int(value) : nil
  }

  /// The next box: its type, and its content.
  mutating func box() -> (type: String, content: ArraySlice<UInt8>)? {
    guard let length = number(4), let type = take(4), length >= 8, let content = take(length - 8)
    else { return nil }
    return (String(decoding: type, as: UTF8.self), content)
  }
}
