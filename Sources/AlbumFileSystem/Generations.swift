import AlbumModel
import Posix

import struct Synchronization.Atomic

/// Which life of its inode number a file is in, as the kernel is told with every name.
///
/// The kernel owns the pages of a file and its size, as long as it knows the inode, and believes no
/// answer that says otherwise. Where content that it had handed over was lost, it would go on showing
/// that. Another generation makes it a file that the kernel has never seen. Any thread.
final class Generations: Sendable {
  private let isAny = Atomic(false)
  /// Innermost lock.
  private let renewed = Mutex<[InodeNumber: UInt64]>([:], rank: .leaf)

  subscript(inode: InodeNumber) -> UInt64 {
    isAny.load(ordering: .acquiring) ? renewed.withLock { $0[inode] ?? 0 } : 0
  }

  func renew(_ inode: InodeNumber) {
    renewed.withLock { $0[inode, default: 0] += 1 }
    isAny.store(true, ordering: .releasing)
  }

  /// The inode is gone, and its number is never used again.
  func forget(_ inode: InodeNumber) {
    if isAny.load(ordering: .acquiring) { renewed.withLock { $0[inode] = nil } }
  }
}
