import AlbumFormat
import AlbumModel
import Posix

// Makes room on a full disk by compaction, for `Reclaims` and at the end of a session.

extension Compactor {
  /// Segments that a reclaim frees beyond the required ones, so that not every writer waits for a reclaim of
  /// its own.
  private static let spareSegments: Int64 = 16

  /// How many segments two checkpoints, one behind the other, leave of the journal before its newest segment.
  private static let shortestJournal: UInt32 = 2

  /// The same as the other `reclaim`, in a turn.
  func reclaim() throws(StoreError) -> Bool {
    try turns.turn(waits: true) { work throws(StoreError) in try reclaim(&work) } ?? false
  }

  /// Ends the grace of all unneeded segments. Gives up deleted files that need not stay on a full disk, the
  /// oldest first, and compacts, as far as needed. Returns true if there is room for data again. The caller
  /// has the turn.
  func reclaim(_ work: inout CompactionWork) throws(StoreError) -> Bool {
    try giveBack()
    if hasRoom(for: Compactor.spareSegments) { return true }
    while true {
      let bytes = 2 * Compactor.spareSegments * Int64(files.segmentSize)
      let hasDiscarded = try discardOldestDeleted(atLeast: bytes)
      if hasDiscarded {
        try giveBack()
        if hasRoom(for: Compactor.spareSegments) { return true }
      }
      if try compactForRoom(&work) { return true }
      if !hasDiscarded { return false }
    }
  }

  /// Compacts as far as needed. Returns true if there is room for data again.
  private func compactForRoom(_ work: inout CompactionWork) throws(StoreError) -> Bool {
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
    if hasRoom(for: 0) { return true }
    try durability.shortenJournalByReserve()
    try giveBack()
    return hasRoom(for: 0)
  }

  /// Unlinks all unneeded segments regardless of their grace, and completes the reserve.
  func giveBack() throws(StoreError) {
    if durability.keepsEverything { return }
    try durability.unlink(durability.unneededSegments())
    do throws(StoreError) {
      try retireEmptied()
      try removeRetired(grace: .zero)
    } catch {
      // Retired segments of earlier sessions were removed before the frame that found no room.
      if !error.isShortage { throw error }
    }
    if durability.hasReserve { try? files.fillReserve() }
  }

  /// At the end of a session on a nearly full disk, removes unneeded segments now instead of at the next
  /// mount.
  func giveBackInTheEnd() throws(StoreError) {
    if room.isNearlyFull || (durability.hasReserve && files.missingReserve > 0) { try giveBack() }
  }

  private func hasRoom(for spare: Int64) -> Bool {
    do throws(StoreError) {
      try room.require(leaving: room.checkpointRoom + spare)
      return true
    } catch { return false }
  }

  /// Completes the reserve if a part of it was used, before anything else takes room.
  func refillReserve() throws(StoreError) {
    guard durability.hasReserve, files.missingReserve > 0 else { return }
    do throws(StoreError) { try files.fillReserve() } catch {
      if !error.isShortage { throw error }
      _ = try turns.turn(waits: true) { _ throws(StoreError) in try giveBack() }
    }
  }
}
