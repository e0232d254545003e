internal import Logging
internal import Posix
internal import Synchronization

/// The threads that serve the requests of a mount over io_uring. The kernel has a queue for each processor,
/// and passes each request on the queue of the processor that makes it. Each thread serves one queue, over a
/// ring of its own, so that a slow request delays no other.
///
/// `prepare` makes threads and rings before the mount. `connect` gives them to the kernel after both sides
/// have agreed on the protocol. From then on the device carries only what the kernel never sends over rings:
/// FORGET and INTERRUPT, and the driver's notifications. Any thread.
final class Rings: Sendable {
  /// Each queue begins with one thread. Another is started when none is free, up to this limit. Threads that
  /// wait for other requests do not count in it, because what they wait for needs a thread. All end with the
  /// mount, since the kernel gives a place up only with its ring.
  private static let threadLimit = 8

  private struct Member {
    let thread: PosixThread
    let progress: Progress
  }

  /// The progress of a thread's start.
  private enum Stage: Equatable { case starting, prepared, serving, failed(Errno) }
  private typealias Progress = Monitor<Stage>

  private struct State {
    var members: [Member] = []
    var session: RingSession?
    var connection: RingConnection?
    /// Why the rings are not used.
    var fault: RingFault?
    /// Nil before the first thread starts.
    var stopEvent: StopEvent?
    var isStopping = false
  }

  /// A leaf, never held while a thread waits for a request.
  private let state = Monitor(State(), rank: .leaf)
  private let isServing = Atomic(false)
  private let choice: TransportChoice
  private let logger: Logger

  /// nil: nobody watches.
  let trace: RequestTrace?

  init(_ choice: TransportChoice, trace: RequestTrace?, logger: Logger) {
    self.choice = choice
    self.trace = trace
    self.logger = logger
  }

  /// How requests come, after `connect`.
  var inUse: TransportInUse {
    isServing.load(ordering: .acquiring) ? .ring : .device(state.withLock { $0.fault })
  }

  /// True if `prepare` has made the rings.
  var arePrepared: Bool { state.withLock { !$0.members.isEmpty && !$0.isStopping } }

  // MARK: Start and end

  /// Makes the threads and their rings. If it cannot, and nobody insists on io_uring, the mount uses the
  /// device.
  func prepare() throws(MountError) {
    if choice == .device { return }
    do throws(RingFault) {
      try KernelRings.check()
      try makeThreads()
    } catch {
      stop()
      if choice == .ring { throw .noRing(error) }
      state.withLock { $0.fault = error }
    }
  }

  private func makeThreads() throws(RingFault) {
    do throws(Errno) {
      let stopEvent = try StopEvent()
      state.withLock { $0.stopEvent = stopEvent }
      let queues = (0..<(try KernelRings.queueCount())).map(RingQueue.init)
      // A rename could fail for lack of a thread.
      if !Ring.mayMake(2 * Rings.threadLimit * queues.count) { throw Errno.noMemory }
      var all: [Progress] = []
      for queue in queues { all.append(try start(on: queue)) }
      for progress in all { try Rings.wait(progress, until: .prepared) }
    } catch {
      throw .unavailable(error)
    }
  }

  /// Gives the prepared rings to the kernel, which has accepted the protocol. Requests wait in the kernel
  /// until each queue has one. Returns false, and ends the session, if the kernel refused a ring and the
  /// mount may not use the device.
  func connect(_ device: CInt) -> Bool {
    let (session, members) = state.withLock { state in
      if let session = state.session {
        state.connection = RingConnection(session: session, device: device)
      }
      return (state.session, state.members)
    }
    if members.isEmpty { return true }
    state.notifyAll()
    do throws(Errno) {
      for member in members { try Rings.wait(member.progress, until: .serving) }
      isServing.store(true, ordering: .releasing)
      return true
    } catch {
      // The kernel goes back to the device when it refuses one.
      stop()
      state.withLock { $0.fault = .refused(error) }
      if choice != .ring { return true }
      session?.end()
      return false
    }
  }

  /// Sets the session whose requests the threads will serve.
  func attach(_ session: RingSession) { state.withLock { $0.session = session } }

  /// Why the mount must end; nil if it need not.
  var fault: RingFault? { choice == .ring ? state.withLock { $0.fault } : nil }

  /// Ends the threads, after the requests that they serve now. Returns when they have ended. Not on one of
  /// them.
  func stop() {
    let members = state.withLock { state in
      state.isStopping = true
      state.stopEvent?.raise()
      defer { state.members = [] }
      return state.members
    }
    state.notifyAll()
    for member in members { member.thread.join() }
  }

  // MARK: Threads

