import AlbumFormat
import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

// Room on a full disk. Three rules keep a full disk from becoming a dead end:
//
// - The reserve is made full again before anything else takes room.
// - A session that begins where there is room for little more gives room first: what former sessions
//   left goes without its grace, and its first journal segment names no second chance, or a checkpoint
//   that it wrote for this purpose, so that the journal before it can go. So a session that changes
//   little needs no more room than the one before.
// - Nobody is refused while something can be reclaimed: a caller that finds no room waits until the
//   grace of all that is unneeded was given up and garbage was compacted, and then tries again.

/// Who waits for room.
struct Reclaims {
  /// Reclaims that were asked for, and the last that is over.
  var wanted: UInt64 = 0
  var done: UInt64 = 0
  /// Whether the last one made room.
  var hasGained = false
  /// Threads that must not wait for room: they hold locks that reclaiming takes, or others wait for
  /// them.
  var impatient: Set<UInt> = []
  /// Segments are being written anew, or the session ends: nobody waits.
  var isHindered = 0
  /// The last one that made no room: `SegmentLedger.released` and the time then.
  var inVain: (released: Int64, at: Int64)?
}

extension Space {
  /// How long a caller waits for room at most, in nanoseconds.
  private static let patience: Int64 = 60_000_000_000
  /// Segments that a reclaim frees beyond those that must be left, so that not every writer waits for one
  /// of its own.
  private static let spareSegments: Int64 = 16

