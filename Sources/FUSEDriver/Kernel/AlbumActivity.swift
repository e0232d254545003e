import AlbumFileSystem
import AlbumModel
import Posix

/// Tracks which albums are quiet: nothing was created in them for 2 seconds. Until then the kernel may not
/// trust their implicit entries. Any thread.
final class AlbumActivity: Sendable {
  static let restlessness = TestHooks.delay(.album, .seconds(2))

  private let clock: FileSystemClock
  /// The time of the last creation, by album. A leaf: nothing else is locked under it.
  private let created = Mutex<[InodeNumber: MonotonicTime]>([:], rank: .leaf)

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

  func isQuiet(_ album: InodeNumber) -> Bool {
    guard let last = created.withLock({ $0[album] }) else { return true }
    return clock.monotonic() - last >= AlbumActivity.restlessness
  }
}
