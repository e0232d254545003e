internal import AlbumModel
internal import Posix

/// Where requests go: a limited number of lanes, which are made when they are needed and serve one thread
/// each at a time.
final class RemoteLanes: Sendable {
  private struct Idle {
    let lane: any RemoteLane
    /// Which credentials it has.
    let generation: Int
  }
  private struct State {
    var idle: [Idle] = []
    var count = 0
  }

  private let state = Monitor(State(), rank: .leaf)
  private let limit: Int
  private let make: @Sendable () throws(LaneFault) -> any RemoteLane

  init(_ limit: Int, _ make: @escaping @Sendable () throws(LaneFault) -> any RemoteLane) {
    self.limit = max(1, limit)
    self.make = make
  }

  /// Runs `body` with a lane and the generation that it was given back with; nil for a new one. A lane whose
  /// `body` throws is not used again.
  func use<Result>(
    _ generation: Int, _ body: (any RemoteLane, _ known: Int?) throws(LaneFault) -> Result
  ) throws(LaneFault) -> Result {
    let free = state.waiting { state -> Idle?? in
      if let idle = state.idle.popLast() { return .some(idle) }
      if state.count == limit { return nil }
      state.count += 1
      return .some(nil)
    }
    do throws(LaneFault) {
      let lane: any RemoteLane
      if let free { lane = free.lane } else { lane = try make() }
      let result = try body(lane, free?.generation)
      giveBack(Idle(lane: lane, generation: generation))
      return result
    } catch {
      giveBack(nil)
      throw error
    }
  }

  private func giveBack(_ idle: Idle?) {
    state.withLock { state in
      if let idle { state.idle.append(idle) } else { state.count -= 1 }
    }
    state.notifyOne()
  }
}