  /// Runs `body`, again after room was made where it found none. Throws what `body` throws when no room
  /// can be made.
  func whenThereIsRoom<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError)
    -> Result
  {
    for _ in 0..<3 {
      do throws(StoreError) { return try body() } catch {
        if !error.isShortage { throw error }
        if isReadOnly || !waitsForRoom() {
          noteShortage(error)
          throw error
        }
      }
    }
    do throws(StoreError) { return try body() } catch {
      if error.isShortage { noteShortage(error) }
      throw error
    }
  }

  /// Returns when room was made, false where none can be.
  private func waitsForRoom() -> Bool {
    guard mayReclaim else { return false }
    if !options.worksInBackground { return reclaimed() }
    let ticket = reclaims.withLock { reclaims in
      reclaims.wanted += 1
      return reclaims.wanted
    }
    keeper.wake()
    let deadline = SystemClock.monotonicNanoseconds() + Space.patience
    let hasGained = reclaims.waiting(until: deadline) { reclaims -> Bool? in
      if reclaims.isHindered > 0 { return false }
      return reclaims.done >= ticket ? reclaims.hasGained : nil
    }
    return hasGained ?? false
  }

  /// Whether reclaiming may have success: not where the last one had none and little was let go since.
  private var mayReclaim: Bool {
    let (inVain, isImpatient) = reclaims.withLock { reclaims in
      (
        reclaims.inVain,
        reclaims.isHindered > 0 || reclaims.impatient.contains(PosixThread.current)
      )
    }
    if isImpatient { return false }
    guard let inVain else { return true }
    let released = catalog.withLock { $0.segments.released }
    if released - inVain.released >= Int64(files.segmentSize) / 4 { return true }
    return SystemClock.monotonicMilliseconds() - inVain.at > 2000
  }

  /// Nobody waits for room while `body` runs.
  func hinderingReclaims<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError)
    -> Result
  {
    reclaims.withLock { $0.isHindered += 1 }
    reclaims.notifyAll()
    defer { reclaims.withLock { $0.isHindered -= 1 } }
    return try body()
  }

  /// From now on nobody waits for room: the session ends.
  func stopReclaims() {
    reclaims.withLock { $0.isHindered += 1 }
    reclaims.notifyAll()
  }

  /// Reclaims for those who wait; for the housekeeping thread.
  func reclaimIfWanted() {
    let wanted = reclaims.withLock { $0.wanted > $0.done ? $0.wanted : nil }
    guard let wanted else { return }
    let hasGained = reclaimed()
    reclaims.withLock { reclaims in
      reclaims.done = wanted
      reclaims.hasGained = hasGained
    }
    reclaims.notifyAll()
  }

  private func reclaimed() -> Bool {
    var hasGained = false
    do throws(StoreError) {
      hasGained =
        try compaction.turn(waits: true) { work throws(StoreError) in try reclaim(&work) } ?? false
    } catch {
      options.logger.notice("no room could be made: \(error)")
    }
    if hasGained { noteRoom() }
    let released = catalog.withLock { $0.segments.released }
    reclaims.withLock {
      $0.inVain = hasGained ? nil : (released, SystemClock.monotonicMilliseconds())
    }
    return hasGained
  }

  /// Gives up the grace of all that is unneeded, and compacts as far as is needed. Returns whether there
  /// is room for data again. The caller has the turn.
  func reclaim(_ work: inout CompactionWork) throws(StoreError) -> Bool {
    try giveBack()
    if hasRoom(for: Space.spareSegments) { return true }
    plan(&work, .demanded)
    do throws(StoreError) {
      while !work.plan.victims.isEmpty {
        try emptyNext(&work, limit: Int64(files.segmentSize))
        try giveBack()
        if hasRoom(for: Space.spareSegments) { break }
      }
    } catch {
      work.plan = CompactionPlan()
      if !error.isShortage { throw error }
    }
    return hasRoom(for: 0)
  }

  /// Unlinks all that is unneeded, whatever its grace, and makes the reserve full.
  func giveBack() throws(StoreError) {
    if keepsEverything { return }
    try unlink(unneededSegments())
    do throws(StoreError) {
      try retireEmptied()
      try removeRetired(grace: 0)
    } catch {
      // Former sessions' retired segments went before the frame that found no room.
      if !error.isShortage { throw error }
    }
    if hasReserve { try? files.fillReserve() }
  }

  /// At the end of a session: on a disk that is nearly full what is unneeded goes now, and not with the
  /// next mount.
  func giveBackInTheEnd() throws(StoreError) {
    if isNearlyFull || (hasReserve && files.missingReserve > 0) { try giveBack() }
  }

  private func hasRoom(for spare: Int64) -> Bool {
    do throws(StoreError) {
      try requireRoom(leaving: checkpointRoom + spare)
      return true
    } catch { return false }
  }

  /// Makes the reserve full where a part of it was spent: before anything else takes room.
  func refillReserve() throws(StoreError) {
    guard hasReserve, files.missingReserve > 0 else { return }
    do throws(StoreError) { try files.fillReserve() } catch {
      if !error.isShortage { throw error }
      _ = try compaction.turn(waits: true) { _ throws(StoreError) in try giveBack() }
    }
  }

  // MARK: Little room

  /// Whether the space has a reserve: one is made before the first data segment.
  var hasReserve: Bool { catalog.withLock { !$0.segments.accounts.isEmpty } }

  /// True where the disk has no room, besides the reserve, for a checkpoint and two journal segments.
  /// A quota shows only when the reserve is made full.
  private var isTight: Bool {
    guard hasReserve else { return false }
    if files.missingReserve > 0 {
      do throws(StoreError) { try files.fillReserve() } catch { return error.isShortage }
    }
    guard let available = try? capacity().availableBytes else { return false }
    let needed = Int64(checkpointSegments.load(ordering: .relaxed)) + 2
    return available < needed * Int64(files.segmentSize)
  }

  /// At a mount, before anything is written: where there is little room, what former sessions left goes
  /// at once, and the reserve is made full.
  func makeRoomAtMount() {
    guard isTight || (hasReserve && files.missingReserve > 0) else { return }
    do throws(StoreError) {
      if !keepsEverything {
        try unlink(unneededSegments())
        try unlink(retiredSegments(grace: 0))
      }
      try files.fillReserve()
    } catch {
      options.logger.notice("little room at the mount: \(error)")
    }
  }

  /// Before this session's first journal segment is begun where there is little room: begins it so that
  /// older segments of journal and checkpoints can go, and unlinks them. Does nothing where one is begun
  /// or there is room.
  func makeJournalFit(_ journal: inout Journal) throws(StoreError) {
    if journal.writer.isBegun || keepsEverything || recovery.isDamaged || !hasReserve { return }
    if !isTight, try beginsWithoutReserve(&journal) { return }
    let position = journal.writer.position
    if position.checkpoint.exists, position.formerCheckpoint.exists {
      // The mount has just read the newer one: it is whole.
      journal.writer.giveUpFormerCheckpoint()
      try journal.writer.begin(syncAll)
      try files.sync([.journal])
    } else if try !beginWithCheckpoint(&journal) {
      return
    }
    journal.hasGivenUpFormer = true
    journal.noteCheckpoints()
    try unlink(unneededSegments(by: journal), &journal)
    try? files.fillReserve()
  }

  /// Begins a journal segment; where only the reserve has room for it, which a quota does not tell
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

  /// Writes a checkpoint and a journal segment that names it and no former one. Returns false, and has
  /// changed nothing, where they do not fit into the reserve and what is free.
  private func beginWithCheckpoint(_ journal: inout Journal) throws(StoreError) -> Bool {
    // What changed and is not framed yet is in it, and is stated once more by the next frame, as it is
    // then: that does no harm.
    let items = catalog.withLock { $0.encodeAll() }
    let size = Int64(files.segmentSize)
    let needed = Int64(checkpointLength(items.count)) + 1
    let reserved = Int64(SegmentFiles.reservedSegments) - files.missingReserve
    let available = files.missingReserve > 0 ? 0 : (try? capacity().availableBytes) ?? 0
    if needed > reserved + available / size { return false }
    try flushContent()
    var writer = CheckpointWriter(
      files: files, spendsReserve: true, nextSegment: checkpointNumbers(items.count))
    do throws(StoreError) {
      try writer.append(items, isLast: true)
      try writer.finish()
      try files.sync([.data, .checkpoint])
      if !writer.isContiguous { throw Space.interrupted }
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
    // What waited is in the checkpoint; after it, it would state a former state.
    journal.writer.abandon()
    journal.unstatedRetirements = []
    try journal.writer.adopt(reference, keepsFormer: false, syncAll: syncAll)
    try files.sync([.journal])
    checkpointSegments.store(max(1, reference.segmentCount), ordering: .relaxed)
    return true
  }
}
