// The clocks that mean something on disk. An instant within one run of the machine is `MonotonicTime`, a
// length of time is `Duration`.

/// A time of the wall clock, or of a file: nanoseconds since 1970-01-01 UTC, from 1677 to 2262.
package struct Timestamp: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var nanoseconds: Int64
  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  package init(seconds: Int64, nanoseconds: Int64 = 0) {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = product.addingReportingOverflow(nanoseconds)
    self.nanoseconds = overflow || overflow2 ? (seconds < 0 ? .min : .max) : sum
  }
  package static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }

  /// Whole seconds, rounded down. With `subsecond` they form a `struct timespec`.
  package var seconds: Int64 {
    let (quotient, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? quotient - 1 : quotient
  }
  package var subsecond: Int64 {
    let rest = nanoseconds % 1_000_000_000
    return rest < 0 ? rest + 1_000_000_000 : rest
  }

  package static func + (time: Timestamp, wait: Duration) -> Timestamp {
    let (sum, overflows) = time.nanoseconds.addingReportingOverflow(wait.nanoseconds)
    return Timestamp(nanoseconds: overflows ? (wait < .zero ? .min : .max) : sum)
  }

  package static func - (time: Timestamp, wait: Duration) -> Timestamp {
    time + (.zero - wait)
  }
}

/// A time of a space's own clock, in milliseconds. It never falls. Within a session it follows the clock that
/// counts from the machine's start. A session begins at the wall clock's time, or where the last session
/// ended if that is later. It measures the age of events; albumfs never uses file times for that, because
/// copying tools set them.
package struct StoreTime: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var milliseconds: Int64
  package init(milliseconds: Int64) { self.milliseconds = milliseconds }
  package init(_ wall: Timestamp) { self.init(milliseconds: wall.nanoseconds / 1_000_000) }
  package static let none = StoreTime(milliseconds: 0)
  package static let distantFuture = StoreTime(milliseconds: .max)
  /// The limit of a time in a frame: 56 bits.
  package static let limit: Int64 = 1 << 56
  package static func < (a: StoreTime, b: StoreTime) -> Bool { a.milliseconds < b.milliseconds }

  /// Whole seconds.
  package var seconds: Int64 { milliseconds / 1000 }

  /// How long the store keeps data that it no longer needs, so that a running copy finds it: 15 minutes.
  package static let grace = Duration.seconds(15 * 60)

  /// If a copy took less than the grace time and this is its newest time, then everything recorded before
  /// `floor` was in the store when the copy began.
  package var floor: StoreTime { self - StoreTime.grace }

  package static func + (time: StoreTime, wait: Duration) -> StoreTime {
    StoreTime(milliseconds: time.milliseconds + wait.milliseconds)
  }

  package static func - (time: StoreTime, wait: Duration) -> StoreTime {
    StoreTime(milliseconds: time.milliseconds - wait.milliseconds)
  }

  package static func - (later: StoreTime, earlier: StoreTime) -> Duration {
    .milliseconds(later.milliseconds - earlier.milliseconds)
  }
}

extension Duration {
  /// At most what 64 bits hold: 292 years.
  package var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflows { return seconds < 0 ? .min / 2 : .max / 2 }
    return whole + attoseconds / 1_000_000_000
  }

  package var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
