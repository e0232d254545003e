import AlbumFormat
import AlbumModel
import Posix

/// How far compaction is.
package struct CompactionProgress: Sendable, Equatable {
  /// Bytes of living content that were moved, and that are to be moved altogether.
  package var moved: Int64
  package var total: Int64
}

/// What compaction did. All in bytes, of whole segments but for `living`.
package struct CompactionReport: Sendable, Equatable {
  /// Gone from the disk.
  package var freed: Int64 = 0
  /// Goes when the grace time is over.
  package var waiting: Int64 = 0
  /// What the space takes now, less what is waiting to go.
  package var taken: Int64 = 0
  /// What the living content takes of that, sealed; shared content once.
  package var living: Int64 = 0
  /// Segments that were left as they are since content in them does not open.
  package var unreadableSegments = 0
  /// Whether `progress` wanted it to end early.
  package var wasStopped = false
}

extension Compactor {
  /// Compacts at once, as far as it is worth it, whether users are idle or not: returns when what
  /// lives has been moved, the segments that are no longer needed are retired and those whose grace
  /// is over removed. `progress` is told about ten times a second how far it is and answers whether
  /// to go on; what was moved till then stays moved.
  ///
  /// Throws `.noSpace` where the disk has no room for the copies, `.readOnly` where nothing may be
  /// changed or the session ends, `.damaged` where nothing may be removed before a repair. Any
  /// thread; several calls take turns.
  @discardableResult
  func compact(
    progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws(StoreError) -> CompactionReport {
    try health.requireWritable()
    if durability.keepsEverything {
      throw StoreError(
        .damaged,
        "a part of the journal is missing, and nothing of the store is removed before a repair",
        remedy: .repair)
    }
    try durability.barrier()
    var report = CompactionReport()
    let before = try filesInUse()
    try compactionTurn { _ throws(StoreError) in
      closeLeftOvers()
      try retireEmptied()
    }
    try moveAll(&report, progress)
    try compactionTurn { work throws(StoreError) in
      try retireEmptied()
      let checkpoint = durability.journal.withLock { $0.checkpoints.map(\.segmentCount).max() ?? 1 }
      try shortenJournal(longerThan: 2 * checkpoint + 3)
      try durability.barrierNow()
      try removeRetired()
      try removeUnneeded()
      try durability.barrierNow()
      report.unreadableSegments = work.unreadable.count
      report.living = survey().total
    }
    let after = try filesInUse()
    report.freed = max(0, before.total - after.total)
    report.waiting = after.waiting
    report.taken = after.total - after.waiting
    return report
  }

  private func compactionTurn<Result>(
    _ body: (inout CompactionWork) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard let result = try turns.turn(waits: true, body) else {
      throw StoreError(.readOnly, "the space is being unmounted")
    }
    return result
  }

  /// Plans anew when a plan is done: it may have met segments that cannot be emptied.
  private func moveAll(
    _ report: inout CompactionReport, _ progress: (CompactionProgress) -> Bool
  ) throws(StoreError) {
    var shortages = 0
    for _ in 0..<4 {
      let total = try compactionTurn { work throws(StoreError) in
        plan(&work, .demanded)
        return work.plan.remaining
      }
      var remaining = total
      while remaining > 0 {
        if !progress(CompactionProgress(moved: max(0, total - remaining), total: total)) {
          report.wasStopped = true
          return
        }
        remaining = try compactionTurn { work throws(StoreError) in
          try moveNext(&work, &shortages)
          return work.plan.remaining
        }
      }
      if total == 0 { return }
      _ = progress(CompactionProgress(moved: total, total: total))
      try compactionTurn { _ throws(StoreError) in try retireEmptied() }
    }
  }

  /// Moves one piece. Where the disk is nearly full a small one, and what that empties goes at once: there
  /// would be no room for the copies of all.
  private func moveNext(_ work: inout CompactionWork, _ shortages: inout Int) throws(StoreError) {
    let isTight = room.isNearlyFull
    do throws(StoreError) {
      if isTight { try giveBack() }
      try emptyNext(&work, limit: isTight ? Int64(files.segmentSize) : Compactor.compactionPiece)
      try durability.commitNow()
    } catch {
      shortages += 1
      if !error.isShortage || shortages > Compactor.shortagesAtMost { throw error }
      if try !reclaim(&work) { throw error }
      plan(&work, .demanded)
    }
  }

  /// How often one compaction finds no room, and makes some, before it gives up.
  private static let shortagesAtMost = 64

  /// Writes two checkpoints where the journal has more than `limit` segments before its newest one: the
  /// journal is kept since the former checkpoint.
  func shortenJournal(longerThan limit: UInt32) throws(StoreError) {
    let (needed, newest) = durability.journal.withLock { ($0.checkpoints, $0.writer.newest) }
    let first = needed.map(\.firstJournal.rawValue).min() ?? 1
    if newest.rawValue - min(newest.rawValue, first) <= limit { return }
    for _ in 0..<2 { try durability.checkpoint() }
  }

  /// Removes the segments of checkpoints and journal that are not needed, when their grace is over.
  private func removeUnneeded() throws(StoreError) {
    let taken = durability.journal.withLock { $0.writer.position.checkpoint.takenAt }
    if taken > durability.graceLimit { return }
    try durability.unlink(durability.unneededSegments())
  }

  /// Bytes of all segments of the space, and of those that wait for the end of their grace.
  private func filesInUse() throws(StoreError) -> (total: Int64, waiting: Int64) {
    let accounts = catalog.withLock { $0.segments.accounts.values.map(\.state) }
    let retired = accounts.count { $0 == .retired }
    let unneeded = try durability.unneededSegments().count
    let size = Int64(files.segmentSize)
    return (
      (Int64(accounts.count + unneeded) + metadataSegments) * size,
      Int64(retired + unneeded) * size
    )
  }
}
