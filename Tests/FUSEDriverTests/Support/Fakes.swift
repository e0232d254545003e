import AlbumFileSystem
import AlbumModel
import AlbumStore
import Posix

@testable import FUSEDriver

/// Says of every caller what the test says.
final class FakeInspector: CallerInspector {
  private let answer = Mutex<CallerIntent>(.other, rank: .test)

  func set(_ intent: CallerIntent) { answer.withLock { $0 = intent } }

  func intent(of thread: Int32, toward name: FileName) -> CallerIntent { answer.withLock { $0 } }

  /// Threads of one process have numbers of the same hundred.
  func process(of thread: Int32) -> Int32? { thread / 100 * 100 }
}

/// Clocks that go on only when the test says so.
final class FakeClock: Sendable {
  private let nanoseconds = Mutex<Int64>(1_000_000_000_000, rank: .test)

  func advance(seconds: Int64) { nanoseconds.withLock { $0 += seconds * 1_000_000_000 } }

  var clock: FileSystemClock {
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
