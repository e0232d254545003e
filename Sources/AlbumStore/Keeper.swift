import AlbumModel
import Logging
import Posix

/// The space's own thread: frames what was changed within 100 ms, barriers every 2 seconds while
/// there is something to cover, checkpoints, and what else is done in the background. Sleeps while
/// nobody changes anything.
final class Keeper: Sendable {
  private struct State {
    var isAwake = false
    /// When somebody last had work, in monotonic milliseconds.
    var lastWake: Int64 = 0
    var isStopping = false
    var thread: PosixThread?
  }
  private let state = Monitor(State())

  /// There is something to do. Cheap, any thread.
  func wake() {
    let wasAsleep = state.withLock { state in
      defer { state.isAwake = true }
      state.lastWake = SystemClock.monotonicMilliseconds()
      return !state.isAwake
    }
    if wasAsleep { state.notifyAll() }
  }

  /// Whether somebody had work within the last 5 seconds.
  var isBusy: Bool { SystemClock.monotonicMilliseconds() - state.withLock { $0.lastWake } < 5000 }

  /// Runs `round` every 100 ms for as long as it answers true or somebody wakes the keeper.
  func start(_ round: @escaping @Sendable () -> Bool) throws(Errno) {
    let thread = try PosixThread(name: "albumfs-keeper") { self.run(round) }
    state.withLock { $0.thread = thread }
  }

  func stop() {
    let thread = state.withLock { state in
      state.isStopping = true
      defer { state.thread = nil }
      return state.thread
    }
    state.notifyAll()
    thread?.join()
  }

  private func run(_ round: () -> Bool) {
    while true {
      let isStopping = state.waiting { state -> Bool? in
        state.isStopping ? true : state.isAwake ? false : nil
      }
      if isStopping { return }
      // Company is waited for: what else changes within this time goes into the same frame.
      let until = SystemClock.monotonicNanoseconds() + 100_000_000
      _ = state.waiting(until: until) { $0.isStopping ? () : nil }
      let wasStopped = state.withLock { state in
        state.isAwake = false
        return state.isStopping
      }
      if wasStopped { return }
      if round() { state.withLock { $0.isAwake = true } }
    }
  }
}

/// How the background work stands. Only the keeper's thread touches it.
private final class KeeperRounds: @unchecked Sendable {  // see above
  var lastBarrier: Int64 = 0
  var lastSweep: Int64 = 0
  var sweep: Sweep?
}

extension Space {
  static let barrierInterval: Int64 = 2000
  static let sweepInterval: Int64 = 1000

  func startKeeper() throws(StoreError) {
    let rounds = KeeperRounds()
    do throws(Errno) {
      try keeper.start { self.keep(rounds) }
    } catch {
      throw StoreError(.inputOutput, "cannot start a thread: \(error)", cause: error)
    }
  }

  /// Whether this session has written anything.
  private var hasWritten: Bool { journal.withLock { $0.writer.isBegun } }

  /// One round; answers whether there will be something to do soon.
  private func keep(_ rounds: KeeperRounds) -> Bool {
    if isReadOnly { return false }
    let now = SystemClock.monotonicMilliseconds()
    if isShort, now - rounds.lastSweep < Space.sweepInterval { return true }
    do throws(StoreError) {
      try commit()
      if now - rounds.lastBarrier >= Space.barrierInterval {
        rounds.lastBarrier = now
        callBeforeBarrier()
        try barrier()
        try checkpointIfDue()
      }
      if now - rounds.lastSweep >= Space.sweepInterval, isShort || hasWritten {
        rounds.lastSweep = now
        if rounds.sweep == nil { rounds.sweep = try beginSweep() }
        try rounds.sweep?.round(self)
        if isShort { try requireRoom() }
        noteRoom()
      }
      tellReturnedRoom()
      return keeper.isBusy || journal.withLock { $0.oldestUncovered != 0 }
        || rounds.sweep?.isWaiting ?? false
    } catch {
      // A commit or barrier that failed has turned the space read-only and said so. What else
      // fails here (a segment that cannot be removed) is tried again when there is work.
      if error.isShortage {
        rounds.lastSweep = now
        return true
      }
      if !isReadOnly { options.logger.warning("background work: \(error)") }
      return false
    }
  }
}
