import AlbumFileSystem
import AlbumModel
import Posix

/// Remembers what changed.
final class FakeObserver: FileSystemObserver {
  private let heard = Mutex<[(change: FileSystemChange, isOwn: Bool)]>([], rank: .test)

  var changes: [FileSystemChange] { heard.withLock { $0.map(\.change) } }
  var ownChanges: [FileSystemChange] { heard.withLock { $0.filter(\.isOwn).map(\.change) } }

  /// Directories of Thumb whose times have changed.
  var times: Set<InodeNumber> { timed.withLock { $0 } }
  private let timed = Mutex<Set<InodeNumber>>([], rank: .test)

  func changed(_ change: FileSystemChange, isOwn: Bool) {
    if case .attributes(let directory) = change {
      timed.withLock { _ = $0.insert(directory) }
      return
    }
    heard.withLock { $0.append((change, isOwn)) }
  }
}
