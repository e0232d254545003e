import Posix

/// Lets one attempt to log in through at a time. After a refusal all wait longer, whoever they are, and every
/// refusal comes after the same time whatever was wrong. Clients take turns, so that one who tries many
/// passwords delays another by one attempt.
final class LoginGate: Sendable {
  /// An attempt that waits.
  private struct Turn {
    var number: UInt64
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var isTaken = false
    /// The clients that wait, in the order of their turns, and the attempts of each.
    var order: [Client] = []
    var waiting: [Client: [Turn]] = [:]
    var turns: UInt64 = 0
    var refusals = 0
    var time = RefusalTime()
  }

  private let state = Mutex(State(), rank: .leaf)
  /// More attempts do not wait: of all, and of one client.
  private static let limits = (all: 64, each: 16)
  /// The delay that each refusal adds to that of the one before, up to the greatest.
  private static let delays = [0, 1, 2, 4, 8, 16, 32].map {
    TestHooks.delay(.nextRefusal, .milliseconds(250)) * $0
  }

  /// Learns how long a wrong password takes.
  func measured(_ time: Duration) { state.withLock { $0.time.measured(time) } }

  /// Throws `slow` where too many wait, or what the attempt throws. A client that goes away while it waits
  /// (whose task is cancelled) gives up its turn. Once its attempt has begun, that shortens nothing.
  func pass<Result: Sendable>(
    _ client: Client, _ attempt: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await waitForTurn(client)
    // A task of its own: the request's ends early with its connection.
    return try await Task {
      defer { endTurn() }
      return try await take(attempt)
    }.value
  }

  private func waitForTurn(_ client: Client) async throws {
    let number = state.withLock { state in
      state.turns += 1
      return state.turns
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        begin(Turn(number: number, continuation: continuation), of: client)
      }
    } onCancel: {
      giveUp(number, of: client)
    }
  }

  /// When an attempt begins.
  private enum Start { case now, later, notNow, never }

  private func begin(_ turn: Turn, of client: Client) {
    let start = state.withLock { state -> Start in
      if !state.isTaken {
        state.isTaken = true
        return .now
      }
      // `giveUp` has come already, or comes after this.
      if Task.isCancelled { return .never }
      let all = state.waiting.values.reduce(0) { $0 + $1.count }
      let own = state.waiting[client]?.count ?? 0
      if all >= LoginGate.limits.all || own >= LoginGate.limits.each { return .notNow }
      if own == 0 { state.order.append(client) }
      state.waiting[client, default: []].append(turn)
      return .later
    }
    switch start {
    case .now: turn.continuation.resume()
    case .later: break
    case .never: turn.continuation.resume(throwing: CancellationError())
    case .notNow:
      var error = GalleryError(.slow)
      error.numbers = [("retryAfter", 10)]
      turn.continuation.resume(throwing: error)
    }
  }

  /// Ends the wait of a client that went away.
  private func giveUp(_ number: UInt64, of client: Client) {
    let turn = state.withLock { state -> Turn? in
      guard let place = state.waiting[client]?.firstIndex(where: { $0.number == number }) else {
        return nil
      }
      let turn = state.waiting[client]?.remove(at: place)
      if state.waiting[client]?.isEmpty == true {
        state.waiting[client] = nil
        state.order.removeAll { $0 == client }
      }
      return turn
    }
    turn?.continuation.resume(throwing: CancellationError())
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
    next?.continuation.resume()
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
      let taken = MonotonicTime.now - start
      let (floor, delay) = state.withLock { state in
        let delay = LoginGate.delays[min(state.refusals, LoginGate.delays.count - 1)]
        state.refusals += 1
        defer { state.time.measured(taken) }
        return (state.time.floor, delay)
      }
      var end = start + floor
      // An attempt that took longer shows only how many times the usual time it took.
      while end < .now { end = end + floor }
      try? await Task.sleep(for: end + delay - .now)
      throw error
    }
  }
}

/// How long every refusal takes, whatever was wrong: two and a half times as long as a wrong password took of
/// late, within bounds. The shortest of the last few times counts, because a machine that is busy for a while
/// makes some of them long.
struct RefusalTime {
  private var recent: [Duration] = []
  private static let count = 8
  private static let bounds = (
    least: TestHooks.delay(.refusal, .milliseconds(500)), most: Duration.seconds(4)
  )

  mutating func measured(_ time: Duration) {
    recent.append(time)
    if recent.count > RefusalTime.count { recent.removeFirst() }
  }

  var floor: Duration {
    let usual = (recent.min() ?? .zero) * 5 / 2
    return min(max(usual, RefusalTime.bounds.least), RefusalTime.bounds.most)
  }
}
