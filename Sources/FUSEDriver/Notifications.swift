internal import AlbumFileSystem
package import AlbumModel
import Posix

/// Tells the kernel's caches what albumfs changed by itself: a thumbnail that came, a photo that was
/// tidied away.
///
/// Such a message may wait in the kernel for a lock that the sender of a request holds, and so for
/// the answer to that request. Hence calls only put their message into a queue, under a lock that
/// nobody holds while waiting, and one thread sends; the same message waits there once.
///
/// Any thread. Before `start` and after `stop` there is no kernel to tell, and messages are dropped.
package final class Notifications: KernelNotifier {
  private struct Name: Hashable {
    var directory: InodeNumber
    var name: FileName
  }

  private struct State {
    var isOpen = false
    var names: Set<Name> = []
    var inodes: Set<InodeNumber> = []
    var thread: ServiceThread?
  }

  /// Innermost lock; never held while the kernel is told.
  private let state = Mutex(State())
  private let news = Signal()

  package init() {}

  package func forget(entry name: FileName, in directory: InodeNumber) {
    post { state in
      let isNew = state.names.insert(Name(directory: directory, name: name)).inserted
      // The kernel drops a listing it keeps only when it knew the name, which a new one it did not.
      return state.inodes.insert(directory).inserted || isNew
    }
  }

  package func forget(contentOf inode: InodeNumber) {
    post { $0.inodes.insert(inode).inserted }
  }

  private func post(_ add: (inout State) -> Bool) {
    let isNews = state.withLock { $0.isOpen && add(&$0) }
    if isNews { news.post() }
  }

  /// Begins to send over this link.
  func start(_ link: SessionLink) {
    state.withLock { state in
      state.isOpen = true
      state.thread = ServiceThread { [self] in run(link) }
    }
  }

  /// Drops what waits and ends the thread. It may stand in the kernel until requests are answered:
  /// the session must still do so, or its connection have ended.
  func stop() {
    let thread = state.withLock { state in
      state.isOpen = false
      (state.names, state.inodes) = ([], [])
      return state.thread.take()
    }
    guard let thread else { return }
    news.post()
    thread.join()
  }

  private func run(_ link: SessionLink) {
    while true {
      news.wait()
      let (isOpen, names, inodes) = state.withLock { state in
        defer { (state.names, state.inodes) = ([], []) }
        return (state.isOpen, state.names, state.inodes)
      }
      if !isOpen { break }
      for item in names { link.expire(item.name.bytes, in: item.directory.rawValue) }
      for inode in inodes { link.invalidate(inode.rawValue) }
    }
  }
}
