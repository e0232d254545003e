internal import Inflating

/// Where a picture or film holds its EXIF data, its XMP packets, and its box `moov`: parts of the file.
struct MetadataBlocks {
  var exif: [Range<Int64>] = []
  var xmp: [Range<Int64>] = []
  var movie: Range<Int64>?
  /// EXIF data that the file holds in another form.
  var decodedExif: [[UInt8]] = []

  /// How many segments, chunks or boxes of a picture are looked at.
  static let partLimit = 200

  /// `head` is the start of the picture, at least 12 bytes.
  static func find(_ head: [UInt8], size: Int64, _ read: CaptureDate.Read) -> MetadataBlocks {
    if head.starts(with: [0xFF, 0xD8, 0xFF]) { return JPEGSegments.blocks(0, size: size, read) }
    if head.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return PNGChunks.blocks(size: size, read) }
    if head.starts(with: "RIFF".utf8), head[8..<12].elementsEqual("WEBP".utf8) {
      return WebPChunks.blocks(size: size, read)
    }
    if head.starts(with: "FUJIFILM".utf8) { return fujifilm(size: size, read) }
    if head.starts(with: "8BPS".utf8) { return PhotoshopResources.blocks(size: size, read) }
    if head.starts(with: "GIF89a".utf8) { return GIFBlocks.blocks(size: size, read) }
    let firstBoxes = ["ftyp", "JXL ", "jP  ", "moov", "mdat", "wide", "free", "skip", "pnot"]
    if firstBoxes.contains(where: { head[4..<8].elementsEqual($0.utf8) }) {
      return BoxedMetadata.blocks(size: size, read)
    }
    var blocks = MetadataBlocks(exif: [0..<size])
    blocks.xmp = ExifBlock.xmp(in: 0..<size, read).map { [$0] } ?? []
    return blocks
  }

  /// A raw picture of Fujifilm begins with a head that states where its JPEG lies.
  private static func fujifilm(size: Int64, _ read: CaptureDate.Read) -> MetadataBlocks {
    guard let place = read(4, 84), place.count == 4 else { return MetadataBlocks() }
    let start = Int64(Numbers(isBigEndian: true).value(place[...]))
    return start < size ? JPEGSegments.blocks(start, size: size, read) : MetadataBlocks()
  }
}

/// The segments before the pixels of a JPEG (ITU T.81, annex B).
enum JPEGSegments {
  /// The segments APP1 with EXIF data, which begin with `Exif` and two zeros, and with XMP. The JPEG begins
  /// at `start` of the file.
  static func blocks(_ start: Int64, size: Int64, _ read: CaptureDate.Read) -> MetadataBlocks {
    var blocks = MetadataBlocks()
    var offset = start + 2
    for _ in 0..<MetadataBlocks.partLimit {
      guard let head = read(10, offset), head.count == 10, head[0] == 0xFF else { break }
      // Bytes that fill up.
      if head[1] == 0xFF {
        offset += 1
        continue
      }
      // Start of the pixels, or of another stretch without a length.
      if head[1] == 0xDA || head[1] == 0xD9 || 0xD0...0xD8 ~= head[1] { break }
      let length = Int64(head[2]) << 8 | Int64(head[3])
      let end = offset + 2 + length
      if length < 2 || end > size { break }
      if head[1] == 0xE1, length > 8 {
        if head[4...].elementsEqual("Exif\0\0".utf8) { blocks.exif.append(offset + 10..<end) }
        if head[4...].elementsEqual("http:/".utf8) { blocks.xmp.append(offset + 10..<end) }
      }
      offset = end
    }
    return blocks
  }
}

/// The chunks of a PNG: `eXIf`, EXIF data as a text in hexadecimal digits, and XMP as a text that is not
/// packed.
private enum PNGChunks {
  static func blocks(size: Int64, _ read: CaptureDate.Read) -> MetadataBlocks {
    var blocks = MetadataBlocks()
    var offset: Int64 = 8
    for _ in 0..<MetadataBlocks.partLimit {
      guard let head = read(30, offset), head.count >= 8 else { break }
      let length = Int64(Numbers(isBigEndian: true).value(head[0..<4]))
      let content = offset + 8..<offset + 8 + length
      if content.upperBound > size { break }
      let type = head[4..<8]
      if type.elementsEqual("eXIf".utf8) { blocks.exif.append(content) }
      if type.elementsEqual("iTXt".utf8), head.dropFirst(8).starts(with: "XML:com.adobe.xmp\0".utf8)
      {
        blocks.xmp.append(content)
      }
      if length <= PNGProfile.limit,
        ["tEXt", "zTXt"].contains(where: { type.elementsEqual($0.utf8) }),
        head.dropFirst(8).starts(with: PNGProfile.name),
        let text = read(Int(length), content.lowerBound),
        let exif = PNGProfile.exif(in: text, isPacked: type.first == UInt8(ascii: "z"))
      {
        blocks.decodedExif.append(exif)
      }
      offset = content.upperBound + 4
    }
    return blocks
  }
}

