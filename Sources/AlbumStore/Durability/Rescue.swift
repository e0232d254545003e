import AlbumFormat
import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

// Handles a write or sync that failed for another reason than want of room. The data of the segment may be on
// disk or not, and another sync cannot show that: Linux forgets a failed writeback once it was reported. So
// the space gives up the segment and writes its living content anew:
//
// - Data: the segment gets no more records. Its living content is read back (from memory if it never reached
//   the file, otherwise from the file, where each record proves itself), sealed into another segment and
//   framed.
// - Journal: a checkpoint of the whole catalog at one instant replaces all frames so far, and a new journal
//   segment starts with it.
// - Checkpoint: it is not adopted; the next one is tried later.
//
// Meanwhile no thread appends a frame or syncs. If this fails too, or if a directory could not be synced,
// the space turns read-only.
//
// A store on a network may be away for a while (`Outages`). Its calls return when it is back, so the rescue
// begins then. An outage during the rescue is no failure of it: the rescue begins anew.

extension Durability {
  /// How often the space writes content anew before it gives up.
  private static let rescueAttempts = 3

  /// Runs `body`, and runs it again after the failed segment's content was written anew. Throws if only room
  /// is missing (`body` may be tried again later), and if the space had to turn read-only.
  func rescuing(
    _ state: inout BarrierState, _ body: (inout BarrierState) throws(StoreError) -> Void
  ) throws(StoreError) {
    var attempts = 0
    while true {
      try health.requireWritable()
      let outages = outageCount
      do throws(StoreError) { return try body(&state) } catch {
        let wasAway = outageCount != outages
        if !wasAway { attempts += 1 }
        try handle(error, isLast: attempts > Durability.rescueAttempts, wasAway: wasAway)
        let begin = trace.journal?.now
        try rescue(&state)
        trace.journal?.record("rescue error=\(error.code)", since: begin)
      }
    }
  }

  private var outageCount: Int { files.directory.outages?.count ?? 0 }

