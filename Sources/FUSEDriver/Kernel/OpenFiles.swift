internal import AlbumFileSystem
internal import Posix

import struct Synchronization.Atomic

/// Counts the files that the kernel has open, and records whether the user has locked the space. The driver
/// of a locked space refuses to open files and to look up names, and ends when the last open file is closed.
/// Any thread.
///
/// Open directories and working directories do not count, so they do not keep the keys in memory.
final class OpenFiles: Sendable {
  private let locked = Atomic(false)
  private let count = Monitor(0, rank: .leaf)

  /// Throws `.locked` if the space is locked.
  func requireUnlocked() throws(FSError) {
    if locked.load(ordering: .sequentiallyConsistent) { throw FSError(.locked) }
  }

  /// Counts a file and opens it. Throws `.locked` if the space is locked.
  func opening<Opened>(_ body: () throws(FSError) -> Opened) throws(FSError) -> Opened {
    // The file is counted first. Then either `waitForNone` sees it, or this call sees the lock.
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

  /// The number of open files.
  var number: Int { count.withLock { $0 } }

  /// Returns when no file is open.
  func waitForNone() { count.waiting { $0 == 0 ? () : nil } }
}
