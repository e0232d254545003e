internal import AlbumModel
import Posix

/// Tells the kernel's caches what albumfs changed by itself: a thumbnail that came, a photo that was
/// tidied away, a file whose content was lost.
///
/// Such a message may wait in the kernel for a lock that the sender of a request holds, and so for
/// the answer to that request. Hence calls only put their message into a queue, under a lock that
/// nobody holds while waiting, and one thread sends; the same message waits there once.
///
/// Any thread. Before `start` and after `stop` there is no kernel to tell, and messages are dropped.
final class Notifications: Sendable {
  struct Name: Hashable {
    var directory: InodeNumber
    var name: FileName
  }

  struct State {
    var isOpen = false
    var names: Set<Name> = []
    var directories: Set<InodeNumber> = []
    var thread: PosixThread?
  }

  /// Innermost lock; never held while the kernel is told.
  let state = Monitor(State())

  /// Has the kernel ask for a name again when it is needed next. Returns at once.
  func forget(entry name: FileName, in directory: InodeNumber) {
    let isNews = state.withLock { state in
      if !state.isOpen { return false }
      // The kernel drops a listing it keeps only when it knew the name, which a new one it did not.
      state.directories.insert(directory)
      return state.names.insert(Name(directory: directory, name: name)).inserted
    }
    if isNews { state.notifyAll() }
  }

  /// Begins to send over this link.
  func start(_ link: SessionLink) throws(Errno) {
    try state.withLock { state throws(Errno) in
      state.isOpen = true
      state.thread = try PosixThread(name: "fuse-notify") { [self] in run(link) }
    }
  }

  /// Drops what waits and ends the thread. It may stand in the kernel until requests are answered:
  /// the session must still do so, or its connection have ended.
  func stop() {
    let thread = state.withLock { state in
      state.isOpen = false
      (state.names, state.directories) = ([], [])
      return state.thread.take()
    }
    state.notifyAll()
    thread?.join()
  }

  private func run(_ link: SessionLink) {
    while let (names, directories) = next() {
      for item in names { link.expire(item.name.bytes, in: item.directory.rawValue) }
      for directory in directories { link.invalidate(directory.rawValue) }
    }
  }

  /// Waits for messages; nil when no more come.
  private func next() -> (Set<Name>, Set<InodeNumber>)? {
    state.waiting { state -> (Set<Name>, Set<InodeNumber>)?? in
      if !state.isOpen { return .some(nil) }
      if state.names.isEmpty { return nil }
      defer { (state.names, state.directories) = ([], []) }
      return (state.names, state.directories)
    }
  }
}
