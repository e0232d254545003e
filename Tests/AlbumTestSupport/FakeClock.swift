package import AlbumFileSystem
import AlbumModel
import Posix

/// Clocks that advance only when the test says so.
package final class FakeClock: Sendable {
  private let nanoseconds = Mutex<Int64>(1_000_000_000_000, rank: .test)

  package init() {}

  package func advance(seconds: Int64) { nanoseconds.withLock { $0 += seconds * 1_000_000_000 } }

  package var clock: FileSystemClock {
    FileSystemClock(
      now: { Timestamp(nanoseconds: self.tick()) },
      monotonic: { MonotonicTime(nanoseconds: self.nanoseconds.withLock { $0 }) })
  }

  /// Each time of day is a little later than the one before, so that changes show.
  private func tick() -> Int64 {
    nanoseconds.withLock {
      $0 += 1000
      return $0
    }
  }
}
