import AlbumFileSystem
import AlbumModel
import Posix

/// Which albums have settled: nothing was created in them for 2 seconds. Until then the kernel may
/// not believe in their implicit entries. Any thread.
final class AlbumActivity: Sendable {
  /// Nanoseconds.
  static let restlessness: Int64 = 2_000_000_000

  private let clock: FileSystemClock
  /// When something was last created, by album. A leaf: nothing else is locked under it.
  private let created = Mutex<[InodeNumber: Int64]>([:])

  init(clock: FileSystemClock) { self.clock = clock }

  func createdSomething(in album: InodeNumber) {
    let now = clock.monotonic()
    created.withLock { created in
      if created.count >= 1024 {
        created = created.filter { now - $0.value < AlbumActivity.restlessness }
      }
      created[album] = now
    }
  }

  func isSettled(_ album: InodeNumber) -> Bool {
    guard let last = created.withLock({ $0[album] }) else { return true }
    return clock.monotonic() - last >= AlbumActivity.restlessness
  }
}
