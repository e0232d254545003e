/// Why bytes are no valid message.
package enum MalformedMessage: Error, Equatable, Sendable {
  /// Fewer bytes than the message needs.
  case truncated
  /// More bytes than the message announces.
  case trailingBytes
  /// The magic is not that of this protocol and version.
  case unknownMagic
  /// A kind, code or format that this version does not know.
  case unknownKind
  /// A byte that must be zero is not.
  case reservedBytes
  /// A number outside `ThumbnailLimits`, or a text that is not printable ASCII.
  case outOfRange
}

extension [UInt8] {
  /// Appends the number, lowest byte first.
  mutating func append<T: FixedWidthInteger & UnsignedInteger>(littleEndian number: T) {
    for shift in stride(from: 0, to: T.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: number >> T(shift)))
    }
  }

  /// The number at this offset, lowest byte first; throws `.truncated` if the bytes end before.
  func number<T: FixedWidthInteger & UnsignedInteger>(_: T.Type, at offset: Int)
    throws(MalformedMessage) -> T
  {
    let size = T.bitWidth / 8
    guard offset >= 0, count >= size, offset <= count - size else { throw .truncated }
    var number: T = 0
    for index in (0..<size).reversed() { number = number << 8 | T(self[offset + index]) }
    return number
  }

  /// Throws `.reservedBytes` unless all bytes of the range are zero.
  func requireZero(_ range: Range<Int>) throws(MalformedMessage) {
    guard range.upperBound <= count else { throw .truncated }
    for index in range where self[index] != 0 { throw .reservedBytes }
  }
}

/// The limits of every message. Both sides refuse values outside them.
package enum ThumbnailLimits {
  /// The greatest picture, in bytes.
  package static let pictureByteCount: UInt64 = 512 << 20
  /// The greatest video, in bytes.
  package static let videoByteCount: UInt64 = 1 << 50
  /// The longest range of a video in one request, in bytes.
  package static let rangeByteCount: UInt32 = 256 << 10
  /// The most ranges of one video, and their bytes together.
  static let rangeCount = 4096
  package static let rangesByteCount: UInt64 = 128 << 20
  /// The long edge of a thumbnail, in pixels.
  package static let edge: ClosedRange<UInt32> = 16...2048
  /// The greatest thumbnail, in bytes: a PNG of the greatest edge that does not compress at all.
  package static let thumbnailByteCount: UInt32 = 17 << 20
  /// The longest reason of a failure, in bytes.
  static let reasonByteCount = 120
}
