internal import Posix

/// Milliseconds of a clock that never jumps.
package struct MonotonicTime: Comparable, Sendable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  package static func < (a: MonotonicTime, b: MonotonicTime) -> Bool {
    a.milliseconds < b.milliseconds
  }

  package static func + (time: MonotonicTime, wait: Duration) -> MonotonicTime {
    let parts = wait.components
    return MonotonicTime(
      milliseconds: time.milliseconds + parts.seconds * 1000 + parts.attoseconds
        / 1_000_000_000_000_000)
  }

  package static var now: MonotonicTime {
    MonotonicTime(milliseconds: SystemClock.monotonicMilliseconds())
  }

  /// What poll(2) wants to hear: never negative.
  func pollTimeout(from now: MonotonicTime) -> CInt {
    CInt(clamping: max(0, milliseconds - now.milliseconds))
  }
}
