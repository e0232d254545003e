internal import AlbumModel
import Posix

/// Invalidates the kernel's caches after changes that albumfs made by itself: a new thumbnail, a photo that
/// was tidied away, a file whose content was lost.
///
/// Such a message may wait in the kernel for a lock that the sender of a request holds, and so for the reply
/// to that request. So calls only put their message into a queue, under a lock that no thread holds while it
/// waits, and one thread sends. Equal messages wait there once.
///
/// Any thread. Before `start` and after `stop` there is no kernel, and messages are dropped.
final class Notifications: Sendable {
  struct Name: Hashable {
    var directory: InodeNumber
    var name: FileName
  }

  struct State {
    var isOpen = false
    var names: Set<Name> = []
    var directories: Set<InodeNumber> = []
    /// Inodes whose attributes the kernel must ask for.
    var attributes: Set<InodeNumber> = []
    var thread: PosixThread?
  }

  /// A leaf; never held during a call to the kernel.
  let state = Monitor(State(), rank: .leaf)

  /// Makes the kernel look a name up again when it needs it next. Returns at once.
  func forget(entry name: FileName, in directory: InodeNumber) {
    let isNews = state.withLock { state in
      if !state.isOpen { return false }
      // The kernel drops a cached listing only if it knew the name. It does not know a new one.
      state.directories.insert(directory)
      return state.names.insert(Name(directory: directory, name: name)).inserted
    }
    if isNews { state.notifyAll() }
  }

  /// Makes the kernel ask for the attributes of an inode when it needs them next. Returns at once.
  func forget(attributes inode: InodeNumber) {
    let isNews = state.withLock { state in
      state.isOpen && state.attributes.insert(inode).inserted
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

  /// Drops waiting messages and ends the thread. The thread may wait in the kernel for replies to requests,
  /// so the session must still serve them, or its connection must have ended.
  func stop() {
    let thread = state.withLock { state in
      state.isOpen = false
      (state.names, state.directories, state.attributes) = ([], [], [])
      return state.thread.take()
    }
    state.notifyAll()
    thread?.join()
  }

  private func run(_ link: SessionLink) {
    while let (names, directories, attributes) = next() {
      for item in names { link.expire(item.name.bytes, in: item.directory.rawValue) }
      for directory in directories { link.invalidate(directory.rawValue) }
      for inode in attributes.subtracting(directories) { link.forgetAttributes(of: inode.rawValue) }
    }
  }

  /// Waits for messages. Returns nil when no more will come.
  private func next() -> (Set<Name>, directories: Set<InodeNumber>, attributes: Set<InodeNumber>)? {
    state.waiting { state -> (Set<Name>, Set<InodeNumber>, Set<InodeNumber>)?? in
      if !state.isOpen { return .some(nil) }
      if state.names.isEmpty, state.attributes.isEmpty { return nil }
      defer { (state.names, state.directories, state.attributes) = ([], [], []) }
      return (state.names, state.directories, state.attributes)
    }
  }
}
