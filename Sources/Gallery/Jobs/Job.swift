import Posix

/// Work on many photos that a person watches and may stop. Any thread.
final class Job: Sendable {
  enum Kind: String, Decodable {
    case delete, move, copy
    /// Loads pictures from the web.
    case load = "import"
  }
  enum Phase: String { case pending, running, done, cancelled }

  struct Fault: Sendable {
    var id: String
    var name: String
    var error: GalleryError.Code
  }

  private struct State {
    var phase: Phase
    var done = 0
    var total: Int
    var faults: [Fault] = []
    var isCancelled = false
    var isHurried = false
    /// What is to happen at once if a user undoes the job.
    var regret: (@Sendable () -> Void)?
    /// Of the file that is being loaded: the bytes that are there, and its size if that is known.
    var bytes: Int64 = 0
    var size: Int64?
  }

  let id = RandomText.make(12)
  let kind: Kind
  private let state: Mutex<State>
  /// More are only counted.
  private static let faultLimit = 1000

  /// How long a user may undo a deletion.
  static let undoTime = TestHooks.delay(.undo, .seconds(10))

  init(_ kind: Kind, total: Int) {
    self.kind = kind
    state = Mutex(State(phase: kind == .delete ? .pending : .running, total: total), rank: .leaf)
  }

  /// Waits until the time to undo is over. Returns false if a user has undone the job.
  func waitForRegret() async -> Bool {
    let end = MonotonicTime.now + Job.undoTime
    while MonotonicTime.now < end, !state.withLock({ $0.isHurried || $0.isCancelled }) {
      try? await Task.sleep(for: .milliseconds(50))
    }
    return state.withLock { state in
      if state.isCancelled { return false }
      state.phase = .running
      return true
    }
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func cancel() {
    let regret = state.withLock { state -> (@Sendable () -> Void)? in
      let isUndone = state.phase == .pending
      if isUndone { state.phase = .cancelled }
      if state.phase != .done { state.isCancelled = true }
      return isUndone ? state.regret : nil
    }
    regret?()
  }

  /// Runs `body` if a user undoes the job, before the call that does so returns.
  func whenUndone(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.regret = body } }

  func hurry() { state.withLock { $0.isHurried = true } }

  /// One more item is done, with or without success.
  func advance(_ fault: Fault? = nil) {
    state.withLock { state in
      state.done += 1
      (state.bytes, state.size) = (0, nil)
      guard let fault, state.faults.count < Job.faultLimit else { return }
      state.faults.append(fault)
    }
  }

  /// How far the item at hand is.
  func isAt(_ bytes: Int64, of size: Int64?) {
    state.withLock { ($0.bytes, $0.size) = (bytes, size) }
  }

  var isRunning: Bool { state.withLock { $0.phase == .running } }

  func end() { state.withLock { $0.phase = $0.isCancelled ? .cancelled : .done } }

  func write(to text: inout JSONText) {
    let state = state.withLock { $0 }
    text.object { text in
      text.field("id", id)
      text.field("kind", kind.rawValue)
      text.field("state", state.phase.rawValue)
      text.field("done", Int64(state.done))
      text.field("total", Int64(state.total))
      if kind == .load {
        text.field("bytes", state.bytes)
        text.field("size", state.size)
      }
      text.field("errors", each: state.faults) { text, fault in
        text.object { text in
          text.field("id", fault.id)
          text.field("name", fault.name)
          text.field("error", fault.error.rawValue)
        }
      }
    }
  }
}

/// The jobs of a session. Any thread.
final class JobTable: Sendable {
  private let jobs = Mutex<[(id: String, job: Job)]>([], rank: .leaf)
  /// A person has forgotten older ones.
  private static let limit = 256
  private static let loadingLimit = 2

  func add(_ job: Job) {
    jobs.withLock { jobs in
      jobs.append((job.id, job))
      if jobs.count > JobTable.limit { jobs.removeFirst() }
    }
  }

  /// Adds a job that loads from the web, of which a session has few at once.
  func addLoading(_ job: Job) throws(GalleryError) {
    let running = jobs.withLock { $0 }.count { $0.job.kind == .load && $0.job.isRunning }
    if running >= JobTable.loadingLimit { throw GalleryError(.busy) }
    add(job)
  }

  func job(_ id: String) throws(GalleryError) -> Job {
    guard let job = jobs.withLock({ jobs in jobs.first { $0.id == id }?.job }) else {
      throw GalleryError(.unknown)
    }
    return job
  }

  func cancelAll() { for (_, job) in jobs.withLock({ $0 }) { job.cancel() } }
}