/// EXIF data as programs wrote them before the chunk `eXIf`: behind a name, the kind of data, their number of
/// bytes, and these in hexadecimal digits. In `zTXt` packed.
private enum PNGProfile {
  static let limit: Int64 = 1 << 20
  static let name = Array("Raw profile type ".utf8)
  private static let kinds = ["exif", "APP1"].map { Array($0.utf8) }

  static func exif(in chunk: [UInt8], isPacked: Bool) -> [UInt8]? {
    guard let end = chunk.firstIndex(of: 0),
      kinds.contains(where: { chunk[..<end].dropFirst(name.count).elementsEqual($0) })
    else { return nil }
    // Behind the zero of a packed text stands how it is packed, always 0.
    let rest = chunk[end...].dropFirst(isPacked ? 2 : 1)
    let text = isPacked ? Inflation.inflated(zlib: rest, atMost: 4 * Int(limit)) : Array(rest)
    let words = text?.split { [9, 10, 13, 32].contains($0) } ?? []
    let exif = bytes(words.dropFirst(2).joined())
    return exif.starts(with: "Exif\0\0".utf8) ? Array(exif.dropFirst(6)) : exif
  }

  /// The bytes that the digits stand for, up to the first other character.
  private static func bytes(_ digits: some Sequence<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in digits {
      guard let value = value(of: digit) else { break }
      if let known = high {
        bytes.append(known << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case 48...57: digit - 48
    case 65...70, 97...102: (digit | 0x20) - 87
    default: nil
    }
  }
}

/// The chunks of a WebP: `EXIF` and `XMP `.
private enum WebPChunks {
  static func blocks(size: Int64, _ read: CaptureDate.Read) -> MetadataBlocks {
    var blocks = MetadataBlocks()
    var offset: Int64 = 12
    for _ in 0..<MetadataBlocks.partLimit {
      guard let head = read(14, offset), head.count >= 8 else { break }
      let length = Int64(Numbers(isBigEndian: false).value(head[4..<8]))
      var content = offset + 8..<offset + 8 + length
      offset = content.upperBound + length % 2
      if content.upperBound > size { break }
      if head.starts(with: "XMP ".utf8) { blocks.xmp.append(content) }
      if head.starts(with: "EXIF".utf8) {
        // Some programs put the mark of a JPEG's segment before the data.
        if length > 6, head.dropFirst(8).elementsEqual("Exif\0\0".utf8) {
          content = content.lowerBound + 6..<content.upperBound
        }
        blocks.exif.append(content)
      }
    }
    return blocks
  }
}

/// The resources of a PSD, whose form `PictureDecoders.Photoshop` describes: 1058 is EXIF data, 1060 is XMP.
private enum PhotoshopResources {
  static func blocks(size: Int64, _ read: CaptureDate.Read) -> MetadataBlocks {
    var blocks = MetadataBlocks()
    let numbers = Numbers(isBigEndian: true)
    /// The place behind a length of 4 bytes, and that length.
    func part(_ place: Int64) -> Range<Int64>? {
      guard let length = read(4, place), length.count == 4 else { return nil }
      let start = place + 4
      let end = start + Int64(numbers.value(length[...]))
      return end <= size ? start..<end : nil
    }
    guard let palette = part(26), let resources = part(palette.upperBound) else { return blocks }
    var place = resources.lowerBound
    for _ in 0..<MetadataBlocks.partLimit {
      guard let head = read(7, place), head.count == 7, head.starts(with: "8BIM".utf8) else {
        break
      }
      // The name, filled up to an even number of bytes with its length.
      guard let content = part(place + 6 + (Int64(head[6]) + 2) / 2 * 2),
        content.upperBound <= resources.upperBound
      else { break }
      let number = numbers.value(head[4..<6])
      if number == 1058 { blocks.exif.append(content) }
      if number == 1060 { blocks.xmp.append(content) }
      place = content.upperBound + (content.upperBound - content.lowerBound) % 2
    }
    return blocks
  }
}

/// The blocks before the first frame of a GIF. XMP lies bare in an application block, and the bytes behind it
/// lead a reader of GIF's stretches to the end of the block (Adobe, "XMP Specification Part 3").
private enum GIFBlocks {
  static func blocks(size: Int64, _ read: CaptureDate.Read) -> MetadataBlocks {
    var blocks = MetadataBlocks()
    guard let screen = read(13, 0), screen.count == 13 else { return blocks }
    let palette: Int64 = screen[10] & 0x80 == 0 ? 0 : 3 << (Int64(screen[10] & 7) + 1)
    var place: Int64 = 13 + palette
    for _ in 0..<MetadataBlocks.partLimit {
      guard let head = read(14, place), head.count == 14, head[0] == 0x21 else { break }
      if head[1] == 0xFF, head[2] == 11, head[3...].elementsEqual("XMP DataXMP".utf8) {
        blocks.xmp.append(place + 14..<size)
        break
      }
      place += 2
      // Stretches of up to 255 bytes, each with its length before it; one of none is the last.
      for _ in 0..<MetadataBlocks.partLimit {
        guard let length = read(1, place)?.first else { return blocks }
        place += 1 + Int64(length)
        if length == 0 { break }
      }
    }
    return blocks
  }
}