  private func start(on queue: RingQueue) throws(Errno) -> Progress {
    let progress = Progress(.starting, rank: .leaf)
    try state.withLock { state throws(Errno) in
      if state.isStopping { throw Errno.interrupted }
      let thread = try PosixThread(name: "fuse-ring-\(queue.number)") { [self] in
        run(queue, progress)
      }
      state.members.append(Member(thread: thread, progress: progress))
    }
    return progress
  }

  private static func wait(_ progress: Progress, until wanted: Stage) throws(Errno) {
    try progress.waiting { stage throws(Errno) -> Void? in
      if case .failed(let error) = stage { throw error }
      return stage == wanted || stage == .serving ? () : nil
    }
  }

  private func run(_ queue: RingQueue, _ progress: Progress) {
    func advance(to stage: Stage) {
      progress.withLock { $0 = stage }
      progress.notifyAll()
    }
    let connection: RingConnection
    let thread: RingThread
    do throws(Errno) {
      thread = try makeThread(queue)
      advance(to: .prepared)
      guard let found = waitForConnection() else { return advance(to: .failed(.interrupted)) }
      connection = found
      try thread.register(connection)
      advance(to: .serving)
    } catch {
      return advance(to: .failed(error))
    }
    do throws(Errno) { try thread.serve(connection) } catch {
      logger.error("a thread that serves requests ended", metadata: ["reason": "\(error)"])
      // It counts as busy for ever, so another takes its place.
      begin(on: queue)
    }
  }

  private func makeThread(_ queue: RingQueue) throws(Errno) -> RingThread {
    guard let stopEvent = state.withLock({ $0.stopEvent }) else { throw .interrupted }
    return try RingThread(self, queue, stop: stopEvent)
  }

  private func waitForConnection() -> RingConnection? {
    state.waiting { state -> RingConnection?? in
      if state.isStopping { return .some(nil) }
      return state.connection.map { .some($0) }
    }
  }

  // MARK: Requests

  /// A thread begins to serve a request.
  func begin(on queue: RingQueue) {
    if !queue.isBusy(), !queue.couldNotGrow { _ = ensureFree(queue) }
  }

  /// A thread begins to wait for other requests. Returns false if no thread would be left for these.
  func beginWaiting(on queue: RingQueue) -> Bool {
    queue.beginWaiting()
    if queue.hasFree || ensureFree(queue) { return true }
    queue.endWaiting()
    return false
  }

  /// Starts another thread of a queue, unless it has as many as it may have. Those that do not wait for other
  /// requests become free by themselves. Returns false if it can start none.
  private func ensureFree(_ queue: RingQueue) -> Bool {
    guard queue.reserveThread(limit: Rings.threadLimit) else { return true }
    let isStarted = startAndWait(on: queue)
    queue.grew(isStarted)
    return isStarted
  }

  private func startAndWait(on queue: RingQueue) -> Bool {
    guard let progress = try? start(on: queue) else { return false }
    do throws(Errno) {
      try Rings.wait(progress, until: .serving)
      return true
    } catch {
      let failed = state.withLock { state in
        state.members.firstIndex { $0.progress === progress }.map { state.members.remove(at: $0) }
      }
      failed?.thread.join()
      return false
    }
  }
}

/// One of the kernel's queues, and what its threads do. Any thread.
final class RingQueue: Sendable {
  let number: Int
  /// The threads that wait for a request.
  private let free = Atomic(0)
  private struct Counts {
    var threads = 1
    /// The threads that wait for other requests of the kernel.
    var waiting = 0
    /// True if the last thread that was to start could not.
    var couldNotGrow = false
  }
  private let counts = Mutex(Counts(), rank: .leaf)

  init(_ number: Int) { self.number = number }

  var hasFree: Bool { free.load(ordering: .relaxed) > 0 }

  /// One more thread waits for a request.
  func isFree() { free.wrappingAdd(1, ordering: .relaxed) }

  /// One fewer. Returns false if none is left.
  func isBusy() -> Bool { free.wrappingSubtract(1, ordering: .relaxed).newValue > 0 }

  func beginWaiting() { counts.withLock { $0.waiting += 1 } }
  func endWaiting() { counts.withLock { $0.waiting -= 1 } }

  var couldNotGrow: Bool { counts.withLock { $0.couldNotGrow } }

  /// The thread that was reserved serves, or could not be started.
  func grew(_ isStarted: Bool) {
    counts.withLock { counts in
      counts.couldNotGrow = !isStarted
      if !isStarted { counts.threads -= 1 }
    }
  }

  /// Counts a thread that will be started. Returns false if there are enough.
  func reserveThread(limit: Int) -> Bool {
    counts.withLock { counts in
      if counts.threads - counts.waiting >= limit { return false }
      counts.threads += 1
      return true
    }
  }
}
