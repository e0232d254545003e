import Posix

/// The only place where async code calls synchronous file calls: a bounded number of threads. A file call may
/// wait long for the disk or for a daemon, and must not hold up a thread of Swift's concurrency.
final class BlockingBridge: Sendable {
  private struct State {
    /// The calls that wait for a thread; the first is at `next`.
    var waiting: [@Sendable () -> Void] = []
    var next = 0
  }

  private let state = Monitor(State(), rank: .leaf)

  /// Starts the threads, which end with the process.
  init(name: String, threads: Int) throws(Errno) {
    for _ in 0..<threads {
      try PosixThread(name: name) { [state] in
        while true { BlockingBridge.take(from: state)() }
      }.detach()
    }
  }

  /// Runs `body` on one of the threads.
  func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws
    -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      add { continuation.resume(with: Swift.Result { try body() }) }
    }
  }

  /// The same for what cannot fail.
  func runPlain<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in add { continuation.resume(returning: body()) } }
  }

  private func add(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.waiting.append(body) }
    state.notifyOne()
  }

  private static func take(from state: Monitor<State>) -> @Sendable () -> Void {
    state.waiting { state -> (@Sendable () -> Void)? in
      if state.next == state.waiting.count { return nil }
      let body = state.waiting[state.next]
      state.next += 1
      if state.next == state.waiting.count || state.next > 1024 {
        state.waiting.removeFirst(state.next)
        state.next = 0
      }
      return body
    }
  }
}
