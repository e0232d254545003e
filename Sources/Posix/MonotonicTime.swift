internal import AlbumModel
internal import Glibc

/// An instant on a clock that nobody sets and that stands still while the machine sleeps
/// (CLOCK_MONOTONIC): for deadlines, and for how long something was. Means nothing on disk.
package struct MonotonicTime: Comparable, Hashable, Sendable, BitwiseCopyable {
  package let nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static var now: MonotonicTime {
    MonotonicTime(nanoseconds: SystemClock.read(CLOCK_MONOTONIC).duration.nanoseconds)
  }

  /// Never comes.
  package static let distantFuture = MonotonicTime(nanoseconds: .max)

  package static func < (a: MonotonicTime, b: MonotonicTime) -> Bool {
    a.nanoseconds < b.nanoseconds
  }

  package static func + (time: MonotonicTime, wait: Duration) -> MonotonicTime {
    let (sum, overflows) = time.nanoseconds.addingReportingOverflow(wait.nanoseconds)
    return overflows ? .distantFuture : MonotonicTime(nanoseconds: sum)
  }

  package static func - (time: MonotonicTime, wait: Duration) -> MonotonicTime {
    MonotonicTime(nanoseconds: time.nanoseconds.saturatingSubtract(wait.nanoseconds))
  }

  package static func - (later: MonotonicTime, earlier: MonotonicTime) -> Duration {
    .nanoseconds(later.nanoseconds.saturatingSubtract(earlier.nanoseconds))
  }

  /// The timeout argument of poll(2) until this instant, never negative.
  package func pollTimeout(from now: MonotonicTime) -> CInt {
    CInt(clamping: max(0, (self - now).milliseconds))
  }
}
