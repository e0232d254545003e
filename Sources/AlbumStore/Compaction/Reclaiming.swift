import AlbumFormat
import AlbumModel
import Posix

// Room that compaction makes on a full disk, for `Reclaims` and at the end of a session.

extension Compactor {
  /// Segments that a reclaim frees beyond those that must be left, so that not every writer waits for one
  /// of its own.
  private static let spareSegments: Int64 = 16

  /// How many segments two checkpoints, one behind the other, leave of the journal before its newest segment.
  private static let shortestJournal: UInt32 = 2

  /// The same as the other `reclaim`, in a turn.
  func reclaim() throws(StoreError) -> Bool {
    try turns.turn(waits: true) { work throws(StoreError) in try reclaim(&work) } ?? false
  }

  /// Gives up the grace of all that is unneeded, and compacts as far as is needed. Returns whether there
  /// is room for data again. The caller has the turn.
  func reclaim(_ work: inout CompactionWork) throws(StoreError) -> Bool {
    try giveBack()
    if hasRoom(for: Compactor.spareSegments) { return true }
    plan(&work, .demanded)
    do throws(StoreError) {
      while !work.plan.victims.isEmpty {
        try emptyNext(&work, limit: Int64(files.segmentSize))
        try giveBack()
        if hasRoom(for: Compactor.spareSegments) { break }
      }
    } catch {
      work.plan = CompactionPlan()
      if !error.isShortage { throw error }
    }
    if hasRoom(for: 0) { return true }
    // The journal may hold what the content does not give.
    try shortenJournal(longerThan: Compactor.shortestJournal)
    try giveBack()
    return hasRoom(for: 0)
  }

  /// Unlinks all that is unneeded, whatever its grace, and makes the reserve full.
  func giveBack() throws(StoreError) {
    if durability.keepsEverything { return }
    try durability.unlink(durability.unneededSegments())
    do throws(StoreError) {
      try retireEmptied()
      try removeRetired(grace: 0)
    } catch {
      // Former sessions' retired segments went before the frame that found no room.
      if !error.isShortage { throw error }
    }
    if durability.hasReserve { try? files.fillReserve() }
  }

  /// At the end of a session: on a disk that is nearly full what is unneeded goes now, and not with the
  /// next mount.
  func giveBackInTheEnd() throws(StoreError) {
    if room.isNearlyFull || (durability.hasReserve && files.missingReserve > 0) { try giveBack() }
  }

  private func hasRoom(for spare: Int64) -> Bool {
    do throws(StoreError) {
      try room.require(leaving: room.checkpointRoom + spare)
      return true
    } catch { return false }
  }

  /// Makes the reserve full where a part of it was spent: before anything else takes room.
  func refillReserve() throws(StoreError) {
    guard durability.hasReserve, files.missingReserve > 0 else { return }
    do throws(StoreError) { try files.fillReserve() } catch {
      if !error.isShortage { throw error }
      _ = try turns.turn(waits: true) { _ throws(StoreError) in try giveBack() }
    }
  }
}
