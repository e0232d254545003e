import AlbumFormat
import AlbumModel
import Posix

/// The progress of a compaction.
package struct CompactionProgress: Sendable, Equatable {
  /// Bytes of living content that were moved, and that are to be moved in total.
  package var moved: Int64
  package var total: Int64
}

/// The result of a compaction. All in bytes, of whole segments except `living`.
package struct CompactionReport: Sendable, Equatable {
  /// Returned to the disk.
  package var freed: Int64 = 0
  /// Will return when the grace time is over.
  package var waiting: Int64 = 0
  /// The current size of the space, without `waiting`.
  package var taken: Int64 = 0
  /// The part of it that the living content needs, sealed; shared content once.
  package var living: Int64 = 0
  /// Segments that stay as they are, because content in them does not decrypt.
  package var unreadableSegments = 0
}

extension Compactor {
  /// Compacts at once, as far as it is worthwhile, even if users are busy. Returns when the living content
  /// was moved, the unneeded segments are retired, and those whose grace is over are removed. Calls
  /// `progress` about ten times a second; it returns false to stop, and content that was moved stays moved.
  ///
  /// Throws `.noSpace` if the disk has no room for the copies, `.readOnly` if nothing may be changed or the
  /// session ends, `.damaged` if nothing may be removed before a repair. Any thread; several calls take
  /// turns.
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
    try moveAll(progress)
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

  /// Plans again after each plan, because it may have met segments that cannot be emptied.
  private func moveAll(_ progress: (CompactionProgress) -> Bool) throws(StoreError) {
    var shortages = 0
    for _ in 0..<4 {
      let total = try compactionTurn { work throws(StoreError) in
        plan(&work, .demanded)
        return work.plan.remaining
      }
      var remaining = total
      while remaining > 0 {
        if !progress(CompactionProgress(moved: max(0, total - remaining), total: total)) {
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

  /// Moves one piece. On a nearly full disk it moves a small one and removes the emptied segments at once,
  /// because there would be no room for all copies.
  private func moveNext(_ work: inout CompactionWork, _ shortages: inout Int) throws(StoreError) {
    let isTight = room.isNearlyFull
    do throws(StoreError) {
      if isTight { try giveBack() }
      try emptyNext(&work, limit: isTight ? Int64(files.segmentSize) : Compactor.compactionPiece)
      try durability.commit(waitsForRoom: false)
    } catch {
      shortages += 1
      if !error.isShortage || shortages > Compactor.shortagesAtMost { throw error }
      if try !reclaim(&work) { throw error }
      plan(&work, .demanded)
    }
  }

  /// How often one compaction may find no room, and make some, before it gives up.
  private static let shortagesAtMost = 64

  /// Writes two checkpoints if the journal has more than `limit` segments before its newest one, because the
  /// journal is kept since the former of the two.
  func shortenJournal(longerThan limit: UInt32) throws(StoreError) {
    let (needed, newest) = durability.journal.withLock { ($0.checkpoints, $0.writer.newest) }
    let first = needed.map(\.firstJournal.rawValue).min() ?? 1
    if newest.rawValue - min(newest.rawValue, first) <= limit { return }
    for _ in 0..<2 { try durability.checkpoint() }
  }

  /// Removes unneeded segments of checkpoints and journal whose grace is over.
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
