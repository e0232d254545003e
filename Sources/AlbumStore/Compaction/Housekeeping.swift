import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

// Three threads, and one more if the store lies elsewhere:
//
// - Framing appends frames within 100 ms of a change, and barriers every 2 seconds while there is
//   something to cover. It does nothing else, so that the 5 seconds hold whatever the others do.
// - Stating puts into the catalog what open files have had pending for long. It may wait for a thread
//   that seals, and so for the disk.
// - Housekeeping writes checkpoints, makes room, sweeps and compacts.
// - Sending brings what was written to where the store lies: 5 seconds after the last change, and every 30
//   seconds while there are changes. If that fails, it tries again until it succeeds.

/// The time of the last barrier by framing. Only its thread touches it.
private final class FramingRounds: @unchecked Sendable {  // see above
  var lastBarrier: MonotonicTime?
}

/// The state of sending. Only its thread touches it.
private final class SendingRounds: @unchecked Sendable {  // see above
  var last = MonotonicTime.now
  var hasFailed = false
}

/// The state of housekeeping. Only its thread touches it.
private final class HousekeepingRounds: @unchecked Sendable {  // see above
  var lastSweep: MonotonicTime?
  var lastMove: MonotonicTime?
  var nextCheckpointLook: MonotonicTime?
  var sweep: Sweep?
  var settling = TimeSettling()
  /// The last change of `Housekeeping.activity`, and its time.
  private var activity: UInt64 = 0
  private var activeAt: MonotonicTime?

  /// Returns the time since the space was last used.
  func idleTime(_ activity: UInt64, now: MonotonicTime) -> Duration {
    if let activeAt, activity == self.activity { return now - activeAt }
    self.activity = activity
    activeAt = now
    return .zero
  }
}

/// Runs the threads of a space. May call everything below it.
final class Housekeeping: SpacePart, Sendable {
  let context: SpaceContext
  private let durability: Durability
  private let compactor: Compactor
  /// Rises with each call of a user, so that work in the background can find out whether users are idle.
  let activity = Atomic<UInt64>(0)

  init(_ compactor: Compactor) {
    self.compactor = compactor
    durability = compactor.durability
    context = compactor.context
  }

  static let barrierInterval = Duration.seconds(2)
  /// The interval at which pending content of open files is published.
  static let statingInterval = Duration.milliseconds(500)
  static let sweepInterval = TestHooks.delay(.housekeeping, .seconds(1))
  /// A space without a call for this long is idle: file managers and copying tools do not pause for a second.
  static let idleAfter = TestHooks.delay(.housekeeping, .seconds(1))
  /// The interval at which compaction empties one segment while the space is in use: less than 1 MiB a second
  /// with segments of the default size, a hundredth of what a disk does.
  static let busyMoveInterval = Duration.seconds(5)

  private func isDue(_ last: MonotonicTime?, _ interval: Duration, _ now: MonotonicTime) -> Bool {
    last.map { now - $0 >= interval } ?? true
  }

  /// Starts the threads.
  func start() throws(StoreError) {
    let (framing, housekeeping) = (FramingRounds(), HousekeepingRounds())
    do throws(Errno) {
      try keeper.start("albumfs-keeper") { self.frame(framing) }
      try keeper.start("albumfs-stater") { self.statePending() }
      try keeper.start("albumfs-sweeper", atOnce: true) { self.keepHouse(housekeeping) }
      if files.directory.relay != nil {
        let sending = SendingRounds()
        try keeper.start("albumfs-sender") { self.send(sending) }
      }
    } catch {
      throw StoreError(.inputOutput, "cannot start a thread: \(error)", cause: error)
    }
  }

  /// One round of framing; returns the time of the next.
  private func frame(_ rounds: FramingRounds) -> MonotonicTime? {
    if health.isReadOnly { return nil }
    let now = MonotonicTime.now
    do throws(StoreError) {
      try durability.commit(waitsForRoom: false)
      if isDue(rounds.lastBarrier, Housekeeping.barrierInterval, now) {
        rounds.lastBarrier = now
        try durability.barrierNow()
      }
      let isSoon =
        keeper.isBusy || durability.hasUncovered
        || catalog.withLock { $0.hasChanges }
      return isSoon ? now : nil
    } catch {
      // A failed commit or barrier has turned the space read-only and logged that, unless only room is
      // missing.
      return error.isShortage ? now + Housekeeping.sweepInterval : nil
    }
  }

