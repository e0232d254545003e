/// The bytes of a video that a cell asks for.
///
///     offset  size
///          0     8  offset of the first byte in the video
///          8     4  number of bytes, 1 to `ThumbnailLimits.rangeByteCount`
package struct VideoRange: Equatable, Sendable {
  static let byteCount = 12

  package var offset: UInt64
  package var length: UInt32

  package init(offset: UInt64, length: UInt32) {
    self.offset = offset
    self.length = length
  }

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: offset)
    bytes.append(littleEndian: length)
    return bytes
  }

  static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> VideoRange {
    let range = VideoRange(
      offset: try bytes.number(UInt64.self, at: 0), length: try bytes.number(UInt32.self, at: 8))
    guard (1...ThumbnailLimits.rangeByteCount).contains(range.length),
      range.offset <= ThumbnailLimits.videoByteCount
    else { throw .outOfRange }
    return range
  }
}

/// What a cell may still read of one video. The cell keeps to it, and the daemon checks that it does.
package struct RangeBudget: Equatable, Sendable {
  private let videoByteCount: UInt64
  private var ranges = ThumbnailLimits.rangeCount
  private var bytes = ThumbnailLimits.rangesByteCount

  package init(videoByteCount: UInt64) { self.videoByteCount = videoByteCount }

  /// Returns false, and charges nothing, if the range goes beyond the end of the video or the budget.
  package mutating func charge(_ range: VideoRange) -> Bool {
    let length = UInt64(range.length)
    guard range.offset < videoByteCount, length <= videoByteCount - range.offset, ranges > 0,
      length <= bytes
    else { return false }
    ranges -= 1
    bytes -= length
    return true
  }
}
