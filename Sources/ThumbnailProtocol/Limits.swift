/// The bounds of every message. Both sides refuse what lies outside them.
package enum ThumbnailLimits {
  /// The greatest picture, in bytes.
  package static let pictureByteCount: UInt64 = 512 << 20
  /// The long edge of a thumbnail, in pixels.
  package static let edge: ClosedRange<UInt32> = 16...2048
  /// The greatest thumbnail, in bytes: a PNG of the greatest edge that does not compress at all.
  package static let thumbnailByteCount: UInt32 = 17 << 20
  /// The longest reason of a failure, in bytes.
  static let reasonByteCount = 120
}
