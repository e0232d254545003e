internal import Glibc
package import Logging
package import Posix

/// Makes thumbnails of its source's photos, in worker processes that hold nothing else.
///
/// Each of its threads takes one photo at a time. A worker process starts with the first picture. It ends
/// when no picture arrived for half a minute, or after a fixed number of pictures. If a worker crashes,
/// hangs or exhausts its memory, the queue replaces it, and only that picture gets no thumbnail. A picture
/// that takes long is postponed; one more thread decodes it when no other picture waits. If no worker can be
/// started, the photos keep waiting, and the queue tries again at growing intervals.
///
/// Videos have one thread and a program of their own. Without it they get no thumbnail, and do not wait.
///
/// A worker belongs to one thread of one queue, and a queue to one space. So no process sees the pictures of
/// two spaces.
package final class ThumbnailQueue: Sendable {
  private let stopBell: Doorbell
  private let bells: [Doorbell]
  private let availability: Availability
  private let videoAvailability: Availability?
  private let threads: Mutex<[PosixThread]>

  /// Starts the threads, which read pictures from the source from now on.
  ///
  /// - Parameters:
  ///   - launch: the program of the workers and their limits.
  ///   - videos: the same for videos; nil if there is none.
  ///   - workers: the number of pictures to decode at once, in one process each.
  /// - Throws: if the process has no descriptors or threads left.
  package init(
    source: any PhotoSource, launch: WorkerLaunch, videos: WorkerLaunch? = nil,
    workers: Int = ThumbnailQueue.defaultWorkerCount, logger: Logger
  ) throws(Errno) {
    stopBell = try Doorbell()
    availability = Availability(ThumbnailQueue.problem(with: launch.program))
    let longBell = try Doorbell()
    let longAttempts = LongAttempts(bell: longBell)
    var bells: [Doorbell] = []
    for _ in 0..<max(1, workers) { bells.append(try Doorbell()) }
    let videoAttempts = videos == nil ? nil : VideoAttempts(bell: try Doorbell())
    let ofVideos = videos.map { Availability(ThumbnailQueue.problem(with: $0.program)) }
    videoAvailability = ofVideos
    let (stop, known) = (stopBell, availability)
    let precedence = CopyPrecedence(processors: launch.processors)
    func thread(
      _ part: WorkerThread.Part, _ bell: Doorbell, _ launch: WorkerLaunch, _ known: Availability
    ) -> WorkerThread {
      WorkerThread(
        part, longAttempts, videoAttempts, bell: bell, source: source, launch: launch, stop: stop,
        availability: known, precedence: precedence, logger: logger)
    }
    var made = bells.map { thread(.first, $0, launch, known) }
    made.append(thread(.long, longBell, launch, known))
    if let videos, let videoAttempts, let ofVideos {
      made.append(thread(.videos, videoAttempts.bell, videos, ofVideos))
    }
    self.bells = bells
    threads = Mutex([], rank: .leaf)
    for thread in made {
      let started = try PosixThread(name: "thumbnails") { thread.run() }
      threads.withLock { $0.append(started) }
    }
  }

  /// One for each processor, at least 1.
  package static var defaultWorkerCount: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) }

  /// Tells the queue that the source may have photos. Any thread; cheap, does not block.
  package func wake() { for bell in bells { bell.ring() } }

  /// Ends the workers and joins the threads. Their photos keep waiting. Any thread except the queue's own; a
  /// second call does nothing.
  package func stop() {
    stopBell.ring()
    let running = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    for thread in running { thread.join() }
  }

  deinit { stop() }

  /// Why workers cannot be started; nil if they can.
  package var unavailability: WorkerFault? { availability.current }

  /// Why videos get no thumbnails; nil if they do, or if there is no program for them.
  package var videoUnavailability: WorkerFault? { videoAvailability?.current }

  private static func problem(with program: String) -> WorkerFault? {
    PathCalls.isExecutable(program) ? nil : .notStarted(program: program, .last)
  }
}

/// Why no worker can be started; nil if one can. Any thread.
final class Availability: Sendable {
  private let problem: Mutex<WorkerFault?>

  init(_ problem: WorkerFault?) { self.problem = Mutex(problem, rank: .leaf) }

  var current: WorkerFault? { problem.withLock { $0 } }

  /// Returns true if the problem has changed.
  func set(_ new: WorkerFault?) -> Bool {
    problem.withLock { current in
      defer { current = new }
      return current != new
    }
  }
}
