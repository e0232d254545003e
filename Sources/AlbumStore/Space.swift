import Posix

import struct Synchronization.Atomic

/// One unlocked space of a store: its catalog in memory, its segments and its journal. A façade: each call
/// goes to the part that does the work. Any thread.
///
/// SpaceContent.swift reads and seals content, SpaceStatus.swift describes the space to a user, and
/// SpaceLife.swift has its birth, opening and end.
package final class Space: Sendable {
  let context: SpaceContext
  let durability: Durability
  let records: RecordWriter
  let compactor: Compactor
  let housekeeping: Housekeeping
  let recovery: RecoveryReport
  /// Of a space that was opened for reading; nil if it follows no writer.
  let follower = Mutex<Follower?>(nil, rank: .leaf)
  /// The machine that wrote to a space elsewhere before, and has not unmounted it; nil if it has.
  package let takenFrom: String?

  init(
    _ context: SpaceContext, writer: JournalWriter, recovery: RecoveryReport,
    takenFrom: String? = nil
  ) {
    self.context = context
    self.recovery = recovery
    self.takenFrom = takenFrom
    durability = Durability(
      context, writer: writer, isSound: !recovery.isDamaged, wasClean: recovery.wasClean)
    records = RecordWriter(durability)
    compactor = Compactor(records, durability)
    housekeeping = Housekeeping(compactor)
    durability.hooks.withLock { hooks in
      hooks.relocate = { [weak compactor] number throws(StoreError) in
        try compactor?.moveLiving(outOf: number)
      }
    }
    durability.reclaims.setReclaim { [weak compactor, weak durability] () throws(StoreError) in
      if try durability?.makeRoomBySending() ?? false { return true }
      return try compactor?.reclaim() ?? false
    }
  }

  /// Postpones housekeeping, which works while nobody uses the space.
  func countActivity() { housekeeping.activity.wrappingAdd(1, ordering: .relaxed) }

  // MARK: The catalog

  /// Reads the catalog under its lock. `body` must not be slow.
  package func read<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing Catalog) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try context.catalog.withLock { catalog throws(Failure) in try body(catalog) }
  }

  /// Changes the catalog: one step of history, complete in one frame. The frame is appended within 100 ms,
  /// or at once by the next `commit`.
  package func change<Result: ~Copyable, Failure: Error>(
    _ body: (inout Catalog) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    countActivity()
    defer { context.keeper.wake() }
    return try context.catalog.withLock { catalog throws(Failure) in try body(&catalog) }
  }

  // MARK: Durability

  /// See `Durability.commit`.
  package func commit(waitsForRoom: Bool = true) throws(StoreError) {
    try durability.commit(waitsForRoom: waitsForRoom)
  }
  /// See `Durability.commitIfCrowded`.
  package func commitIfCrowded() throws(StoreError) { try durability.commitIfCrowded() }
  /// See `Durability.barrierOfUser`.
  package func barrier() throws(StoreError) { try durability.barrierOfUser() }

  /// Sets a hook that runs before each barrier of the background, about every 2 seconds while there are
  /// changes. In it the file system puts into the catalog the content that open files have had pending for
  /// that long. The hook must neither commit nor wait for a barrier.
  package func setBeforeBarrier(_ hook: @escaping @Sendable (_ pendingFor: Duration) -> Void) {
    durability.hooks.withLock { $0.beforeBarrier = hook }
  }

  /// See `Durability.barrierThere`.
  package func barrierThere() throws(StoreError) { try durability.barrierThere() }

  /// Announces that an open file has changes that are not in the catalog yet, so that the hook above runs
  /// within about 2 seconds. Cheap.
  package func stir() { context.keeper.wake() }

  // MARK: Room

  /// See `Compactor.compact`.
  @discardableResult
  package func compact(
    progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws(StoreError) -> CompactionReport {
    try compactor.compact(progress: progress)
  }

  /// Sets a hook for the return of room after a shortage. The keeper's thread calls it without any lock.
  package func setWhenRoomReturns(_ hook: @escaping @Sendable () -> Void) {
    context.room.setWhenReturned(hook)
  }
}
