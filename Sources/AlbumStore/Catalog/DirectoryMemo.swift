package import AlbumModel
import Posix

/// What callers found by climbing from directories towards the root, so that work deep in a tree does
/// not climb all of it again. Never more than what the catalog says: it may be forgotten at any time.
///
/// A directory that moves takes all below it along, so everything is forgotten then. What is known of a
/// directory that is gone is never asked for: numbers of inodes are not given out twice.
package final class DirectoryMemo: Sendable {
  private struct State {
    var parts: [InodeNumber: InodeNumber?] = [:]
    var counterparts: [InodeNumber: InodeNumber] = [:]
  }

  /// More directories than this are not remembered.
  private static let limit = 1 << 16

  /// A leaf: it is taken under the catalog's lock.
  private let state = Mutex(State(), rank: .leaf)

  /// The nearest directory above that is a part of an album; inner nil: there is none, outer nil: not
  /// known.
  package func part(of directory: InodeNumber) -> InodeNumber?? {
    state.withLock { $0.parts[directory] }
  }

  /// Remembers that of all these directories.
  package func remember(part: InodeNumber?, of directories: [InodeNumber]) {
    state.withLock { state in
      if state.parts.count + directories.count > DirectoryMemo.limit { state.parts = [:] }
      for directory in directories { state.parts[directory] = .some(part) }
    }
  }

  /// The directory that belongs to this one in another part of its album, if it is known. It may have
  /// been removed since.
  package func counterpart(of directory: InodeNumber) -> InodeNumber? {
    state.withLock { $0.counterparts[directory] }
  }

  /// Remembers that two directories belong to one another.
  package func remember(counterparts one: InodeNumber, _ other: InodeNumber) {
    state.withLock { state in
      if state.counterparts.count > DirectoryMemo.limit { state.counterparts = [:] }
      state.counterparts[one] = other
      state.counterparts[other] = one
    }
  }

  /// A directory gets a new place.
  func forget(_ directory: InodeNumber, andBelow: Bool) {
    state.withLock { state in
      if andBelow { return state = State() }
      state.parts[directory] = nil
      if let other = state.counterparts.removeValue(forKey: directory) {
        state.counterparts[other] = nil
      }
    }
  }
}
