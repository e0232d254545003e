package import AlbumModel
internal import Glibc

/// The machine's settable clocks, and the time of its start. `MonotonicTime` measures durations.
package enum SystemClock {
  /// The wall clock.
  package static func wall() -> Timestamp { Timestamp(read(CLOCK_REALTIME)) }

  /// The same as the kernel stamps files with it: as of the last tick, a few milliseconds ago at
  /// most. A precise time would be later than the kernel's own time of a change that came after it.
  package static func fileTime() -> Timestamp {
    Timestamp(read(CLOCK_REALTIME_COARSE))
  }

  /// How long ago the machine was started, the time included in which it slept.
  package static func sinceStart() -> Duration { read(CLOCK_BOOTTIME).duration }

  /// A time since 1970-01-01 UTC for a person, in the time zone of the process.
  package static func localTime(seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = unsafe tm()
    guard unsafe localtime_r(&time, &parts) != nil else { return "\(seconds)" }
    var text = [CChar](repeating: 0, count: 64)
    let count = unsafe strftime(&text, text.count, "%F %T", &parts)
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// A time in UTC with its microseconds: `2026-11-27T06:15:03.000042Z`.
  package static func utc(_ time: Timestamp) -> String {
    var seconds = time_t(time.seconds)
    var parts = unsafe tm()
    guard unsafe gmtime_r(&seconds, &parts) != nil else { return "\(time.seconds)" }
    var text = [CChar](repeating: 0, count: 64)
    let count = unsafe strftime(&text, text.count, "%FT%T", &parts)
    let micros = "\(time.subsecond / 1000)"
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      + "." + String(repeating: "0", count: 6 - micros.count) + micros + "Z"
  }

  /// A time in UTC that every system accepts as the name of a file: `2026-11-27T06.15.03Z`.
  package static func nameOfTime(seconds: Int64) -> String {
    let text = utc(Timestamp(seconds: seconds))
    return text.prefix { $0 != "." }.replacing(":", with: ".") + "Z"
  }

  /// The day of such a time: `YYYY-MM-DD`.
  package static func localDay(seconds: Int64) -> String {
    String(localTime(seconds: seconds).prefix { $0 != " " })
  }

  /// The minutes by which the zone of the process was ahead of UTC at such a time.
  package static func offset(at seconds: Int64) -> Int {
    var time = time_t(seconds)
    var parts = unsafe tm()
    guard unsafe localtime_r(&time, &parts) != nil else { return 0 }
    return unsafe parts.tm_gmtoff / 60
  }

  /// Makes the zone that this value of the variable TZ means that of the process.
  package static func setZone(_ variable: String) {
    unsafe _ = setenv("TZ", variable, 1)
    tzset()
  }

  /// Seconds since 1970-01-01 UTC of a time in the time zone of the process. Numbers beyond their range count
  /// on, as in mktime(3).
  package static func seconds(
    year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int
  ) -> Int64 {
    var parts = unsafe tm()
    unsafe parts.tm_year = CInt(clamping: year - 1900)
    unsafe parts.tm_mon = CInt(clamping: month - 1)
    unsafe (parts.tm_mday, parts.tm_hour) = (
      CInt(clamping: day), CInt(clamping: hour)
    )
    unsafe (parts.tm_min, parts.tm_sec, parts.tm_isdst) = (
      CInt(clamping: minute), CInt(clamping: second), -1
    )
    return Int64(unsafe mktime(&parts))
  }

  /// Lets the calling thread wait.
  package static func sleep(milliseconds: UInt32) { usleep(milliseconds * 1000) }

  static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return time
  }
}
