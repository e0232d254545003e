import Posix

/// Lets one attempt to log in through at a time. After a refusal all wait longer, whoever they are, and every
/// refusal comes after the same time whatever was wrong. Clients take turns, so that one who tries many
/// passwords delays another by one attempt.
final class LoginGate: Sendable {
  private typealias Turn = CheckedContinuation<Void, any Error>

  private struct State {
    var isTaken = false
    /// The clients that wait, in the order of their turns, and the attempts of each.
    var order: [Client] = []
    var waiting: [Client: [Turn]] = [:]
    var refusals = 0
    var floor = TestHooks.delay(.refusal, .milliseconds(500))
  }

  private let state = Mutex(State(), rank: .leaf)
  /// More attempts do not wait: of all, and of one client.
  private static let limits = (all: 64, each: 16)
  /// The delay that each refusal adds to that of the one before, up to the greatest.
  private static let delays = [0, 1, 2, 4, 8, 16, 32].map {
    TestHooks.delay(.nextRefusal, .milliseconds(250)) * $0
  }

  /// A refusal takes at least two and a half times as long as one that was measured.
  func measured(_ time: Duration) {
    state.withLock { $0.floor = max($0.floor, time * 5 / 2) }
  }

  /// Throws `slow` where too many wait, or what the attempt throws. A client that goes away shortens nothing.
  func pass<Result: Sendable>(
    _ client: Client, _ attempt: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    // A task of its own: the request's ends early with its connection.
    try await Task {
      try await waitForTurn(client)
      defer { endTurn() }
      return try await take(attempt)
    }.value
  }

  private func waitForTurn(_ client: Client) async throws {
    try await withCheckedThrowingContinuation { (turn: Turn) in
      let isNow = state.withLock { state -> Bool? in
        if !state.isTaken {
          state.isTaken = true
          return true
        }
        let all = state.waiting.values.reduce(0) { $0 + $1.count }
        let own = state.waiting[client]?.count ?? 0
        if all >= LoginGate.limits.all || own >= LoginGate.limits.each { return nil }
        if own == 0 { state.order.append(client) }
        state.waiting[client, default: []].append(turn)
        return false
      }
      switch isNow {
      case true?: turn.resume()
      case false?: break
      case nil:
        var error = GalleryError(.slow)
        error.numbers = [("retryAfter", 10)]
        turn.resume(throwing: error)
      }
    }
  }

  private func endTurn() {
    let next = state.withLock { state -> Turn? in
      if state.order.isEmpty {
        state.isTaken = false
        return nil
      }
      let client = state.order.removeFirst()
      let turn = state.waiting[client]?.removeFirst()
      if state.waiting[client]?.isEmpty == false {
        state.order.append(client)
      } else {
        state.waiting[client] = nil
      }
      return turn
    }
    next?.resume()
  }

  private func take<Result: Sendable>(
    _ attempt: @Sendable () async throws -> Result
  ) async throws -> Result {
    let start = MonotonicTime.now
    do {
      let result = try await attempt()
      state.withLock { $0.refusals = 0 }
      return result
    } catch {
      let (floor, delay) = state.withLock { state in
        let delay = LoginGate.delays[min(state.refusals, LoginGate.delays.count - 1)]
        state.refusals += 1
        return (state.floor, delay)
      }
      var end = start + floor
      // An attempt that took longer shows only how many times the usual time it took.
      while end < .now { end = end + floor }
      try? await Task.sleep(for: end + delay - .now)
      throw error
    }
  }
}
