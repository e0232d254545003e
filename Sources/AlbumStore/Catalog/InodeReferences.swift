package import AlbumModel
import Posix

/// Counts who uses inodes for longer than one hold of the catalog's lock: open files, and callers that
/// know an inode by its number. An inode that loses its last name lives until its last reference is given
/// back. References are no part of history, so to take one changes nothing that a frame states.
package final class InodeReferences: Sendable {
  private struct State {
    var counts = PartedDictionary<InodeNumber, UInt32>()
    /// True for inodes that the catalog keeps for their references alone.
    var nameless = PartedDictionary<InodeNumber, Bool>()
  }

  /// A leaf: taken under the catalog's lock.
  private let state = Mutex(State(), rank: .leaf)

  /// Called with the catalog's lock held, so that the inode is there.
  package func take(_ inode: InodeNumber) {
    state.withLock { $0.counts[inode, default: 0] += 1 }
  }

  /// Returns true for the last reference of an inode that had no name when it was looked at last: then
  /// the caller calls `Catalog.removeIfUnused`. Called without the catalog's lock.
  package func giveBack(_ inode: InodeNumber) -> Bool {
    state.withLock { state in
      let rest = (state.counts[inode] ?? 1) - 1
      state.counts[inode] = rest == 0 ? nil : rest
      if rest > 0 || state.nameless[inode] == nil { return false }
      state.nameless[inode] = nil
      return true
    }
  }

  func contains(_ inode: InodeNumber) -> Bool { state.withLock { $0.counts[inode] != nil } }

  /// Returns true while an inode that has no name any more is to stay. Called with the catalog's lock held.
  func keep(_ inode: InodeNumber) -> Bool {
    state.withLock { state in
      if state.counts[inode] == nil { return false }
      state.nameless[inode] = true
      return true
    }
  }
}
