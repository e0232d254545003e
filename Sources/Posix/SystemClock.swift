internal import Glibc

/// The clocks of the machine that somebody sets, and its start. For how long something takes there is
/// `MonotonicTime`.
package enum SystemClock {
  /// Since 1970-01-01 UTC.
  package static func wallNanoseconds() -> Int64 { read(CLOCK_REALTIME) }

  /// The same as the kernel stamps files with it: as of the last tick, a few milliseconds ago at
  /// most. A precise time would be later than the kernel's own time of a change that came after it.
  package static func fileTimeNanoseconds() -> Int64 { read(CLOCK_REALTIME_COARSE) }

  /// Whole seconds since 1970-01-01 UTC.
  package static func wallSeconds() -> Int64 { wallNanoseconds() / 1_000_000_000 }

  /// Milliseconds since the machine was started, those included in which it slept.
  package static func runningMilliseconds() -> Int64 { read(CLOCK_BOOTTIME) / 1_000_000 }

  /// A time since 1970-01-01 UTC for a person, in the time zone of the process.
  package static func localTime(seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = unsafe tm()
    guard unsafe localtime_r(&time, &parts) != nil else { return "\(seconds)" }
    var text = [CChar](repeating: 0, count: 64)
    let count = unsafe strftime(&text, text.count, "%F %T", &parts)
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Lets the calling thread wait.
  package static func sleep(milliseconds: UInt32) { usleep(milliseconds * 1000) }

  static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
