import AlbumFileSystem
import AlbumModel
import Posix

/// The inodes that the kernel knows, each with the lookups that it has not given back by a FORGET: as long
/// as there is one, the inode stays in the space though it may have no name. Any thread.
final class KernelInodes: Sendable {
  private struct Known {
    let reference: InodeReference
    var lookups: UInt64 = 0
    /// The life of its number that the inode is in, as the kernel is told with every name.
    ///
    /// The kernel owns the pages of a file and its size, as long as it knows the inode, and believes no
    /// answer that says otherwise. Where content that it had handed over was lost, it would go on showing
    /// that. Another generation makes it a file that the kernel has never seen.
    var generation: UInt64 = 0
  }

  /// A leaf. References end without it.
  private let known = Mutex<[InodeNumber: Known]>([:])

  /// Counts a lookup; returns the generation.
  func count(_ reference: InodeReference) -> UInt64 {
    known.withLock { known in
      known[reference.inode, default: Known(reference: reference)].lookups += 1
      return known[reference.inode]!.generation
    }
  }

  /// Gives back `count` lookups.
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

  /// What the kernel knows of this inode is of the past.
  func renew(_ inode: InodeNumber) { known.withLock { $0[inode]?.generation += 1 } }
}
