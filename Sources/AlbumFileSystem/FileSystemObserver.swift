package import AlbumModel
import Posix

/// Something that changed in a space.
package enum FileSystemChange: Equatable, Sendable {
  /// A name of a directory came, went, or leads to another inode. `album`: where the directory belongs,
  /// or the new album itself. What a Thumb shows by itself has no changes of names: it follows the photos.
  case name(FileName, in: InodeNumber, album: InodeNumber?, isThere: Bool)
  /// The last of those who had a file open for writing has closed it.
  case written(InodeNumber)
  /// A file lost content that it had taken over and could not store: it is as it was stored.
  case contentLost(InodeNumber)
  /// A photo has a new thumbnail, or none can be made of it.
  case thumbnail(of: InodeNumber)
}

/// Hears of every change of names and content, whoever made it: the FUSE driver, which has the kernel
/// forget what it knows, is one observer.
///
/// A call comes on the thread that made the change, after the catalog has it and before the request that
/// made it returns. No lock is held. Changes of different threads may come in another order than they
/// happened, or at once: an observer that wants to know how things are asks `FileSystem`. It may ask
/// everything that changes nothing. It returns soon, and waits neither for the kernel nor for a thread
/// that makes a request.
package protocol FileSystemObserver: AnyObject, Sendable {
  /// `isOwn`: this observer asked for exactly this change (`Caller.observer`). The other effects of its
  /// requests, such as a folder in Thumb that moves with the one in Photo, are not its own.
  func changed(_ change: FileSystemChange, isOwn: Bool)
}

/// The observers of one file system. Any thread.
final class Observers: Sendable {
  /// A leaf: observers are called without it.
  private let observers = Mutex<[any FileSystemObserver]>([])

  func add(_ observer: any FileSystemObserver) { observers.withLock { $0.append(observer) } }

  func remove(_ observer: any FileSystemObserver) {
    observers.withLock { $0.removeAll { $0 === observer } }
  }

  /// Called without a lock.
  func tell(_ change: FileSystemChange, askedBy caller: Caller? = nil) {
    for observer in observers.withLock({ $0 }) {
      observer.changed(change, isOwn: caller?.observer === observer)
    }
  }
}
