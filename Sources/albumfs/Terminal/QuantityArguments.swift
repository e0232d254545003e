import AlbumModel
import ArgumentParser
import Posix

/// A size in bytes as a user types it: `0`, `512K`, `64M`, `2G`; K is 1024.
struct SizeArgument: ExpressibleByArgument, Equatable {
  let bytes: Int64

  init?(argument: String) {
    let units: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
    let unit = argument.last.flatMap { units[Character($0.uppercased())] }
    let digits = unit == nil ? argument[...] : argument.dropLast()
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }),
      let number = Int64(digits)
    else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
    if overflow { return nil }
    bytes = product
  }

  var defaultValueDescription: String { SizeArgument.text(bytes) }

  /// The shortest of these spellings for a number of bytes.
  static func text(_ bytes: Int64) -> String {
    for (unit, size) in [("G", Int64(1) << 30), ("M", 1 << 20), ("K", 1 << 10)]
    where bytes >= size && bytes % size == 0 {
      return "\(bytes / size)\(unit)"
    }
    return "\(bytes)"
  }

  /// For reading: `1.5 GiB`.
  static func readable(_ bytes: Int64) -> String {
    var value = Double(bytes)
    if value < 1024 { return "\(bytes) bytes" }
    for unit in ["KiB", "MiB", "GiB"] {
      value /= 1024
      if value < 1024 { return "\(tenths(value)) \(unit)" }
    }
    return "\(tenths(value / 1024)) TiB"
  }

  private static func tenths(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}

/// A number of days as a user types it: `30d` or `30`.
struct DaysArgument: ExpressibleByArgument, Equatable {
  let days: Int64

  init?(argument: String) {
    let digits = argument.hasSuffix("d") ? argument.dropLast() : argument[...]
    guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let days = Int64(digits),
      (0...DaysArgument.longest).contains(days)
    else { return nil }
    self.days = days
  }

  /// A hundred years.
  static let longest: Int64 = 36_525
}

/// A moment as a user types it: a local time such as `2026-11-26T10:00`, or how long ago, such as `3d`.
struct MomentArgument: ExpressibleByArgument, Equatable {
  /// Since 1970.
  let seconds: Int64

  init?(argument: String) {
    if let ago = MomentArgument.ago(argument) {
      seconds = SystemClock.wall().seconds - ago
    } else if let moment = MomentArgument.moment(argument) {
      seconds = moment
    } else {
      return nil
    }
  }

  private static func ago(_ text: String) -> Int64? {
    if text.hasSuffix("d") { return DaysArgument(argument: text).map { $0.days * 24 * 3600 } }
    guard text.last.map({ "smh".contains($0) }) ?? false else { return nil }
    return DurationArgument(argument: text)?.seconds
  }

  private static func moment(_ text: String) -> Int64? {
    guard let found = text.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?/)
    else { return nil }
    let parts = found.output
    let number = { (part: Substring?) in part.flatMap { Int($0) } ?? 0 }
    // The C library takes 25:00 for an hour of the next day.
    guard
      let local = CaptureTime(
        year: number(parts.1), month: number(parts.2), dayOfMonth: number(parts.3),
        hour: number(parts.4), minute: number(parts.5), second: number(parts.6))
    else { return nil }
    return SystemClock.seconds(
      year: local.year, month: local.month, day: local.dayOfMonth, hour: local.hour,
      minute: local.minute, second: local.second)
  }
}

/// A time as a user types it: `900`, `90s`, `15m`, `2h`; without a unit it is in seconds. Not zero.
struct DurationArgument: ExpressibleByArgument, Equatable {
  let seconds: Int64

  init?(argument: String) {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
    let unit = argument.last.flatMap { units[$0] }
    let digits = unit == nil ? argument[...] : argument.dropLast()
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }),
      let number = Int64(digits),
      (1...31_536_000).contains(number)
    else { return nil }
    seconds = number * (unit ?? 1)
  }
}

/// A time zone as a user types it: a name such as `Europe/Berlin`, or a distance from UTC such as `+02:00`.
struct TimeZoneArgument: ExpressibleByArgument, Equatable {
  /// The value of the variable TZ that means the zone.
  let variable: String

  init?(argument: String) {
    let bytes = Array(argument.utf8)
    if let offset = CaptureTime.offset(bytes[...]), !bytes.isEmpty {
      // POSIX counts from the zone to UTC.
      let clock = argument.dropFirst()
      variable = offset == 0 ? "UTC0" : "<\(argument)>\(offset > 0 ? "-" : "+")\(clock)"
      return
    }
    let isName = argument.utf8.allSatisfy {
      48...57 ~= $0 || 65...90 ~= $0 & 0xDF || "/_+-".utf8.contains($0)
    }
    // The C library takes an unknown name for UTC.
    guard isName, !argument.hasPrefix("/"),
      (try? PlainEntry("/usr/share/zoneinfo/\(argument)").kind) != .directory,
      PathCalls.exists("/usr/share/zoneinfo/\(argument)")
    else { return nil }
    variable = ":\(argument)"
  }
}

/// A snapshot as a user names it: its name, a time of day, or how long ago.
struct SnapshotArgument: ExpressibleByArgument {
  let name: String

  init?(argument: String) {
    if argument.isEmpty || argument.contains("/") { return nil }
    name =
      MomentArgument(argument: argument).map { SystemClock.nameOfTime(seconds: $0.seconds) }
      ?? argument
  }
}
