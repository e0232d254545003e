package import FileKinds

/// Checks a thumbnail from a cell before the daemon keeps it: it must have the expected format from its first
/// byte to its last, lie within its limits, and carry nothing but pixels. A cell that a picture has taken
/// over can still choose the pixels, but it can pass on nothing else.
///
/// Reads only the structure, in one pass and without allocating. Decodes nothing.
package enum ThumbnailInspection {
  package enum Fault: Error, Equatable, CaseIterable, Sendable {
    /// Not the announced format, or not one for thumbnails of such a picture.
    case format
    /// Cut short, followed by other bytes, or against the rules of its format.
    case structure
    /// No pixels, or a longer edge than requested.
    case dimensions
    /// More bytes than this many pixels can need.
    case byteCount
    /// Something besides pixels: EXIF, comments, profiles, other pictures.
    case metadata
  }

  package struct Size: Equatable, Sendable {
    package var width: Int
    package var height: Int

    package init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }
  }

  /// Returns the size of an acceptable thumbnail.
  ///
  /// - Parameters:
  ///   - format: the format that the cell announced.
  ///   - original: the kind of the picture, which the daemon detected from its first bytes.
  ///   - edge: the requested long edge, in pixels.
  @discardableResult
  package static func inspect(
    _ bytes: [UInt8], format: ImageKind, original: ImageKind, edge: Int
  ) throws(Fault) -> Size {
    guard formats(of: original).contains(format), ImageKind(sniffing: bytes) == format else {
      throw .format
    }
    let reader = Reader(bytes: bytes)
    let size: Size =
      switch format {
      case .jpeg: try JPEGStructure.read(reader)
      case .png: try PNGStructure.read(reader)
      case .webp: try WebPStructure.read(reader)
      default: throw .format
      }
    // A JPEG has no transparency, and becomes PNG only if it is small.
    if original == .jpeg, format == .png, max(size.width, size.height) >= smallEdge {
      throw .format
    }
    guard (1...edge).contains(size.width), (1...edge).contains(size.height) else {
      throw .dimensions
    }
    // Four bytes a pixel that do not compress, plus the overhead of the formats.
    guard bytes.count <= size.width * size.height * 5 + 65536 else { throw .byteCount }
    return size
  }

  /// A picture with a shorter long edge, in pixels, becomes PNG: JPEG's coarse colours would smear it.
  package static let smallEdge = 128

  /// The formats for a thumbnail of such a picture: WebP stays WebP.
  private static func formats(of original: ImageKind) -> [ImageKind] {
    switch original {
    case .webp: [.webp]
    case .mp4, .avi, .matroska: [.jpeg]
    default: [.jpeg, .png]
    }
  }

  /// Reads bytes at offsets; an offset outside is a fault.
  struct Reader {
    let bytes: [UInt8]

    var count: Int { bytes.count }

    func byte(_ offset: Int) throws(Fault) -> UInt8 {
      guard bytes.indices.contains(offset) else { throw .structure }
      return bytes[offset]
    }

    func big16(_ offset: Int) throws(Fault) -> Int {
      Int(try byte(offset)) << 8 | Int(try byte(offset + 1))
    }

    func big32(_ offset: Int) throws(Fault) -> Int {
      try big16(offset) << 16 | big16(offset + 2)
    }

    func little16(_ offset: Int) throws(Fault) -> Int {
      Int(try byte(offset)) | Int(try byte(offset + 1)) << 8
    }

    func little24(_ offset: Int) throws(Fault) -> Int {
      try little16(offset) | Int(byte(offset + 2)) << 16
    }

    func little32(_ offset: Int) throws(Fault) -> Int {
      try little16(offset) | little16(offset + 2) << 16
    }

    func has(_ text: StaticString, at offset: Int) -> Bool {
      let length = text.utf8CodeUnitCount
      guard offset >= 0, count >= length, offset <= count - length else { return false }
      return text.withUTF8Buffer { unsafe bytes[offset..<offset + length].elementsEqual($0) }
    }
  }
}

/// JPEG: tables, one frame, its scans. The only application segment is JFIF's, without a preview.
private enum JPEGStructure {
  typealias Fault = ThumbnailInspection.Fault

  static func read(_ reader: ThumbnailInspection.Reader) throws(Fault) -> ThumbnailInspection.Size {
    var size: ThumbnailInspection.Size?
    var hasScan = false
    var offset = 2
    while true {
      guard try reader.byte(offset) == 0xff else { throw .structure }
      let marker = try reader.byte(offset + 1)
      if marker == 0xd9 {
        guard offset + 2 == reader.count, hasScan, let size else { throw .structure }
        return size
      }
      let length = try reader.big16(offset + 2)
      let end = offset + 2 + length
      guard length >= 2, end <= reader.count else { throw .structure }
      switch marker {
      case 0xc0, 0xc1, 0xc2:
        guard size == nil else { throw .structure }
        size = try frame(reader, at: offset, length)
      case 0xc4, 0xdb, 0xdd: break
      case 0xe0:
        guard offset == 2, length == 16, reader.has("JFIF\0", at: offset + 4),
          try reader.big16(offset + 16) == 0
        else { throw .metadata }
      case 0xda:
        guard size != nil else { throw .structure }
        hasScan = true
        offset = try endOfScan(reader, from: end)
        continue
      case 0xe1...0xef, 0xfe: throw .metadata
      default: throw .structure
      }
      offset = end
    }
  }

