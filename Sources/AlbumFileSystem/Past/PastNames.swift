package import AlbumFormat
package import AlbumModel
import AlbumStore
import Posix

// The names of points: the label that the user gave, or the time, `2026-11-26T10.00.00Z`. Without colons,
// since rsync takes `T10:00/` for a machine, and Windows refuses them.

extension HistoryPoint {
  /// The name in `.snapshots`.
  package var name: FileName { label ?? HistoryPoint.name(of: wall.seconds) }

  package static func name(of seconds: Int64) -> FileName {
    FileName(known: Array(SystemClock.nameOfTime(seconds: seconds).utf8))
  }

  /// Reads such a time. Returns seconds since 1970; nil for anything else.
  static func seconds(of name: FileName) -> Int64? {
    let pattern = /(\d{4})-(\d\d)-(\d\d)T(\d\d)\.(\d\d)\.(\d\d)Z/
    guard let found = name.display.wholeMatch(of: pattern)?.output else { return nil }
    let numbers = [found.1, found.2, found.3, found.4, found.5, found.6].compactMap { Int($0) }
    guard numbers.count == 6 else { return nil }
    return CaptureTime(
      year: numbers[0], month: numbers[1], dayOfMonth: numbers[2], hour: numbers[3],
      minute: numbers[4], second: numbers[5])?.clockSeconds
  }

  /// True for what commands take for a time: a date, also with a time of day, or how long ago something was.
  private static func isTime(_ name: FileName) -> Bool {
    name.display.wholeMatch(of: /\d+[smhd]?|\d{4}-\d\d-\d\d([T ]\d\d\.\d\d(\.\d\d)?Z?)?/) != nil
  }

  /// True for a label that every system accepts as a name, and that looks like no time.
  package static func isLabel(_ name: FileName) -> Bool {
    let forbidden = Set("<>:\"|?*\\".utf8)
    let last = name.bytes.last
    return !name.isHidden && name.bytes.count <= 100 && !isTime(name)
      && last != UInt8(ascii: ".") && last != UInt8(ascii: " ")
      && !name.bytes.contains { $0 < 32 || $0 == 127 || forbidden.contains($0) }
      && String(validating: name.bytes, as: UTF8.self) != nil
  }
}

extension [HistoryPoint] {
  /// The point that has a name, or the first one from a time on: between two points nothing is destroyed, so
  /// that one has all that was there at the time.
  package func find(_ name: FileName) -> HistoryPoint? {
    if let point = first(where: { $0.name == name }) { return point }
    guard let seconds = HistoryPoint.seconds(of: name) else { return nil }
    return first { $0.wall.seconds >= seconds }
  }
}
