package import AlbumModel

/// A message of the daemon to the cell. Numbers are little-endian.
///
///     offset  size
///          0     4  magic, "ATr1"
///          4     1  kind: 1 thumbnail, 2 probe, 3 poster
///          5     3  zero
///          8     8  id, comes back in the reply
///         16     4  long edge of the thumbnail in pixels; probe: 0
///         20     1  clockwise quarter turns of the upright picture, 0 to 3; probe: 0
///         21     3  zero
///         24     8  byte count of the picture or video, at least 1; probe: 0
///         32        thumbnail: the picture
///
/// The bytes of a video do not follow: the cell asks for ranges (`ThumbnailReply.Content.read`), and the
/// daemon sends the bytes of each range, without a header.
package struct ThumbnailRequest: Equatable, Sendable {
  package enum Work: Equatable, Sendable {
    /// Make a thumbnail of the picture whose bytes follow the header.
    case thumbnail(edge: UInt32, pictureByteCount: UInt64, rotation: Rotation = .none)
    /// Make a thumbnail of a frame of a video.
    case poster(edge: UInt32, videoByteCount: UInt64, rotation: Rotation = .none)
    /// Try what the cell must refuse, and report the results.
    case probe
  }

  /// The length of what `encode` returns, in bytes: the message without the picture.
  package static let headerByteCount = 32
  static let magic: UInt32 = 0x3172_5441

  package var id: UInt64
  package var work: Work

  package init(id: UInt64, work: Work) {
    self.id = id
    self.work = work
  }

  package func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(ThumbnailRequest.headerByteCount)
    let (kind, edge, length, rotation): (UInt8, UInt32, UInt64, Rotation) =
      switch work {
      case .thumbnail(let edge, let pictureByteCount, let rotation):
        (1, edge, pictureByteCount, rotation)
      case .probe: (2, 0, 0, .none)
      case .poster(let edge, let videoByteCount, let rotation):
        (3, edge, videoByteCount, rotation)
      }
    bytes.append(littleEndian: ThumbnailRequest.magic)
    bytes += [kind, 0, 0, 0]
    bytes.append(littleEndian: id)
    bytes.append(littleEndian: edge)
    bytes += [rotation.rawValue, 0, 0, 0]
    bytes.append(littleEndian: length)
    return bytes
  }

  /// Decodes exactly the header.
  package static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> ThumbnailRequest {
    if bytes.count < headerByteCount { throw .truncated }
    if bytes.count > headerByteCount { throw .trailingBytes }
    if try bytes.number(UInt32.self, at: 0) != magic { throw .unknownMagic }
    try bytes.requireZero(5..<8)
    try bytes.requireZero(21..<24)
    guard let rotation = Rotation(rawValue: bytes[20]) else { throw .outOfRange }
    let id = try bytes.number(UInt64.self, at: 8)
    let edge = try bytes.number(UInt32.self, at: 16)
    let length = try bytes.number(UInt64.self, at: 24)
    switch bytes[4] {
    case 1:
      guard ThumbnailLimits.edge.contains(edge), length >= 1,
        length <= ThumbnailLimits.pictureByteCount
      else { throw .outOfRange }
      return ThumbnailRequest(
        id: id, work: .thumbnail(edge: edge, pictureByteCount: length, rotation: rotation))
    case 2:
      guard edge == 0, length == 0, rotation == .none else { throw .outOfRange }
      return ThumbnailRequest(id: id, work: .probe)
    case 3:
      guard ThumbnailLimits.edge.contains(edge), length >= 1,
        length <= ThumbnailLimits.videoByteCount
      else { throw .outOfRange }
      return ThumbnailRequest(
        id: id, work: .poster(edge: edge, videoByteCount: length, rotation: rotation))
    default: throw .unknownKind
    }
  }
}
