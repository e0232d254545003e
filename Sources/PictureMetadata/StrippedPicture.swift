import FileKinds

/// A picture file without its metadata: the stretches of the file that stay, and the bytes that replace
/// others. The pixels and the colour profile stay bit for bit. EXIF data, XMP, IPTC, comments, embedded
/// previews and further pictures go, and so does everything that this parser does not know. The orientation
/// stays, in EXIF data that hold nothing else.
///
/// Never trusts the file: keeps only what it knows, and refuses a file that it cannot follow to its end. Only
/// packed pixels are copied with the length that the file states. Everything else is written anew from the
/// values that a decoder needs, so nothing hides behind them.
package struct StrippedPicture: Equatable, Sendable {
  package enum Piece: Equatable, Sendable {
    /// A stretch of the file.
    case part(Range<Int64>)
    case bytes([UInt8])
    case zeros(Int64)
  }

  package enum Fault: Error, Equatable {
    /// Not a JPEG, PNG, WebP, GIF, HEIC or AVIF.
    case unknownKind
    /// It does not have the structure of its kind, or has parts whose metadata cannot be told.
    case damaged
    /// The file could not be read.
    case unreadable
  }

  package private(set) var pieces: [Piece] = []
  /// In bytes.
  package private(set) var size: Int64 = 0
  /// A file with more has no sensible structure.
  private static let pieceLimit = 200_000

  /// Finds what stays. Reads only the structure, and of a JPEG all of the file, in pieces of bounded size.
  package static func plan(size: Int64, _ read: @escaping CaptureDate.Read) throws(Fault)
    -> StrippedPicture
  {
    guard let head = read(ImageKind.sniffByteCount, 0) else { throw .unreadable }
    if head.count < 12 { throw .unknownKind }
    let blocks = MetadataBlocks.find(head, size: size, read)
    let orientation = blocks.exif.lazy.compactMap { ExifBlock.orientation(in: $0, read) }.first ?? 1
    var window = FileWindow(size: size, read)
    switch ImageKind(sniffing: head) {
    case .jpeg: return try StrippedJPEG.plan(&window, orientation)
    case .png: return try StrippedPNG.plan(&window)
    case .webp: return try StrippedWebP.plan(&window, orientation)
    case .gif: return try StrippedGIF.plan(&window)
    case .heif, .avif: return try StrippedHEIF.plan(&window)
    default: throw .unknownKind
    }
  }

  mutating func keep(_ part: Range<Int64>) throws(Fault) {
    if part.isEmpty { return }
    size += part.upperBound - part.lowerBound
    if case .part(let last) = pieces.last, last.upperBound == part.lowerBound {
      pieces[pieces.count - 1] = .part(last.lowerBound..<part.upperBound)
      return
    }
    try add(.part(part))
  }

  mutating func insert(_ bytes: [UInt8]) throws(Fault) {
    if bytes.isEmpty { return }
    size += Int64(bytes.count)
    try add(.bytes(bytes))
  }

  mutating func insert(zeros count: Int64) throws(Fault) {
    if count <= 0 { return }
    size += count
    try add(.zeros(count))
  }

  mutating func append(_ other: StrippedPicture) throws(Fault) {
    for piece in other.pieces {
      switch piece {
      case .part(let part): try keep(part)
      case .bytes(let bytes): try insert(bytes)
      case .zeros(let count): try insert(zeros: count)
      }
    }
  }

  private mutating func add(_ piece: Piece) throws(Fault) {
    if pieces.count >= StrippedPicture.pieceLimit { throw .damaged }
    pieces.append(piece)
  }

  /// EXIF data that hold the orientation alone.
  static func exif(orientation: Int) -> [UInt8] {
    // A head, one directory with one entry (0x0112, one number of 16 bits), and no further directory.
    [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0]
      + [UInt8(orientation), 0, 0, 0, 0, 0, 0, 0]
  }
}

/// A file that a parser reads from its begin to its end, in pieces.
struct FileWindow {
  let size: Int64
  private let read: CaptureDate.Read
  private var start: Int64 = 0
  private var buffer: [UInt8] = []
  private static let length = 256 << 10

  init(size: Int64, _ read: @escaping CaptureDate.Read) {
    self.size = size
    self.read = read
  }

  /// A few bytes; throws where the file ends before them.
  mutating func bytes(_ count: Int, at offset: Int64) throws(StrippedPicture.Fault) -> [UInt8] {
    guard offset >= 0, offset <= size, Int64(count) <= size - offset else { throw .damaged }
    if offset < start || offset + Int64(count) > start + Int64(buffer.count) {
      guard let bytes = read(max(count, FileWindow.length), offset) else { throw .unreadable }
      if bytes.count < count { throw .damaged }
      (start, buffer) = (offset, bytes)
    }
    let place = Int(offset - start)
    return Array(buffer[place..<place + count])
  }

  /// The orientation that EXIF data in a part of the file state; nil if they state none.
  func orientation(in part: Range<Int64>) -> Int? { ExifBlock.orientation(in: part, read) }

  /// A big-endian number of at most 4 bytes.
  mutating func number(_ count: Int, at offset: Int64) throws(StrippedPicture.Fault) -> Int64 {
    try bytes(count, at: offset).reduce(0) { $0 << 8 | Int64($1) }
  }

  /// The offset of the next byte 0xFF; nil if there is none.
  mutating func nextMark(from offset: Int64) throws(StrippedPicture.Fault) -> Int64? {
    var offset = offset
    while offset < size {
      _ = try bytes(1, at: offset)
      let place = Int(offset - start)
      if let found = buffer[place...].firstIndex(of: 0xFF) { return start + Int64(found) }
      offset = start + Int64(buffer.count)
    }
    return nil
  }
}
