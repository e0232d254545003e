import AlbumModel
import Posix

/// The state of compaction in one session. The caller that has the turn owns it.
struct CompactionWork {
  var plan = CompactionPlan()
  /// Content in them does not decrypt: they stay, and this session does not try again.
  var unreadable: Set<SegmentNumber> = []
  /// Something kept them alive that is not in the catalog yet: left alone until the next survey.
  var deferred: Set<SegmentNumber> = []
  /// `SegmentLedger.released` at the last survey; nil: there was none.
  var releasedAtSurvey: Int64?
  /// The earliest time of the next attempt, after an obstacle.
  var retryAt: MonotonicTime?
}

/// Lets one caller at a time move, retire and remove segments. Any thread.
final class CompactionTurn: Sendable {
  private struct State {
    /// The thread that has the turn; nil: none.
    var taker: Int32?
    var isStopped = false
    var work = CompactionWork()
  }
  private let state = Monitor(State(), rank: .leaf)
  private let trace: EventTracer?

  init(trace: EventTracer? = nil) { self.trace = trace }

  /// The thread that has the turn. Does not wait; nil also if that cannot be seen at once.
  var taker: Int32? { state.withLockIfFree { $0.taker } ?? nil }

  var unreadable: Set<SegmentNumber> { state.withLock { $0.work.unreadable } }

  /// Runs `body` alone. Returns nil without running it if the session ends, or if another caller has the
  /// turn and `waits` is false.
  func turn<Result>(
    waits: Bool, _ body: (inout CompactionWork) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    try LockRank.compaction.holding { () throws(StoreError) in try takeTurn(waits, body) }
  }

  private func takeTurn<Result>(
    _ waits: Bool, _ body: (inout CompactionWork) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    let begun = state.waiting { state -> CompactionWork?? in
      if state.isStopped { return .some(nil) }
      if state.taker != nil { return waits ? nil : .some(nil) }
      state.taker = PosixThread.number
      return state.work
    }
    guard var work = begun else { return nil }
    let begin = trace?.now
    defer {
      end(work)
      trace?.record("turn victims=\(work.plan.victims.count)", since: begin)
    }
    return try body(&work)
  }

  private func end(_ work: CompactionWork) {
    state.withLock { state in
      state.work = work
      state.taker = nil
    }
    state.notifyAll()
  }

  /// Ends all turns; returns when no caller has one.
  func stop() {
    state.waiting { state -> Void? in
      state.isStopped = true
      return state.taker == nil ? () : nil
    }
  }
}
