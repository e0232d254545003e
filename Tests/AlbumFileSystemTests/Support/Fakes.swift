import AlbumFileSystem
import AlbumModel
import Posix

/// Remembers what changed.
final class FakeObserver: FileSystemObserver {
  private let heard = Mutex<[(change: FileSystemChange, isOwn: Bool)]>([], rank: .test)

  var changes: [FileSystemChange] { heard.withLock { $0.map(\.change) } }
  var ownChanges: [FileSystemChange] { heard.withLock { $0.filter(\.isOwn).map(\.change) } }

  func changed(_ change: FileSystemChange, isOwn: Bool) {
    heard.withLock { $0.append((change, isOwn)) }
  }
}
