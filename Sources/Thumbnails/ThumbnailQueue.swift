internal import Glibc
package import Logging
package import Posix

/// Makes thumbnails of what its source hands out, in worker processes that hold nothing else.
///
/// Threads of its own pull photos, one each; a worker process starts with the first picture, and
/// ends when none came for half a minute, or when it has had its share. One that crashes, hangs or eats
/// its memory is replaced and costs that picture its thumbnail, nothing else. A picture that takes long
/// is given up, and gets its time from one more thread when no other waits. Where no worker can be
/// started nothing is answered, and it is tried again, less and less often.
///
/// A worker belongs to one thread of one queue, and a queue to one space: no process sees the pictures
/// of two.
package final class ThumbnailQueue: Sendable {
  private let stopBell: Doorbell
  private let bells: [Doorbell]
  private let availability: Availability
  private let threads: Mutex<[PosixThread]>

  /// Starts the threads. Pictures are read from the source from now on.
  ///
  /// - Parameters:
  ///   - launch: what starts as a worker, and within which bounds.
  ///   - workers: how many pictures are decoded at once; one process each.
  /// - Throws: when the process has no descriptors or threads left.
  package init(
    source: any PhotoSource, launch: WorkerLaunch,
    workers: Int = ThumbnailQueue.defaultWorkerCount, logger: Logger
  ) throws(Errno) {
    stopBell = try Doorbell()
    availability = Availability(ThumbnailQueue.problem(with: launch.program))
    let longBell = try Doorbell()
    let longAttempts = LongAttempts(bell: longBell)
    var bells: [Doorbell] = []
    for _ in 0..<max(1, workers) { bells.append(try Doorbell()) }
    let (stop, known) = (stopBell, availability)
    func thread(_ part: WorkerThread.Part, _ bell: Doorbell) -> WorkerThread {
      WorkerThread(
        part, longAttempts, bell: bell, source: source, launch: launch, stop: stop,
        availability: known, logger: logger)
    }
    let made = bells.map { thread(.first, $0) } + [thread(.long, longBell)]
    self.bells = bells
    threads = Mutex([], rank: .leaf)
    for thread in made {
      let started = try PosixThread(name: "thumbnails") { thread.run() }
      threads.withLock { $0.append(started) }
    }
  }

  /// As many as there are processors, at least 1.
  package static var defaultWorkerCount: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) }

  /// Says that the source may have something. Any thread; cheap, does not block.
  package func wake() { for bell in bells { bell.ring() } }

  /// Ends the workers and joins the threads. What they had in hand stays unanswered. Any thread but
  /// the queue's own; the second call has nothing to do.
  package func stop() {
    stopBell.ring()
    let running = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    for thread in running { thread.join() }
  }

  deinit { stop() }

  /// Whether workers can be started, as far as known.
  package var isAvailable: Bool { availability.current == nil }

  /// Why not, for a person to read; nil when they can.
  package var unavailableReason: String? { availability.current }

  private static func problem(with program: String) -> String? {
    unsafe access(program, X_OK) == 0 ? nil : "cannot start \(program): \(Errno.last)"
  }
}
