package import AlbumModel
import Posix

/// Remembers what callers found by climbing from directories towards the root, so that work deep in a tree
/// need not climb again. It contains nothing that the catalog does not, and may be cleared at any time.
///
/// A moved directory moves everything below it, so that clears all. A removed directory is never looked up
/// again, because inode numbers are not reused. Any thread.
package final class DirectoryMemo: Sendable {
  private struct State {
    var parts: [InodeNumber: InodeNumber?] = [:]
    var counterparts: [InodeNumber: InodeNumber] = [:]
  }

  /// The greatest number of directories to remember.
  private static let limit = 1 << 16

  /// A leaf: taken under the catalog's lock.
  private let state = Mutex(State(), rank: .leaf)

  /// The nearest directory above that is a part of an album; inner nil: there is none, outer nil: unknown.
  package func part(of directory: InodeNumber) -> InodeNumber?? {
    state.withLock { $0.parts[directory] }
  }

  /// Remembers that for all these directories.
  package func remember(part: InodeNumber?, of directories: [InodeNumber]) {
    state.withLock { state in
      if state.parts.count + directories.count > DirectoryMemo.limit { state.parts = [:] }
      for directory in directories { state.parts[directory] = .some(part) }
    }
  }

  /// The corresponding directory in the other part of its album, if known. It may have been removed since.
  package func counterpart(of directory: InodeNumber) -> InodeNumber? {
    state.withLock { $0.counterparts[directory] }
  }

  /// Remembers that two directories correspond.
  package func remember(counterparts one: InodeNumber, _ other: InodeNumber) {
    state.withLock { state in
      if state.counterparts.count > DirectoryMemo.limit { state.counterparts = [:] }
      state.counterparts[one] = other
      state.counterparts[other] = one
    }
  }

  /// A directory has moved.
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
