import NIOCore

/// Runs the steps of a task on an event loop. What arrives on a connection is then taken by the thread that
/// read it, while the processor's caches still have it, and wakes no other.
///
/// Such a task must not call what blocks or computes for long: all connections of the loop would wait.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
