package enum SegmentKind: UInt8, Sendable, BitwiseCopyable {
  case data = 1, journal = 2, checkpoint = 3
}
package enum RecordLayout {
  package static let grid = 256
  package static let overhead = 48
  package static func paddedByteCount(plaintext: Int) -> Int { (plaintext + 48 + 255) / 256 * 256 }
}
