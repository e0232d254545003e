import Glibc
import Posix

/// Threads that seal chunks of a large write beside the thread of its request. A copied photo of a megabyte
/// comes as one request, and sealing it on one processor leaves the others idle: `close` waits for that.
///
/// Nobody waits for a helper: the thread of the request takes back what none has begun. Any thread.
final class SealingHelp: Sendable {
  /// A smaller write is sealed before a helper is awake.
  static let leastChunks = 4
  /// More than the kernel sends in one request; others seal a greater write in parts.
  static let mostChunks = 32

  private struct Job {
    let content: FileContent
    let handover: Handover
  }

  private struct State {
    var jobs: [Job] = []
    var threads: [PosixThread] = []
    var isStopped = false
  }
  private let state = Monitor(State(), rank: .leaf)

  /// One helper for each further processor, three at most; none if no thread can start.
  private static var helperCount: Int { min(3, sysconf(CInt(_SC_NPROCESSORS_ONLN)) - 1) }

  deinit {
    // Where nobody called `stop`, as in tests.
    for thread in end() { thread.detach() }
  }

  /// Ends the helpers. What they have not begun is sealed by whoever needs it.
  func stop() { for thread in end() { thread.join() } }

  private func end() -> [PosixThread] {
    let threads = state.withLock { state in
      state.isStopped = true
      defer { state.threads = [] }
      return state.threads
    }
    state.notifyAll()
    return threads
  }

  /// Seals handovers of one file at their places, with the helpers. `seal` seals one on the calling thread.
  /// Returns when no handover waits; helpers may still seal some.
  func seal(_ handovers: [Handover], of content: FileContent, _ seal: (Handover) -> Void) {
    if handovers.count < SealingHelp.leastChunks || !offer(handovers.dropFirst(), of: content) {
      return handovers.forEach(seal)
    }
    seal(handovers[0])
    while let next = takeBack(of: content) { seal(next) }
  }

  private func offer(_ handovers: ArraySlice<Handover>, of content: FileContent) -> Bool {
    let isTaken = state.withLock { state in
      if state.isStopped { return false }
      if state.threads.isEmpty { startHelpers(&state) }
      // Helpers that are busy with other files would come too late.
      if state.threads.isEmpty || !state.jobs.isEmpty { return false }
      state.jobs = handovers.reversed().map { Job(content: content, handover: $0) }
      return true
    }
    if isTaken { state.notifyAll() }
    return isTaken
  }

  /// The next of the file in its order.
  private func takeBack(of content: FileContent) -> Handover? {
    state.withLock { state in
      guard let last = state.jobs.last, last.content === content else { return nil }
      return state.jobs.removeLast().handover
    }
  }

  private func startHelpers(_ state: inout State) {
    for _ in 0..<max(0, SealingHelp.helperCount) {
      let monitor = self.state
      let thread = try? PosixThread(name: "albumfs-sealer") {
        while let job = SealingHelp.next(monitor) { job.content.seal(helping: job.handover) }
      }
      if let thread { state.threads.append(thread) }
    }
  }

  private static func next(_ state: Monitor<State>) -> Job? {
    state.waiting { state -> Job?? in
      if state.isStopped { return .some(nil) }
      return state.jobs.isEmpty ? nil : .some(state.jobs.removeFirst())
    }
  }
}
