import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

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

  /// Runs `round` when somebody wakes the keeper, and when the time has come that it answers, in
  /// monotonic milliseconds; at most every 100 ms.
  func start(_ round: @escaping @Sendable () -> Int64?) throws(Errno) {
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

  private func run(_ round: () -> Int64?) {
    var next: Int64?
    while true {
      let due = next.map { $0 * 1_000_000 } ?? .max
      _ = state.waiting(until: due) { $0.isStopping || $0.isAwake ? () : nil }
      // Company is waited for: what else changes within this time goes into the same frame.
      let until = SystemClock.monotonicNanoseconds() + 100_000_000
      _ = state.waiting(until: until) { $0.isStopping ? () : nil }
      let wasStopped = state.withLock { state in
        state.isAwake = false
        return state.isStopping
      }
      if wasStopped { return }
      next = round()
    }
  }
}

/// How the background work stands. Only the keeper's thread touches it.
private final class KeeperRounds: @unchecked Sendable {  // see above
  var lastBarrier: Int64 = 0
  var lastSweep: Int64 = 0
  var lastMove: Int64 = 0
  var sweep: Sweep?
  /// `Space.activity` when it was seen to change last, and when that was.
  private var activity: UInt64 = 0
  private var activeAt: Int64 = 0

  /// How long nobody has used the space, in milliseconds.
  func idleTime(_ activity: UInt64, now: Int64) -> Int64 {
    if activity != self.activity || activeAt == 0 {
      self.activity = activity
      activeAt = now
    }
    return now - activeAt
  }
}

extension Space {
  static let barrierInterval: Int64 = 2000
  static let sweepInterval: Int64 = 1000
  /// Nobody works on the space when nothing was asked of it for so long: file managers and copying
  /// tools do not pause for a second. In milliseconds.
  static let idleAfter: Int64 = 1000
  /// While somebody works one segment is emptied so often, in milliseconds: less than 1 MiB a second
  /// of default segments, a hundredth of what a disk does.
  static let busyMoveInterval: Int64 = 5000

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

  /// One round; answers when there will be something to do, in monotonic milliseconds.
  private func keep(_ rounds: KeeperRounds) -> Int64? {
    if isReadOnly { return nil }
    let now = SystemClock.monotonicMilliseconds()
    if isShort, now - rounds.lastSweep < Space.sweepInterval { return now }
    do throws(StoreError) {
      try commit()
      if now - rounds.lastBarrier >= Space.barrierInterval {
        rounds.lastBarrier = now
        callBeforeBarrier()
        try barrier()
        try checkpointIfDue()
      }
      if isShort || hasWritten { try sweep(rounds, now) }
      tellReturnedRoom()
      let isSoon =
        keeper.isBusy || journal.withLock { $0.oldestUncovered != 0 }
        || catalog.withLock { $0.hasChanges } || rounds.sweep?.wantsToMove ?? false
      return isSoon ? now : rounds.sweep?.nextDue(self)
    } catch {
      // A commit or barrier that failed has turned the space read-only and said so. What else
      // fails here (a segment that cannot be removed) is tried again when there is work.
      if error.isShortage {
        rounds.lastSweep = now
        return now
      }
      if !isReadOnly { options.logger.warning("background work: \(error)") }
      return nil
    }
  }

  /// Moves content at full speed while nobody uses the space, a piece a round; now and then a
  /// segment while somebody does.
  private func sweep(_ rounds: KeeperRounds, _ now: Int64) throws(StoreError) {
    let idle = rounds.idleTime(activity.load(ordering: .relaxed), now: now)
    let isFree = isShort || idle >= Space.idleAfter
    let wantsToMove = rounds.sweep?.wantsToMove ?? false
    if now - rounds.lastSweep < Space.sweepInterval, !(isFree && wantsToMove) { return }
    rounds.lastSweep = now
    if rounds.sweep == nil { rounds.sweep = try beginSweep() }
    if isFree {
      try rounds.sweep?.round(self)
    } else if now - rounds.lastMove >= Space.busyMoveInterval {
      rounds.lastMove = now
      try rounds.sweep?.round(self, moving: 0)
    } else {
      try rounds.sweep?.round(self, moving: nil)
    }
    if isShort { try requireRoom() }
    noteRoom()
  }
}
