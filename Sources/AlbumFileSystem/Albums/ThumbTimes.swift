import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

// Entries come and go in Thumb without a request, when photos do and when thumbnails are made. The times of
// its directories follow. They are kept in memory, and stated when the space is unmounted: a record for each
// thumbnail would lengthen the journal.

/// The times at which thumbnails came or went. Any thread.
final class ThumbTimes: Sendable {
  private struct State {
    /// By directory of Thumb.
    var times: [InodeNumber: Timestamp] = [:]
    /// The directories of photos that wait for a thumbnail.
    var homes: [InodeNumber: InodeNumber] = [:]
    /// Where a photo was found last. Its neighbours are probably next.
    var lastHome: InodeNumber?
  }

  /// A leaf: nothing else is locked under it.
  private let state = Mutex(State(), rank: .leaf)

  func time(of directory: InodeNumber) -> Timestamp? { state.withLock { $0.times[directory] } }

  func set(_ directory: InodeNumber, _ time: Timestamp) {
    state.withLock { $0.times[directory] = time }
  }

  /// A caller set the times of the directory.
  func forget(_ directory: InodeNumber) { state.withLock { $0.times[directory] = nil } }

  func takeAll() -> [InodeNumber: Timestamp] {
    state.withLock { state in
      defer { state.times = [:] }
      return state.times
    }
  }

  func learn(_ photo: InodeNumber, in directory: InodeNumber) {
    state.withLock { state in
      state.homes[photo] = directory
      state.lastHome = directory
    }
  }

  func takeHome(of photo: InodeNumber) -> InodeNumber? {
    state.withLock { $0.homes.removeValue(forKey: photo) }
  }

  var lastHome: InodeNumber? { state.withLock { $0.lastHome } }
}
