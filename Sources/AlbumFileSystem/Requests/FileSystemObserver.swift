package import AlbumModel
import Posix

/// A change in a space.
package enum FileSystemChange: Equatable, Sendable {
  /// A name in a directory appeared, disappeared, or leads to another inode. `album` is the album that the
  /// directory belongs to, or the new album itself. Thumbnails that Thumb shows cause no such change: their
  /// names follow the photos.
  case name(FileName, in: InodeNumber, album: InodeNumber?, isThere: Bool)
  /// The last handle that wrote to a file was closed.
  case written(InodeNumber)
  /// A file lost content that could not be stored. It now reads as it is stored.
  case contentLost(InodeNumber)
  /// A photo has a new thumbnail, or albumfs cannot make one of it.
  case thumbnail(of: InodeNumber)
  /// A directory of Thumb has other times, because a thumbnail came or went, or another owner and other
  /// permissions, because its twin in Photo has.
  case attributes(of: InodeNumber)
}

/// Receives every change of names and content, whichever caller made it. One observer is the FUSE driver,
/// which makes the kernel forget outdated names and pages.
///
/// The call comes on the thread that made the change, after the catalog has it and before the request
/// returns, with no lock held. Changes of different threads may arrive at once, or in another order than they
/// happened. An observer that needs the current state asks `FileSystem`, and may use every call that changes
/// nothing. It returns soon, and waits neither for the kernel nor for a thread that makes a request.
package protocol FileSystemObserver: AnyObject, Sendable {
  /// `isOwn` is true if this observer requested exactly this change (`Caller.observer`). Side effects of its
  /// requests, such as a folder in Thumb that moves with the one in Photo, are not its own.
  func changed(_ change: FileSystemChange, isOwn: Bool)
}

/// The observers of one file system. Any thread.
final class Observers: Sendable {
  /// A leaf: no observer is called under it.
  private let observers = Mutex<[any FileSystemObserver]>([], rank: .leaf)

  func add(_ observer: any FileSystemObserver) { observers.withLock { $0.append(observer) } }

  func remove(_ observer: any FileSystemObserver) {
    observers.withLock { $0.removeAll { $0 === observer } }
  }

  /// Calls each observer. Hold no lock.
  func notify(_ change: FileSystemChange, askedBy caller: Caller? = nil) {
    for observer in observers.withLock({ $0 }) {
      observer.changed(change, isOwn: caller?.observer === observer)
    }
  }
}
