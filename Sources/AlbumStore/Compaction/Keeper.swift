import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

/// The space's own threads. Each does one kind of work in rounds and sleeps while nobody changes
/// anything, so that none waits for another's work.
final class Keeper: Sendable {
  /// Does some work; returns when there is more to do, in monotonic milliseconds; nil: when somebody
  /// wakes the keeper.
  typealias Round = @Sendable () -> Int64?

  private struct State {
    /// One bit for each thread that has been woken and has not begun its round.
    var awake: UInt8 = 0
    /// When somebody last had work, in monotonic milliseconds.
    var lastWake: Int64 = 0
    var isStopping = false
    var threads: [PosixThread] = []
  }
  private let state = Monitor(State())

  /// There is something to do. Cheap, any thread.
  func wake() {
    let wasAsleep = state.withLock { state in
      defer { state.awake = .max }
      state.lastWake = SystemClock.monotonicMilliseconds()
      return state.awake != .max
    }
    if wasAsleep { state.notifyAll() }
  }

  /// Whether somebody had work within the last 5 seconds.
  var isBusy: Bool { SystemClock.monotonicMilliseconds() - state.withLock { $0.lastWake } < 5000 }

  /// Starts one more thread. It runs `round` when somebody wakes the keeper, and when the time has come
  /// that it returns; at most every 100 ms. With `atOnce` the first comes without a wake.
  func start(_ name: String, atOnce: Bool = false, _ round: @escaping Round) throws(Errno) {
    let place = state.withLock { $0.threads.count }
    let first = atOnce ? SystemClock.monotonicMilliseconds() : nil
    let thread = try PosixThread(name: name) { self.run(place, first, round) }
    state.withLock { $0.threads.append(thread) }
  }

  /// Returns when all threads have ended.
  func stop() {
    let threads = state.withLock { state in
      state.isStopping = true
      defer { state.threads = [] }
      return state.threads
    }
    state.notifyAll()
    for thread in threads { thread.join() }
  }

  private func run(_ place: Int, _ first: Int64?, _ round: Round) {
    let bit = UInt8(1) << UInt8(place)
    var next = first
    while true {
      let due = next.map { $0 * 1_000_000 } ?? .max
      _ = state.waiting(until: due) { $0.isStopping || $0.awake & bit != 0 ? () : nil }
      // Batches changes for 100 ms so they share a frame.
      let until = SystemClock.monotonicNanoseconds() + 100_000_000
      _ = state.waiting(until: until) { $0.isStopping ? () : nil }
      let wasStopped = state.withLock { state in
        state.awake &= ~bit
        return state.isStopping
      }
      if wasStopped { return }
      next = round()
    }
  }
}

// Three threads:
//
// - Framing appends frames within 100 ms of a change, and barriers every 2 seconds while there is
//   something to cover. It does nothing else, so that the 5 seconds hold whatever the others do.
// - Stating puts into the catalog what open files have had pending for long. It may wait for a thread
//   that seals, and so for the disk.
// - Housekeeping writes checkpoints, makes room, sweeps and compacts.

/// When framing appended its last barrier. Only its thread touches it.
private final class FramingRounds: @unchecked Sendable {  // see above
  var lastBarrier: Int64 = 0
}

/// How the housekeeping stands. Only its thread touches it.
private final class HousekeepingRounds: @unchecked Sendable {  // see above
  var lastSweep: Int64 = 0
  var lastMove: Int64 = 0
  var lastCheckpointLook: Int64 = 0
  var sweep: Sweep?
  var settling = TimeSettling()
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
  /// How often open files are looked at for what they have pending, in milliseconds.
  static let statingInterval: Int64 = 500
  static let sweepInterval: Int64 = 1000
  /// Nobody works on the space when nothing was asked of it for so long: file managers and copying
  /// tools do not pause for a second. In milliseconds.
  static let idleAfter: Int64 = 1000
  /// While somebody works one segment is emptied so often, in milliseconds: less than 1 MiB a second
  /// of default segments, a hundredth of what a disk does.
  static let busyMoveInterval: Int64 = 5000

