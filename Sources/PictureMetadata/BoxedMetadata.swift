import FileKinds

/// Finds the metadata of a file of boxes (ISO 14496-12): of a HEIC or AVIF, where they are items (ISO
/// 23008-12, annex A), and of a JPEG XL, a JPEG 2000, a CR3 and a film, where they are boxes.
enum BoxedMetadata {
  private static let boxLimit = 100
  /// The identifiers of boxes `uuid`: Canon's, with the boxes CMT1 and CMT2; Adobe's of XMP in a JPEG 2000;
  /// and that of EXIF data there.
  private static let canon: [UInt8] = [
    0x85, 0xC0, 0xB6, 0x87, 0x82, 0x0F, 0x11, 0xE0, 0x81, 0x11, 0xF4, 0xCE, 0x46, 0x2B, 0x6A, 0x48,
  ]
  private static let adobe: [UInt8] = [
    0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
  ]
  private static let exifInJPEG2000 = Array("JpgTiffExif->JP2".utf8)

  /// A box in the file.
  struct Box {
    let type: [UInt8]
    let content: Range<Int64>
  }

  static func blocks(size: Int64, _ read: CaptureDate.Read) -> MetadataBlocks {
    var blocks = MetadataBlocks()
    // A picture may have a box `moov`, whose time is not that of the picture.
    let kind = read(ImageKind.sniffByteCount, 0).flatMap { ImageKind(sniffing: $0) }
    let isFilm = kind.map { ImageKind.videos.contains($0) } ?? false
    for box in boxes(in: 0..<size, read) {
      add(box, size: size, to: &blocks, read)
      if box.type.elementsEqual("moov".utf8), isFilm { blocks.movie = box.content }
    }
    return blocks
  }

  private static func add(
    _ box: Box, size: Int64, to blocks: inout MetadataBlocks, _ read: CaptureDate.Read
  ) {
    switch String(decoding: box.type, as: UTF8.self) {
    case "meta": ItemBoxes.add(box.content, size: size, to: &blocks, read)
    // The offset of the TIFF's head behind these 4 bytes.
    case "Exif":
      if let exif = ItemBoxes.exif(in: box.content, read) { blocks.exif.append(exif) }
    case "xml ", "XMP_": blocks.xmp.append(box.content)
    case "CMT1", "CMT2": blocks.exif.append(box.content)
    case "moov", "udta":
      for inner in boxes(in: box.content, read)
      where ["uuid", "udta", "XMP_"].contains(where: { inner.type.elementsEqual($0.utf8) }) {
        add(inner, size: size, to: &blocks, read)
      }
    case "uuid": addIdentified(box, to: &blocks, read)
    default: break
    }
  }

  private static func addIdentified(
    _ box: Box, to blocks: inout MetadataBlocks, _ read: CaptureDate.Read
  ) {
    let start = box.content.lowerBound
    guard box.content.upperBound - start > 16, let identifier = read(16, start) else { return }
    let content = start + 16..<box.content.upperBound
    if identifier == adobe { blocks.xmp.append(content) }
    if identifier == exifInJPEG2000 { blocks.exif.append(content) }
    if identifier == canon {
      for inner in boxes(in: content, read)
      where inner.type.elementsEqual("CMT1".utf8) || inner.type.elementsEqual("CMT2".utf8) {
        blocks.exif.append(inner.content)
      }
    }
  }

  /// The boxes of one level.
  static func boxes(in part: Range<Int64>, _ read: CaptureDate.Read) -> [Box] {
    let numbers = Numbers(isBigEndian: true)
    var boxes: [Box] = []
    var offset = part.lowerBound
    while boxes.count < boxLimit, offset < part.upperBound {
      guard let head = read(16, offset), head.count >= 8 else { break }
      var length = Int64(numbers.value(head[0..<4]))
      var start: Int64 = 8
      if length == 1 {
        guard head.count == 16 else { break }
        let high = Int64(numbers.value(head[8..<12]))
        if high > 1 << 20 { break }
        length = high << 32 | Int64(numbers.value(head[12..<16]))
        start = 16
      }
      if length == 0 { length = part.upperBound - offset }
      guard length >= start, length <= part.upperBound - offset else { break }
      boxes.append(Box(type: Array(head[4..<8]), content: offset + start..<offset + length))
      offset += length
    }
    return boxes
  }
}

/// The items of a box `meta`.
enum ItemBoxes {
  private static let boxLimit = 100
  /// The size of the largest box `meta` that it reads.
  private static let metaLimit: Int64 = 4 << 20

  /// Adds the items that hold EXIF data or XMP.
  static func add(
    _ box: Range<Int64>, size: Int64, to blocks: inout MetadataBlocks, _ read: CaptureDate.Read
  ) {
    let length = box.upperBound - box.lowerBound
    guard length <= metaLimit, let meta = read(Int(length), box.lowerBound),
      Int64(meta.count) == length
    else { return }
    // Version and flags.
    var boxes = BoxBytes(meta[...])
    guard boxes.take(4) != nil else { return }
    var info: ArraySlice<UInt8>?
    var places: ArraySlice<UInt8>?
    for _ in 0..<boxLimit {
      guard let (type, content) = boxes.box() else { break }
      if type == "iinf" { info = content }
      if type == "iloc" { places = content }
    }
    guard let info, let places else { return }
    if let item = item("Exif", info), let part = place(of: item, places, size: size),
      let exif = exif(in: part, read)
    {
      blocks.exif.append(exif)
    }
    if let item = item("mime", info), let part = place(of: item, places, size: size) {
      blocks.xmp.append(part)
    }
  }

  /// EXIF data behind 4 bytes that state how many more are before the TIFF's head.
  static func exif(in part: Range<Int64>, _ read: CaptureDate.Read) -> Range<Int64>? {
    guard part.upperBound - part.lowerBound > 4, let bytes = read(4, part.lowerBound),
      bytes.count == 4
    else { return nil }
    let start = part.lowerBound + 4 + Int64(Numbers(isBigEndian: true).value(bytes[...]))
    return start < part.upperBound ? start..<part.upperBound : nil
  }

  /// The number of the first item of a type, from the content of `iinf`.
  private static func item(_ wanted: String, _ content: ArraySlice<UInt8>) -> Int? {
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
      if kind.elementsEqual(wanted.utf8) { return item }
    }
    return nil
  }

  /// Where the first stretch of an item lies in the file, from the content of `iloc`.
  private static func place(
    of wanted: Int, _ content: ArraySlice<UInt8>, size: Int64
  ) -> Range<Int64>? {
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
      if item != wanted {
        // In one step: the numbers of 65,535 stretches may take no bytes at all.
        let skipped = table.take(stretches * (indexSize + offsetSize + lengthSize))
        if skipped == nil { return nil }
        continue
      }
      guard stretches > 0, method == 0, table.number(indexSize) != nil,
        let offset = table.number(offsetSize), let length = table.number(lengthSize)
      else { return nil }
      // Only a stretch of the file itself. Its numbers are below 2^48.
      let part = Int64(base + offset)..<Int64(base + offset + length)
      return part.upperBound <= size ? part : nil
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