  private static let sendingInterval = Duration.seconds(30)
  private static let pauseBeforeSending = Duration.seconds(5)

  /// One round of sending; returns the time of the next.
  private func send(_ rounds: SendingRounds) -> MonotonicTime? {
    if health.isReadOnly { return nil }
    if !durability.hasUnsent { return keeper.isBusy ? .now + Housekeeping.pauseBeforeSending : nil }
    let due = rounds.last + Housekeeping.sendingInterval
    if keeper.isBusy, MonotonicTime.now < due {
      return min(due, .now + Housekeeping.pauseBeforeSending)
    }
    do throws(StoreError) {
      try durability.sendAll()
      if rounds.hasFailed { options.logger.notice("what waited was sent") }
      rounds.hasFailed = false
    } catch {
      if !rounds.hasFailed, !health.isReadOnly {
        options.logger.error("\(error); it waits on this machine and is sent later")
      }
      rounds.hasFailed = true
    }
    rounds.last = .now
    return .now + Housekeeping.pauseBeforeSending
  }

  /// One round of stating; returns the time of the next.
  private func statePending() -> MonotonicTime? {
    if health.isReadOnly { return nil }
    durability.callBeforeBarrier(pendingFor: Housekeeping.barrierInterval)
    return keeper.isBusy ? MonotonicTime.now + Housekeeping.statingInterval : nil
  }

  /// One round of housekeeping; returns the time of the next.
  private func keepHouse(_ rounds: HousekeepingRounds) -> MonotonicTime? {
    if health.isReadOnly {
      durability.reclaims.reclaimIfWanted()
      return nil
    }
    let now = MonotonicTime.now
    durability.reclaims.reclaimIfWanted()
    do throws(StoreError) {
      if rounds.nextCheckpointLook.map({ now >= $0 }) ?? true {
        rounds.nextCheckpointLook = now + Housekeeping.barrierInterval
        try compactor.refillReserve()
        if try !durability.checkpointIfDue() {
          rounds.nextCheckpointLook = now + .seconds(30) + Housekeeping.barrierInterval
        }
      }
      try sweep(rounds, now)
      room.notifyReturned()
      let isSoon =
        keeper.isBusy || room.isShort || rounds.sweep?.wantsToMove ?? false
        || rounds.sweep?.hasUnexamined ?? false
        || rounds.settling.isUnfinished && files.directory.relay == nil
      return isSoon ? now : rounds.sweep?.nextDue(compactor)
    } catch {
      // Failures here (a segment that cannot be removed) are tried again when there is work.
      rounds.lastSweep = now
      if error.isShortage { return now + Housekeeping.sweepInterval }
      if !health.isReadOnly { options.logger.warning("background work: \(error)") }
      return nil
    }
  }

  /// Moves content at full speed, a piece a round, while nobody uses the space; otherwise one segment now
  /// and then.
  private func sweep(_ rounds: HousekeepingRounds, _ now: MonotonicTime) throws(StoreError) {
    let idle = rounds.idleTime(activity.load(ordering: .relaxed), now: now)
    let isFree = room.isShort || idle >= Housekeeping.idleAfter
    let wantsToMove = rounds.sweep?.wantsToMove ?? false
    if !isDue(rounds.lastSweep, Housekeeping.sweepInterval, now), !(isFree && wantsToMove) {
      return
    }
    rounds.lastSweep = now
    if rounds.sweep == nil { rounds.sweep = try compactor.beginSweep() }
    if isFree {
      try rounds.sweep?.round(compactor)
      if files.directory.relay == nil { rounds.settling.round(context.files, context.lock) }
      content.rest()
    } else if isDue(rounds.lastMove, Housekeeping.busyMoveInterval, now) {
      rounds.lastMove = now
      try rounds.sweep?.round(compactor, moving: 0)
    } else {
      try rounds.sweep?.round(compactor, moving: nil)
    }
    if room.isShort {
      try room.require()
      room.endShortage()
    }
  }
}
