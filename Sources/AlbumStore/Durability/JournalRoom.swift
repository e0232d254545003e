import AlbumFormat
import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

// Room for a session's journal on a full disk. Two rules, with that of `Reclaims`, prevent a deadlock on a
// full disk:
//
// - The reserve is completed before anything else takes room.
// - A session that begins with little free room first makes some: it removes unneeded segments of earlier
//   sessions without their grace. Its first journal segment names no spare checkpoint, or a checkpoint that
//   it wrote for this purpose, so that the journal before it can go. So a session that changes little needs
//   no more room than the one before.

extension Durability {
  /// True if the space has a reserve, which is made before the first data segment and stays when all content
  /// has gone.
  var hasReserve: Bool { catalog.withLock { $0.hasHadContent } }

  /// True if the disk has no room, besides the reserve, for a checkpoint and two journal segments. A quota
  /// shows only when the reserve is completed.
  private var isTight: Bool {
    guard hasReserve else { return false }
    if files.missingReserve > 0 {
      do throws(StoreError) { try files.fillReserve() } catch { return error.isShortage }
    }
    guard let available = try? room.capacity().availableBytes else { return false }
    let needed = Int64(room.checkpointSegments.load(ordering: .relaxed)) + 2
    return available < needed * Int64(files.segmentSize)
  }

  /// At a mount with little room, before any write: removes unneeded segments of earlier sessions at once,
  /// and completes the reserve.
  func makeRoomAtMount() {
    guard isTight || (hasReserve && files.missingReserve > 0) else { return }
    do throws(StoreError) {
      if !keepsEverything {
        try unlink(unneededSegments())
        try unlink(retiredSegments(grace: .zero))
        try unlink(unneededFences())
      }
      try files.fillReserve()
    } catch {
      options.logger.notice("little room at the mount: \(error)")
    }
  }

  /// Begins this session's first journal segment, if there is little room, so that older segments of journal
  /// and checkpoints can go, and unlinks them. Does nothing if one is begun or if there is room.
  func makeJournalFit(_ journal: inout Journal) throws(StoreError) {
    if journal.writer.isBegun || keepsEverything || !isSound || !hasReserve { return }
    if !isTight, try beginsWithoutReserve(&journal) { return }
    // The room of the fence before it comes back at once.
    try context.fence.take(spendsReserve: true)
    try releaseFences(&journal)
    try? files.fillReserve()
    let position = journal.writer.position
    if position.checkpoint.exists, position.formerCheckpoint.exists {
      // The mount has just read the newest checkpoint, so it is whole.
      journal.writer.giveUpFormerCheckpoint()
      try journal.writer.begin(syncAll)
      try files.sync([.journal])
    } else if try !beginWithCheckpoint(&journal) {
      return
    }
    try releaseOlderSegments(&journal)
  }

  /// Unlinks the fences before that of this session, once it has one. The caller holds the journal's lock.
  func releaseFences(_ journal: inout Journal) throws(StoreError) {
    if journal.hasReleasedFences || !context.fence.isTaken { return }
    try unlink(unneededFences(), &journal)
    journal.hasReleasedFences = true
  }

  /// After a head on disk has given up the former checkpoint: unlinks the segments that only that one needs,
  /// and completes the reserve.
  private func releaseOlderSegments(_ journal: inout Journal) throws(StoreError) {
    journal.hasGivenUpFormer = true
    journal.recordDurableCheckpoints()
    try unlink(unneededSegments(by: journal), &journal)
    try? files.fillReserve()
  }

  /// Begins a journal segment. If only the reserve has room for it, which a quota does not reveal
  /// beforehand, begins none and returns false.
  private func beginsWithoutReserve(_ journal: inout Journal) throws(StoreError) -> Bool {
    let former = journal.writer
    do throws(StoreError) { try journal.writer.begin(spendsReserve: false, syncAll) } catch {
      if !error.isShortage { throw error }
      let unborn = journal.writer.newest
      journal.writer = former
      try unlinkUnborn(unborn, journal)
      return false
    }
    return true
  }

  /// On a full disk, lets a long journal go: writes a checkpoint and a journal segment into the reserve, and
  /// unlinks everything before them. Does nothing if that would free less than two segments.
  func shortenJournalByReserve() throws(StoreError) {
    if keepsEverything || !isSound || !hasReserve { return }
    let listing = try files.list()
    let present = listing.numbers(of: .journal).count + listing.numbers(of: .checkpoint).count
    let needed = room.checkpointSegments.load(ordering: .relaxed) + 1
    if present < Int(needed) + 2 { return }
    try checkpointing.withLock { _ throws(StoreError) in
      try barrierState.withLock { state throws(StoreError) in
        try journal.withLock { journal throws(StoreError) in
          if try !beginWithCheckpoint(&journal) { return }
          journal.restarts += 1
          journal.lastFrame = journal.writer.position.frame
          journal.oldestUncovered = nil
          state.covered = max(state.covered, journal.lastFrame)
          state.isUnfinished = false
          try releaseOlderSegments(&journal)
        }
      }
    }
  }

  /// Writes a checkpoint and a journal segment that names it and no former one. If they do not fit into the
  /// reserve and the free room, changes nothing and returns false.
  private func beginWithCheckpoint(_ journal: inout Journal) throws(StoreError) -> Bool {
    // It contains changes that are not in a frame yet. The next frame states them once more, in their then
    // current state, which is harmless.
    let items = catalog.withLock { $0.encodeAll() }
    let size = Int64(files.segmentSize)
    let needed = Int64(checkpointLength(items.count)) + 1
    let reserved = Int64(SegmentFiles.reservedSegments) - files.missingReserve
    let available = files.missingReserve > 0 ? 0 : (try? room.capacity().availableBytes) ?? 0
    if needed > reserved + available / size { return false }
    try flushContent()
    var writer = CheckpointWriter(
      files: files, spendsReserve: true, nextSegment: checkpointNumbers(items.count))
    do throws(StoreError) {
      try writer.append(items, isLast: true)
      try writer.finish()
      try files.sync([.data, .checkpoint])
      if !writer.isContiguous { throw Durability.interrupted }
    } catch {
      giveUpCheckpoint(writer)
      try unlink(writer.segments, &journal)
      try? files.fillReserve()
      if error.isShortage { return false }
      throw error
    }
    var reference = writer.reference
    reference.lastFrame = journal.writer.position.frame
    reference.firstJournal = SegmentNumber(journal.writer.newest.rawValue + 1)
    reference.takenAt = files.clock.now
    // The checkpoint contains the queued items; after it, they would state an older state.
    journal.writer.abandon()
    journal.unstatedRetirements = []
    try journal.writer.adopt(reference, keepsFormer: false, syncAll: syncAll)
    try files.sync([.journal])
    room.recordCheckpoint(reference)
    return true
  }
}
