internal import AlbumModel
internal import Posix

/// Makes the kernel write out the pages of files in its writeback cache.
///
/// The kernel sends these writes while a request for the same file waits for its reply, so the threads that
/// serve requests must be free for them. Requests that need the pages first therefore wait here, on other
/// threads. A request of a ring keeps the ring's thread as well (`RingThread.waitForPages`).
///
/// Any thread. Before `start` and after `stop` there is no kernel.
final class KernelPages: Sendable {
  /// The number of files that are written out at a time.
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

  /// A leaf; never held during a call to the kernel.
  private let monitor = Monitor(State(), rank: .leaf)

  /// Starts the threads, which use this link.
  func start(_ link: SessionLink) throws(Errno) {
    try monitor.withLock { state throws(Errno) in
      state.link = link
      for _ in 0..<KernelPages.threadCount {
        state.threads.append(try PosixThread(name: "fuse-pages") { [self] in run(link) })
      }
    }
  }

  /// Finishes the waiting jobs and ends the threads. The session must still serve requests, or its connection
  /// must have ended.
  func stop() {
    let threads = monitor.withLock { state in
      state.link = nil
      defer { state.threads = [] }
      return state.threads
    }
    monitor.notifyAll()
    for thread in threads { thread.join() }
  }

  /// Makes the kernel write out the dirty pages of open files from `offset` on. Then calls `answer` from
  /// another thread. If there is no kernel, calls it at once, with false.
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

  /// Does the same, and returns when the pages are written. Returns false if there is no kernel.
  func writeOut(_ inodes: [InodeNumber], from offset: Int64) -> Bool {
    let outcome = Monitor<Bool?>(nil, rank: .leaf)
    writeOut(inodes, from: offset) { isWritten in
      outcome.withLock { $0 = isWritten }
      outcome.notifyAll()
    }
    return outcome.waiting { $0 }
  }

  /// Makes the kernel request a file's attributes again. Does not wait while a request for this file is open.
  func forgetAttributes(of inode: InodeNumber) {
    monitor.withLock { $0.link }?.forgetAttributes(of: inode.rawValue)
  }

  /// `stop` joins this thread before the session ends, so the link is valid while the thread runs.
  private func run(_ link: SessionLink) {
    while let job = next() {
      for inode in job.inodes { link.writeOut(inode.rawValue, from: job.offset) }
      job.answer(true)
    }
  }

  /// Waits for the next job. Returns nil when all are done and no more will come.
  private func next() -> Job? {
    monitor.waiting { state -> Job?? in
      if !state.jobs.isEmpty { return .some(state.jobs.removeFirst()) }
      return state.link == nil ? .some(nil) : nil
    }
  }
}
