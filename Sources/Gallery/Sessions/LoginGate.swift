import Posix

/// Lets one attempt to log in through at a time. After a refusal all wait longer, whoever they are, and every
/// refusal comes after the same time whatever was wrong.
final class LoginGate: Sendable {
  private struct State {
    var last: Task<Void, Never>?
    var waiting = 0
    var refusals = 0
    var floor = Duration.milliseconds(500)
  }

  private let state = Mutex(State(), rank: .leaf)
  /// More attempts do not wait.
  private static let queueLimit = 16
  /// The delay that each refusal adds to that of the one before, up to the greatest.
  private static let delays = [0, 250, 500, 1000, 2000, 4000, 8000]

  /// A refusal takes at least two and a half times as long as one that was measured.
  func measured(_ time: Duration) {
    state.withLock { $0.floor = max($0.floor, time * 5 / 2) }
  }

  func pass<Result: Sendable>(
    _ attempt: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let turn = try state.withLock { state throws(GalleryError) -> Task<Result, any Error> in
      if state.waiting >= LoginGate.queueLimit {
        var error = GalleryError(.slow)
        error.numbers = [("retryAfter", 10)]
        throw error
      }
      state.waiting += 1
      let before = state.last
      let turn = Task {
        await before?.value
        return try await self.take(attempt)
      }
      state.last = Task { _ = try? await turn.value }
      return turn
    }
    return try await turn.value
  }

  private func take<Result: Sendable>(
    _ attempt: @Sendable () async throws -> Result
  ) async throws -> Result {
    let start = MonotonicTime.now
    do {
      let result = try await attempt()
      state.withLock { state in
        state.waiting -= 1
        state.refusals = 0
      }
      return result
    } catch {
      let (floor, delay) = state.withLock { state in
        let delay = LoginGate.delays[min(state.refusals, LoginGate.delays.count - 1)]
        state.refusals += 1
        return (state.floor, Duration.milliseconds(delay))
      }
      var end = start + floor
      // An attempt that took longer shows only how many times the usual time it took.
      while end < .now { end = end + floor }
      try? await Task.sleep(for: end + delay - .now)
      state.withLock { $0.waiting -= 1 }
      throw error
    }
  }
}