  /// Runs `body` again if it failed because the store was away, after what may be lost was written anew. The
  /// caller holds no lock. For work that no barrier repeats.
  func outlasting<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    if files.directory.outages == nil { return try body() }
    var attempts = 0
    while true {
      let outages = outageCount
      do throws(StoreError) { return try body() } catch {
        let mayBeOutage = error.cause?.mayBeOutage ?? !files.suspects.isEmpty
        if outageCount == outages { attempts += 1 }
        if !mayBeOutage || isAway || attempts > Durability.rescueAttempts { throw error }
        try rescueAll()
      }
    }
  }

  private func rescueAll() throws(StoreError) {
    try barrierState.withLock { state throws(StoreError) in
      try rescuing(&state) { _ throws(StoreError) in
        if let suspect = files.suspects.first {
          throw StoreError(syncing: files.path(suspect), .io)
        }
      }
    }
  }

  /// Makes sure that the newest checkpoint is where a mount looks for it, if this session took it. A sync
  /// examines only segments that were just written, and a user may move a folder away later.
  func requireCheckpointInPlace() throws(StoreError) {
    try barrierState.withLock { state throws(StoreError) in
      try rescuing(&state) { _ throws(StoreError) in
        guard let (lost, newest) = try findLostCheckpoint() else { return }
        // The journal is incomplete without the checkpoint, so it begins anew with another.
        files.suspect(newest)
        throw files.movedAway(lost)
      }
    }
  }

  /// The first segment of the newest checkpoint that is gone, and the newest of the journal.
  private func findLostCheckpoint() throws(StoreError) -> (SegmentID, SegmentID)? {
    try journal.withLock { journal throws(StoreError) in
      let taken = journal.writer.position.checkpoint
      if !taken.exists || taken.firstSegment.rawValue < journal.firstOwnCheckpoint { return nil }
      for place in 0..<taken.segmentCount {
        let number = SegmentNumber(taken.firstSegment.rawValue + place)
        let id = SegmentID(kind: .checkpoint, number: number)
        if try !files.exists(id) {
          return (id, SegmentID(kind: .journal, number: journal.writer.newest))
        }
      }
      return nil
    }
  }

  /// True if the store does not respond, and is waited for no longer.
  private var isAway: Bool { files.directory.outages?.isGivenUp ?? false }

  private func handle(
    _ error: StoreError, isLast: Bool, wasAway: Bool = false
  ) throws(StoreError) {
    let isHopeless = isLast || isAway || files.hasLostDirectory
    if !isHopeless, !files.suspects.isEmpty || wasAway {
      options.logger.error("\(error); what is affected is written anew elsewhere")
    } else if error.isShortage, !files.hasLostDirectory {
      room.reportShortage(error)
      throw error
    } else {
      health.turnReadOnly(error)
      throw error
    }
  }

  /// Writes anew the content of segments whose write or sync failed.
  private func rescue(_ state: inout BarrierState) throws(StoreError) {
    do throws(StoreError) {
      // A caller that waits for room may hold content of the failed segment.
      try reclaims.hindering { () throws(StoreError) in try rescueSuspects(&state) }
    } catch {
      try handle(error, isLast: true)
    }
  }

  private func rescueSuspects(_ state: inout BarrierState) throws(StoreError) {
    try journal.withLock { journal throws(StoreError) in
      var restarts = false
      var attempts = 0
      while true {
        let outages = outageCount
        do throws(StoreError) { return try rescueSuspects(&state, &journal, &restarts) } catch {
          if outageCount == outages { attempts += 1 }
          let mayEnd = files.directory.outages != nil && !isAway && health.readOnlyReason == nil
          if mayEnd, attempts <= Durability.rescueAttempts { continue }
          if restarts { health.turnReadOnly(error) }
          throw error
        }
      }
    }
  }

  /// `restarts`: the journal must begin anew, now or when an earlier call failed.
  private func rescueSuspects(
    _ state: inout BarrierState, _ journal: inout Journal, _ restarts: inout Bool
  ) throws(StoreError) {
    if files.directory.outages != nil {
      try requireSoleWriter()
      files.suspectUnsynced()
    }
    let suspects = files.suspects
    let data = suspects.filter { $0.kind == .data }
    if !data.isEmpty { state.needsProof = true }
    do throws(StoreError) { try rescueData(data) } catch {
      for id in data { files.suspect(id) }
      throw error
    }
    restarts = restarts || suspects.contains { $0.kind == .journal }
    for id in suspects where id.kind != .data { files.giveUp(id) }
    if !restarts { return enqueueChanges(&journal) }
    try restart(&journal)
    // What counts as covered needs no further barrier.
    try requireSoleWriter()
    state.covered = max(state.covered, journal.lastFrame)
    state.isUnfinished = false
  }

  /// Gives up all of them first, so that none gets the content of another.
  private func rescueData(_ suspects: Set<SegmentID>) throws(StoreError) {
    for id in suspects {
      files.giveUp(id)
      content.giveUp(id.number)
    }
    for id in suspects { try moveLiving(outOf: id) }
  }

  private func moveLiving(outOf id: SegmentID) throws(StoreError) {
    for _ in 0..<50 {
      // Puts the records that open files have sealed there into the catalog, so that they move with the rest.
      callBeforeBarrier(pendingFor: .zero)
      try hooks.withLock({ $0.relocate })?(id.number)
      let live = catalog.withLock { $0.segments.accounts[id.number]?.live ?? 0 }
      if live <= 0 { return content.forget(id.number) }
      // A thread has sealed a record and not returned its place yet.
      SystemClock.sleep(milliseconds: 20)
    }
    throw StoreError(
      .inputOutput,
      "the content of a segment that could not be written cannot be written elsewhere either",
      path: files.path(id))
  }

  /// Restarts the journal with a checkpoint of this instant.
  private func restart(_ journal: inout Journal) throws(StoreError) {
    let items = catalog.withLock { catalog in
      // The checkpoint contains all changes.
      _ = catalog.takeChanges()
      return catalog.encodeAll()
    }
    journal.writer.abandon()
    journal.restarts += 1
    // The checkpoint states them, and its head will be on disk.
    journal.unstatedRetirements = []
    try flushContent()
    var writer = CheckpointWriter(
      files: files, spendsReserve: true, nextSegment: checkpointNumbers(items.count))
    try writer.append(items, isLast: true)
    try writer.finish()
    try files.sync([.data, .checkpoint])
    if !writer.isContiguous { throw Durability.interrupted }
    var reference = writer.reference
    reference.lastFrame = journal.writer.position.frame
    reference.firstJournal = SegmentNumber(journal.writer.newest.rawValue + 1)
    reference.takenAt = files.clock.now
    try journal.writer.adopt(reference) { () throws(StoreError) in try files.sync([.data]) }
    try files.sync([.journal])
    journal.lastFrame = journal.writer.position.frame
    journal.oldestUncovered = nil
    journal.recordDurableCheckpoints()
    room.recordCheckpoint(reference)
    checkpointTaken.withLock { $0 = true }
  }
}