  private static func frame(
    _ reader: ThumbnailInspection.Reader, at offset: Int, _ length: Int
  ) throws(Fault) -> ThumbnailInspection.Size {
    let components = Int(try reader.byte(offset + 9))
    guard try reader.byte(offset + 4) == 8, [1, 3].contains(components),
      length == 8 + 3 * components
    else { throw .structure }
    return ThumbnailInspection.Size(
      width: try reader.big16(offset + 7), height: try reader.big16(offset + 5))
  }

  /// The offset of the marker after a scan's entropy-coded bytes.
  private static func endOfScan(
    _ reader: ThumbnailInspection.Reader, from start: Int
  ) throws(Fault) -> Int {
    var offset = start
    while true {
      while try reader.byte(offset) != 0xff { offset += 1 }
      switch try reader.byte(offset + 1) {
      // A byte of 0xff in the data, and the restart markers in it.
      case 0, 0xd0...0xd7: offset += 2
      default: return offset
      }
    }
  }
}

/// PNG: header, pixels, end; and the resolution that libpng always writes.
private enum PNGStructure {
  typealias Fault = ThumbnailInspection.Fault

  static func read(_ reader: ThumbnailInspection.Reader) throws(Fault) -> ThumbnailInspection.Size {
    guard try reader.big32(8) == 13, reader.has("IHDR", at: 12) else { throw .structure }
    let size = ThumbnailInspection.Size(
      width: try reader.big32(16), height: try reader.big32(20))
    // Eight bits a channel; grey, colour, or either with transparency.
    guard try reader.byte(24) == 8, [0, 2, 4, 6].contains(try reader.byte(25)),
      try reader.byte(26) == 0, try reader.byte(27) == 0, try reader.byte(28) <= 1
    else { throw .structure }
    var offset = 33
    var hasPixels = false
    while true {
      let length = try reader.big32(offset)
      let end = offset + 12 + length
      guard end <= reader.count else { throw .structure }
      if reader.has("IEND", at: offset + 4) {
        guard length == 0, end == reader.count, hasPixels else { throw .structure }
        return size
      } else if reader.has("IDAT", at: offset + 4) {
        hasPixels = true
      } else if !reader.has("pHYs", at: offset + 4) || length != 9 || hasPixels {
        throw .metadata
      }
      offset = end
    }
  }
}

/// WebP: one picture, with an extended header where it is transparent.
private enum WebPStructure {
  typealias Fault = ThumbnailInspection.Fault

  static func read(_ reader: ThumbnailInspection.Reader) throws(Fault) -> ThumbnailInspection.Size {
    guard try reader.little32(4) == reader.count - 8 else { throw .structure }
    var canvas: ThumbnailInspection.Size?
    var offset = 12
    if reader.has("VP8X", at: offset) {
      guard try reader.little32(offset + 4) == 10, try reader.little24(offset + 9) == 0 else {
        throw .structure
      }
      // The profile, EXIF, XMP and animation have flags of their own.
      guard try reader.byte(offset + 8) & ~0x10 == 0 else { throw .metadata }
      canvas = ThumbnailInspection.Size(
        width: try reader.little24(offset + 12) + 1, height: try reader.little24(offset + 15) + 1)
      offset += 18
      if reader.has("ALPH", at: offset) { offset = try end(reader, offset) }
    }
    let size = try picture(reader, at: offset)
    let end = try end(reader, offset)
    guard end <= reader.count else { throw .structure }
    guard end == reader.count else { throw .metadata }
    guard canvas == nil || canvas == size else { throw .dimensions }
    return size
  }

  /// The offset after a chunk and its padding.
  private static func end(
    _ reader: ThumbnailInspection.Reader, _ offset: Int
  ) throws(Fault) -> Int {
    let length = try reader.little32(offset + 4)
    let end = offset + 8 + length + length % 2
    guard end <= reader.count else { throw .structure }
    return end
  }

  private static func picture(
    _ reader: ThumbnailInspection.Reader, at offset: Int
  ) throws(Fault) -> ThumbnailInspection.Size {
    let start = offset + 8
    if reader.has("VP8 ", at: offset) {
      // A key frame, its start code, then 14 bits of each edge.
      guard try reader.byte(start) & 1 == 0, try reader.byte(start + 3) == 0x9d,
        try reader.byte(start + 4) == 0x01, try reader.byte(start + 5) == 0x2a
      else { throw .structure }
      return ThumbnailInspection.Size(
        width: try reader.little16(start + 6) & 0x3fff,
        height: try reader.little16(start + 8) & 0x3fff)
    }
    guard reader.has("VP8L", at: offset), try reader.byte(start) == 0x2f else { throw .structure }
    let edges = try reader.little32(start + 1)
    guard edges >> 29 == 0 else { throw .structure }
    return ThumbnailInspection.Size(width: edges & 0x3fff + 1, height: edges >> 14 & 0x3fff + 1)
  }
}

extension ImageKind {
  /// True for the formats of thumbnails.
  var isThumbnailFormat: Bool {
    switch self {
    case .jpeg, .png, .webp: true
    default: false
    }
  }
}
