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
    let numbers = [found.1, found.2, found.3, found.4, found.5, found.6].compactMap { Int64($0) }
    guard numbers.count == 6, (1...12).contains(numbers[1]), (1...31).contains(numbers[2]),
      numbers[3] < 24, numbers[4] < 60, numbers[5] < 61
    else { return nil }
    let days = days(numbers[0], numbers[1], numbers[2])
    return days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
  }

  /// Days since 1970 of a date of the Gregorian calendar. Years begin in March, so that the leap day is last.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month > 2 ? year : year - 1
    let ofYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + ofYear - 719_468
  }

  /// True for a label that every system accepts as a name, and that looks like no time.
  package static func isLabel(_ name: FileName) -> Bool {
    let forbidden = Set("<>:\"|?*\\".utf8)
    let last = name.bytes.last
    return !name.isHidden && name.bytes.count <= 100 && seconds(of: name) == nil
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
