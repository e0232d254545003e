internal import AlbumModel
internal import Posix

/// Asks the kernel for what its writeback cache holds of files.
///
/// The kernel writes dirty pages out while a request of the same file waits for its answer: the
/// threads that answer requests must be free for those writes. So requests that need the pages first
/// wait here, on threads of their own.
///
/// Any thread. Before `start` and after `stop` there is no kernel to ask.
final class KernelPages: Sendable {
  /// So many files are written out at a time.
  private static let threadCount = 2

  private struct Job {
    var inodes: [InodeNumber]
    var offset: Int64
    var answer: @Sendable (_ isWritten: Bool) -> Void
  }

  private struct State {
    var link: SessionLink?
    var jobs: [Job] = []
    var threads: [PosixThread] = []
  }

  /// A leaf; never held while the kernel is asked.
  private let monitor = Monitor(State(), rank: .leaf)

  /// Begins to ask over this link.
  func start(_ link: SessionLink) throws(Errno) {
    try monitor.withLock { state throws(Errno) in
      state.link = link
      for _ in 0..<KernelPages.threadCount {
        state.threads.append(try PosixThread(name: "fuse-pages") { [self] in run(link) })
      }
    }
  }

  /// Finishes what waits and ends the threads. The session must still answer requests, or its
  /// connection have ended.
  func stop() {
    let threads = monitor.withLock { state in
      state.link = nil
      defer { state.threads = [] }
      return state.threads
    }
    monitor.notifyAll()
    for thread in threads { thread.join() }
  }

  /// Has the kernel write out the dirty pages of files from `offset` on, and calls `answer` after
  /// that, from a thread of its own; at once, with false, where there is no kernel to ask. The files
  /// must be open.
  func writeOut(
    _ inodes: [InodeNumber], from offset: Int64, then answer: @escaping @Sendable (Bool) -> Void
  ) {
    let isQueued = monitor.withLock { state in
      if state.link == nil { return false }
      state.jobs.append(Job(inodes: inodes, offset: offset, answer: answer))
      return true
    }
    if isQueued { monitor.notifyAll() } else { answer(false) }
  }

  /// Lets the kernel ask for a file's attributes again. Waits for nothing as long as a request of
  /// this file is open.
  func forgetAttributes(of inode: InodeNumber) {
    monitor.withLock { $0.link }?.forgetAttributes(of: inode.rawValue)
  }

  /// Whoever ends the session joins this thread first, so the link is good as long as it runs.
  private func run(_ link: SessionLink) {
    while let job = next() {
      for inode in job.inodes { link.writeOut(inode.rawValue, from: job.offset) }
      job.answer(true)
    }
  }

  /// Waits for the next job; nil when all are done and no more come.
  private func next() -> Job? {
    monitor.waiting { state -> Job?? in
      if !state.jobs.isEmpty { return .some(state.jobs.removeFirst()) }
      return state.link == nil ? .some(nil) : nil
    }
  }
}
