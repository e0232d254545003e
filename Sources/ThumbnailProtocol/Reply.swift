package import AlbumModel
package import FileKinds

/// A message of the cell to the daemon. Numbers are little-endian.
///
///     offset  size
///          0     4  magic, "ATa1"
///          4     1  kind: 0 hello, 1 thumbnail, 2 failure, 3 probe, 4 read
///          5     1  thumbnail: its format (ImageKind); failure: its code; else 0
///          6     2  zero
///          8     8  id of the request; hello: 0
///         16     4  byte count of the body
///         20     4  zero
///         24        the body
///
/// Bodies: hello, see `CellReport`; thumbnail, its `PictureFacts` and its bytes; failure, a reason
/// for the log in printable ASCII; probe, see `ProbeReport`; read, see `VideoRange`.
package struct ThumbnailReply: Equatable, Sendable {
  package enum Content: Equatable, Sendable {
    case hello(CellReport)
    case thumbnail(ImageKind, [UInt8], PictureFacts = PictureFacts())
    case failure(PictureFailure, reason: String)
    case probe(ProbeReport)
    /// Asks for bytes of the video. Not an answer: the cell goes on when it has them.
    case read(VideoRange)
  }

  package var id: UInt64
  package var content: Content

  package init(id: UInt64, content: Content) {
    self.id = id
    self.content = content
  }

  package func encode() -> [UInt8] {
    let (kind, detail, body): (UInt8, UInt8, [UInt8]) =
      switch content {
      case .hello(let report): (0, 0, report.encode())
      case .thumbnail(let format, let bytes, let facts):
        (1, format.rawValue, facts.encode() + bytes)
      case .failure(let failure, let reason): (2, failure.rawValue, Reason.encode(reason))
      case .probe(let report): (3, 0, report.encode())
      case .read(let range): (4, 0, range.encode())
      }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Header.byteCount + body.count)
    bytes.append(littleEndian: Header.magic)
    bytes += [kind, detail, 0, 0]
    bytes.append(littleEndian: id)
    bytes.append(littleEndian: UInt32(body.count))
    bytes.append(littleEndian: UInt32(0))
    return bytes + body
  }

  /// Decodes exactly one message.
  package static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> ThumbnailReply {
    let header = try Header.decode(Array(bytes.prefix(Header.byteCount)))
    return try decode(header, body: Array(bytes.dropFirst(Header.byteCount)))
  }

  /// Decodes a header and exactly the body that it announced.
  package static func decode(_ header: Header, body: [UInt8]) throws(MalformedMessage)
    -> ThumbnailReply
  {
    if body.count < header.bodyByteCount { throw .truncated }
    if body.count > header.bodyByteCount { throw .trailingBytes }
    let content: Content =
      switch header.kind {
      case .hello: .hello(try CellReport.decode(body))
      case .thumbnail(let format): try thumbnail(format, body)
      case .failure(let failure): .failure(failure, reason: try Reason.decode(body))
      case .probe: .probe(try ProbeReport.decode(body))
      case .read: .read(try VideoRange.decode(body))
      }
    return ThumbnailReply(id: header.id, content: content)
  }

  private static func thumbnail(_ format: ImageKind, _ body: [UInt8]) throws(MalformedMessage)
    -> Content
  {
    let (facts, count) = try PictureFacts.decode(body)
    return .thumbnail(format, Array(body.dropFirst(count)), facts)
  }
}

extension ThumbnailReply {
  /// The first part of a reply. It announces the length of the body, within the limits of its kind.
  package struct Header: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
      case hello
      case thumbnail(ImageKind)
      case failure(PictureFailure)
      case probe
      case read
    }

    /// Bytes.
    package static let byteCount = 24
    static let magic: UInt32 = 0x3161_5441

    package let id: UInt64
    package let bodyByteCount: Int
    let kind: Kind

    /// Decodes exactly the header.
    package static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> Header {
      if bytes.count < byteCount { throw .truncated }
      if bytes.count > byteCount { throw .trailingBytes }
      if try bytes.number(UInt32.self, at: 0) != magic { throw .unknownMagic }
      try bytes.requireZero(6..<8)
      try bytes.requireZero(20..<24)
      let kind = try Kind.decode(bytes[4], detail: bytes[5])
      let id = try bytes.number(UInt64.self, at: 8)
      let length = try bytes.number(UInt32.self, at: 16)
      guard kind.bodyByteCount.contains(Int(length)) else { throw .outOfRange }
      if kind == .hello, id != 0 { throw .outOfRange }
      return Header(id: id, bodyByteCount: Int(length), kind: kind)
    }
  }
}

extension ThumbnailReply.Header.Kind {
  static func decode(_ kind: UInt8, detail: UInt8) throws(MalformedMessage) -> Self {
    switch kind {
    case 1:
      guard let format = ImageKind(rawValue: detail), format.isThumbnailFormat else {
        throw .unknownKind
      }
      return .thumbnail(format)
    case 2:
      guard let failure = PictureFailure(rawValue: detail) else { throw .unknownKind }
      return .failure(failure)
    case 0, 3, 4:
      if detail != 0 { throw .reservedBytes }
      return kind == 0 ? .hello : kind == 3 ? .probe : .read
    default: throw .unknownKind
    }
  }

  var bodyByteCount: ClosedRange<Int> {
    switch self {
    case .hello: CellReport.byteCount...CellReport.byteCount
    case .thumbnail:
      PictureFacts.byteCounts.lowerBound + 1...PictureFacts.byteCounts.upperBound
        + Int(ThumbnailLimits.thumbnailByteCount)
    case .failure: 0...ThumbnailLimits.reasonByteCount
    case .read: VideoRange.byteCount...VideoRange.byteCount
    case .probe:
      ProbeReport.headByteCount...ProbeReport.headByteCount + ProbeReport.tryLimit
        * ProbeReport.tryByteCount
    }
  }
}

/// Why the cell made no thumbnail.
package enum PictureFailure: UInt8, Error, CaseIterable, Sendable {
  /// The content is of no kind in `ImageKind`, or of one that this libvips cannot read.
  case notAPicture = 1
  /// It has too many pixels, or needs more memory than the cell has.
  case tooLarge = 2
  /// The decoder could decode no part of it.
  case damaged = 3
  /// The cell itself failed.
  case `internal` = 4
}

/// The reason of a failure: printable ASCII, so that a hostile cell cannot write control characters into a
/// log.
enum Reason {
  static func encode(_ reason: String) -> [UInt8] {
    let printable = reason.utf8.map { isPrintable($0) ? $0 : UInt8(ascii: " ") }
    return Array(printable.prefix(ThumbnailLimits.reasonByteCount))
  }

  static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> String {
    guard bytes.count <= ThumbnailLimits.reasonByteCount, bytes.allSatisfy(isPrintable) else {
      throw .outOfRange
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7e).contains(byte) }
}
