import AlbumFileSystem
import AlbumModel
import Posix

/// The inodes that the kernel knows, each with the number of lookups for which no FORGET came yet. While
/// there is one, the inode stays in the space, even without a name. Any thread.
final class KernelInodes: Sendable {
  private struct Known {
    let reference: InodeReference
    var lookups: UInt64 = 0
    /// The generation of the inode number. Every reply with a name contains it.
    ///
    /// While the kernel knows an inode, it owns the pages and the size of the file and ignores replies that
    /// differ. If content that it had handed over was lost, it would continue to show it. With another
    /// generation the inode is a file that the kernel has never seen.
    var generation: UInt64 = 0
  }

  /// A leaf. References end without it.
  private let known = Mutex<[InodeNumber: Known]>([:], rank: .leaf)

  /// Counts a lookup; returns the generation.
  func count(_ reference: InodeReference) -> UInt64 {
    known.withLock { known in
      func count(_ inode: inout Known) -> UInt64 {
        inode.lookups += 1
        return inode.generation
      }
      return count(&known[reference.inode, default: Known(reference: reference)])
    }
  }

  /// Subtracts `count` lookups.
  func forget(_ inode: InodeNumber, count: UInt64) {
    _ = known.withLock { known -> InodeReference? in
      guard let lookups = known[inode]?.lookups else { return nil }
      if lookups > count {
        known[inode]!.lookups -= count
        return nil
      }
      return known.removeValue(forKey: inode)?.reference
    }
  }

  /// The connection to the kernel has ended.
  func forgetAll() {
    _ = known.withLock { known in
      defer { known = [:] }
      return known
    }
  }

  /// Begins a new generation, because what the kernel knows of this inode is outdated.
  func renew(_ inode: InodeNumber) { known.withLock { $0[inode]?.generation += 1 } }
}
