import AlbumFormat
package import AlbumModel

/// Why a version of a file was left out by a mount, where it was, and since when: the value of
/// `InodeState.leftOutPath`.
///
/// | offset | |
/// |---|---|
/// | 0 | 0: the end of a copy, 1: damage |
/// | 1..<9 | when the newest content of the file was written, `StoreTime`; 0 if unknown |
/// | 9... | path from the root, UTF-8 |
package struct LeftOutNote: Sendable, Equatable {
  package var isDamage: Bool
  package var since: StoreTime
  package var path: String

  private static let pathOffset = 9

  init(isDamage: Bool, since: StoreTime, path: String) {
    self.isDamage = isDamage
    self.since = since
    self.path = path
  }

  var encoded: [UInt8] {
    let time = UInt64(max(0, since.milliseconds))
    return [isDamage ? 1 : 0] + (0..<8).map { UInt8(truncatingIfNeeded: time >> (8 * $0)) }
      + Array(path.utf8)
  }

  /// Nil for what no space writes.
  init?(_ value: [UInt8]) {
    if value.count < LeftOutNote.pathOffset || value[0] > 1 { return nil }
    let time = (0..<8).reduce(UInt64(0)) { $0 | UInt64(value[1 + $1]) << (8 * $1) }
    guard time < StoreTime.limit else { return nil }
    isDamage = value[0] == 1
    since = StoreTime(milliseconds: Int64(time))
    path = String(decoding: value[LeftOutNote.pathOffset...], as: UTF8.self)
  }
}
