import AlbumFileSystem
import AlbumModel
import Posix

/// Remembers what changed.
final class FakeObserver: FileSystemObserver {
  private let heard = Mutex<[(change: FileSystemChange, isOwn: Bool)]>([], rank: .test)

  var changes: [FileSystemChange] { heard.withLock { $0.map(\.change) } }
  var ownChanges: [FileSystemChange] { heard.withLock { $0.filter(\.isOwn).map(\.change) } }

  func changed(_ change: FileSystemChange, isOwn: Bool) {
    heard.withLock { $0.append((change, isOwn)) }
  }
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