  func startKeeper() throws(StoreError) {
    let (framing, housekeeping) = (FramingRounds(), HousekeepingRounds())
    do throws(Errno) {
      try keeper.start("albumfs-keeper") { self.frame(framing) }
      try keeper.start("albumfs-stater") { self.statePending() }
      try keeper.start("albumfs-sweeper", atOnce: true) { self.keepHouse(housekeeping) }
    } catch {
      throw StoreError(.inputOutput, "cannot start a thread: \(error)", cause: error)
    }
  }

  /// One round of framing; returns the time of the next, in monotonic milliseconds.
  private func frame(_ rounds: FramingRounds) -> Int64? {
    if isReadOnly { return nil }
    let now = SystemClock.monotonicMilliseconds()
    do throws(StoreError) {
      try commitNow()
      if now - rounds.lastBarrier >= Space.barrierInterval {
        rounds.lastBarrier = now
        try barrierNow()
      }
      let isSoon =
        keeper.isBusy || journal.withLock { $0.oldestUncovered != 0 }
        || catalog.withLock { $0.hasChanges }
      return isSoon ? now : nil
    } catch {
      // A commit or barrier that failed has turned the space read-only and said so, unless only room is
      // missing.
      return error.isShortage ? now + Space.sweepInterval : nil
    }
  }

  /// One round of stating; returns the time of the next, in monotonic milliseconds.
  private func statePending() -> Int64? {
    if isReadOnly { return nil }
    callBeforeBarrier()
    return keeper.isBusy ? SystemClock.monotonicMilliseconds() + Space.statingInterval : nil
  }

  /// One round of housekeeping; returns the time of the next, in monotonic milliseconds.
  private func keepHouse(_ rounds: HousekeepingRounds) -> Int64? {
    if isReadOnly {
      reclaimIfWanted()
      return nil
    }
    let now = SystemClock.monotonicMilliseconds()
    reclaimIfWanted()
    do throws(StoreError) {
      if now - rounds.lastCheckpointLook >= Space.barrierInterval {
        rounds.lastCheckpointLook = now
        try refillReserve()
        if try !checkpointIfDue() { rounds.lastCheckpointLook = now + 30_000 }
      }
      try sweep(rounds, now)
      tellReturnedRoom()
      let isSoon =
        keeper.isBusy || isShort || rounds.sweep?.wantsToMove ?? false
        || rounds.sweep?.hasUnexamined ?? false || rounds.settling.isUnfinished
      return isSoon ? now : rounds.sweep?.nextDue(self)
    } catch {
      // What fails here (a segment that cannot be removed) is tried again when there is work.
      rounds.lastSweep = now
      if error.isShortage { return now + Space.sweepInterval }
      if !isReadOnly { options.logger.warning("background work: \(error)") }
      return nil
    }
  }

  /// Moves content at full speed while nobody uses the space, a piece a round; now and then a
  /// segment while somebody does.
  private func sweep(_ rounds: HousekeepingRounds, _ now: Int64) throws(StoreError) {
    let idle = rounds.idleTime(activity.load(ordering: .relaxed), now: now)
    let isFree = isShort || idle >= Space.idleAfter
    let wantsToMove = rounds.sweep?.wantsToMove ?? false
    if now - rounds.lastSweep < Space.sweepInterval, !(isFree && wantsToMove) { return }
    rounds.lastSweep = now
    if rounds.sweep == nil { rounds.sweep = try beginSweep() }
    if isFree {
      try rounds.sweep?.round(self)
      rounds.settling.round(self)
    } else if now - rounds.lastMove >= Space.busyMoveInterval {
      rounds.lastMove = now
      try rounds.sweep?.round(self, moving: 0)
    } else {
      try rounds.sweep?.round(self, moving: nil)
    }
    if isShort {
      try requireRoom()
      noteRoom()
    }
  }
}
