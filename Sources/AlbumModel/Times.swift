// The clocks that mean something on disk. An instant within one run of the machine is `MonotonicTime`, a
// length of time is `Duration`.

/// A time of the wall clock, or of a file. Between the years 1678 and 2261 it counts nanoseconds, beyond them
/// whole seconds, up to 285 million years from 1970. No initializer and no sum traps: what lies farther off
/// becomes the nearest time that there is.
package struct Timestamp: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Since 1970-01-01 UTC. Outside `fine` each step is a whole second. So the order of these numbers is that
  /// of the times.
  package var nanoseconds: Int64

  /// The seconds whose nanoseconds count.
  private static let fineSeconds: Range<Int64> = -9_214_364_800..<9_214_364_800
  private static let fine =
    fineSeconds.lowerBound * 1_000_000_000..<fineSeconds.upperBound
    * 1_000_000_000
  /// The ends of the range, for what lies farther off. They count nanoseconds, because earlier releases
  /// stored them for every time before 1677 and after 2262.
  private static let ends: Set<Int64> = [.min, .max]

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Nanoseconds outside 0..<1,000,000,000 count on.
  package init(seconds: Int64, nanoseconds: Int64 = 0) {
    let (whole, part) = nanoseconds.quotientAndFloorRemainder(dividingBy: 1_000_000_000)
    let seconds = seconds.saturatingAdd(whole)
    if Timestamp.fineSeconds.contains(seconds) {
      self.nanoseconds = seconds * 1_000_000_000 + part
    } else if seconds < 0 {
      let steps = seconds.saturatingSubtract(Timestamp.fineSeconds.lowerBound)
      self.nanoseconds = Timestamp.fine.lowerBound.saturatingAdd(steps)
    } else {
      let steps = seconds.saturatingSubtract(Timestamp.fineSeconds.upperBound)
      self.nanoseconds = Timestamp.fine.upperBound.saturatingAdd(steps)
    }
  }

  /// Returns nil if no `Timestamp` is exactly this time.
  package init?(exactSeconds seconds: Int64, nanoseconds: Int64) {
    self.init(seconds: seconds, nanoseconds: nanoseconds)
    if Timestamp.ends.contains(self.nanoseconds) || self.seconds != seconds
      || subsecond != nanoseconds
    {
      return nil
    }
  }

  package static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }

  /// Whole seconds, rounded down. With `subsecond` they form a `struct timespec`.
  package var seconds: Int64 {
    if countsNanoseconds {
      return nanoseconds.quotientAndFloorRemainder(dividingBy: 1_000_000_000).0
    }
    return nanoseconds < 0
      ? Timestamp.fineSeconds.lowerBound + (nanoseconds - Timestamp.fine.lowerBound)
      : Timestamp.fineSeconds.upperBound + (nanoseconds - Timestamp.fine.upperBound)
  }
  package var subsecond: Int64 {
    countsNanoseconds ? nanoseconds.quotientAndFloorRemainder(dividingBy: 1_000_000_000).1 : 0
  }

  private var countsNanoseconds: Bool {
    Timestamp.fine.contains(nanoseconds) || Timestamp.ends.contains(nanoseconds)
  }

  package static func + (time: Timestamp, wait: Duration) -> Timestamp {
    if ends.contains(time.nanoseconds) { return time }
    let (seconds, attoseconds) = wait.bounded.components
    return Timestamp(
      seconds: time.seconds.saturatingAdd(seconds),
      nanoseconds: time.subsecond + attoseconds / 1_000_000_000)
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
  /// The nearest time from 1970 to `limit`.
  package init(_ wall: Timestamp) {
    let seconds = min(max(0, wall.seconds), StoreTime.limit / 1000 - 1)
    let part = wall.seconds < 0 ? 0 : wall.subsecond / 1_000_000
    self.init(milliseconds: seconds * 1000 + part)
  }
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
    StoreTime(milliseconds: time.milliseconds.saturatingAdd(wait.milliseconds))
  }

  package static func - (time: StoreTime, wait: Duration) -> StoreTime {
    time + (.zero - wait)
  }

  package static func - (later: StoreTime, earlier: StoreTime) -> Duration {
    .milliseconds(later.milliseconds.saturatingSubtract(earlier.milliseconds))
  }
}

extension Duration {
  /// Within what 64 bits hold of seconds: beyond that, `components` traps.
  fileprivate var bounded: Duration { min(max(self, .seconds(Int64.min)), .seconds(Int64.max)) }

  /// Each of these is at most half of what 64 bits hold; of nanoseconds that is 146 years.
  package var nanoseconds: Int64 { count(perSecond: 1_000_000_000) }

  package var milliseconds: Int64 { count(perSecond: 1000) }

  package var microseconds: Int64 { count(perSecond: 1_000_000) }

  private func count(perSecond units: Int64) -> Int64 {
    let (seconds, attoseconds) = bounded.components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: units)
    if overflows { return seconds < 0 ? .min / 2 : .max / 2 }
    return whole.saturatingAdd(attoseconds / (1_000_000_000_000_000_000 / units))
  }
}
