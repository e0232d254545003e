internal import AlbumFileSystem
internal import Posix

import struct Synchronization.Atomic

/// The number of files that the kernel has open, and whether the user has locked the space. A locked space
/// opens nothing and shows no name. It lasts until its last open file is closed. Any thread.
///
/// Directories do not count. So a program that works in the space, or holds a directory open, keeps no keys.
final class OpenFiles: Sendable {
  private let locked = Atomic(false)
  private let count = Monitor(0, rank: .leaf)

  /// Throws `.locked` if the space is locked.
  func requireUnlocked() throws(FSError) {
    if locked.load(ordering: .sequentiallyConsistent) { throw FSError(.locked) }
  }

  /// Counts a file and opens it. Throws `.locked` if the space is locked.
  func opening<Opened>(_ body: () throws(FSError) -> Opened) throws(FSError) -> Opened {
    // In this order: either `waitForNone` sees the file, or this sees the lock.
    count.withLock { $0 += 1 }
    do throws(FSError) {
      try requireUnlocked()
      return try body()
    } catch {
      closed()
      throw error
    }
  }

  func closed() {
    if count.withLock({ count in
      count -= 1
      return count == 0
    }) {
      count.notifyAll()
    }
  }

  /// Returns false if the space is locked already.
  func lock() -> Bool { !locked.exchange(true, ordering: .sequentiallyConsistent) }

  /// Returns when no file is open.
  func waitForNone() { count.waiting { $0 == 0 ? () : nil } }
}
