import AlbumFormat
import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

// A checkpoint is written in slices, under short holds of the catalog's lock, while operations continue:
//
// 1. A commit; L is the number of the last frame. Replay will start after L.
// 2. Slices: items of the space, then inodes by place in the arena, then names by directory, then former
//    places of deleted files, then past names. Frames after L state what changes meanwhile. They state new
//    states, so replaying them over a slice that has them already is harmless.
// 3. The checkpoint is synced. No commit and no barrier waits for that.
// 4. A barrier: slices may contain changes of frames up to now, so these frames must be on disk before a
//    recovery starts from the checkpoint.
// 5. A new journal segment names it. The previous checkpoint and the journal since then stay, in case this
//    one is damaged.
//
// From 1 to 5 its segments count as needed (`Journal.checkpointUnderWay`). If the journal restarts meanwhile
// (`Rescue.swift`), the checkpoint does not count, because the new journal lacks the frames after L.

extension Durability {
  /// Inodes and extents.
  private static let inodesPerSlice = 1024
  private static let namesPerSlice = 1024
  private static let formersPerSlice: UInt32 = 1024
  static let checkpointThreshold = 8 << 20

  /// Writes a checkpoint if the journal since the last one exceeds max(8 MiB, half of that checkpoint).
  /// Returns false if one is due and there is no room for it.
  @discardableResult
  func checkpointIfDue() throws(StoreError) -> Bool {
    if keepsEverything { return true }
    let (bytes, last) = journal.withLock { ($0.writer.byteCount, $0.writer.position.checkpoint) }
    let half = Int(last.segmentCount) * files.segmentSize / 2
    if bytes <= max(Durability.checkpointThreshold, half) { return true }
    // The reserve comes first.
    do throws(StoreError) { try room.require(leaving: Int64(last.segmentCount) + 1) } catch {
      if error.isShortage { return false }
      throw error
    }
    return try checkpoint()
  }

  /// Writes a checkpoint now. Returns false if there is no room for it.
  @discardableResult
  func checkpoint() throws(StoreError) -> Bool {
    try checkpointing.withLock { _ throws(StoreError) in try writeCheckpoint() }
  }

  /// The journal restarted while a checkpoint was written, which therefore does not count.
  static let interrupted = StoreError(
    .inputOutput, "a checkpoint was given up, because the journal was written anew meanwhile")

  private func writeCheckpoint() throws(StoreError) -> Bool {
    let begin = trace.journal?.now
    try commit(waitsForRoom: false)
    let (last, first, restarts) = journal.withLock { journal in
      journal.checkpointUnderWay = catalog.withLock { $0.counters.nextCheckpointSegment }
      return (
        journal.writer.position.frame, journal.writer.position.segment, journal.restarts
      )
    }
    var writer = CheckpointWriter(files: files) {
      self.catalog.withLock { $0.takeCheckpointSegment() }
    }
    do throws(StoreError) {
      try writer.append(catalog.withLock { $0.encodeSpace() })
      try writeInodes(&writer)
      try writeNames(&writer)
      try writeFormers(&writer)
      try writePastNames(&writer)
      try writer.append([], isLast: true)
      try writer.finish()
      try files.sync([.checkpoint])
      try barrierNow()
      // Syncs now, so that little is left to sync under the journal's lock.
      try syncAll()
      var reference = writer.reference
      reference.lastFrame = last
      reference.firstJournal = first
      reference.takenAt = files.clock.now
      try journal.withLock { journal throws(StoreError) in
        if journal.restarts != restarts || !writer.isContiguous { throw Durability.interrupted }
        try journal.writer.adopt(reference, syncAll: syncAll)
      }
      try files.sync([.journal])
      journal.withLock { journal in
        journal.recordDurableCheckpoints()
        journal.checkpointUnderWay = nil
      }
      room.recordCheckpoint(reference)
      checkpointTaken.withLock { $0 = true }
      trace.journal?.record(
        "checkpoint frame=\(last.rawValue) segments=\(reference.segmentCount)", since: begin)
      return true
    } catch {
      // Nothing refers to an incomplete checkpoint, unless its head waits to be written.
      giveUpCheckpoint(writer)
      journal.withLock { $0.checkpointUnderWay = nil }
      try unlink(writer.segments)
      trace.journal?.record("checkpoint-given-up error=\(error.code)", since: begin)
      if error.isShortage {
        options.logger.warning("no room for a checkpoint: \(error)")
        return false
      }
      throw error
    }
  }

  func takeCheckpointTaken() -> Bool {
    checkpointTaken.withLock { taken in
      defer { taken = false }
      return taken
    }
  }

  /// The number of segments for a checkpoint with this many bytes of items.
  func checkpointLength(_ byteCount: Int) -> Int {
    let record = RecordLayout.paddedByteCount(
      plaintext: CheckpointRecord.headerByteCount + CheckpointRecord.itemByteLimit)
    let records = byteCount / CheckpointRecord.itemByteLimit + 1
    let perSegment = max(1, files.segmentSize / record)
    return (records + perSegment - 1) / perSegment
  }

  /// Consecutive numbers for a checkpoint with this many bytes of items, even while another checkpoint is
  /// being written.
  func checkpointNumbers(_ byteCount: Int) -> () -> SegmentNumber {
    let count = checkpointLength(byteCount)
    var numbers = catalog.withLock { catalog in
      (0..<count).map { _ in catalog.takeCheckpointSegment() }
    }
    numbers.reverse()
    return { numbers.popLast() ?? self.catalog.withLock { $0.takeCheckpointSegment() } }
  }

  /// These segments will not count, so a failed sync of them does no harm.
  func giveUpCheckpoint(_ writer: CheckpointWriter) {
    for id in writer.segments where files.suspects.contains(id) { files.giveUp(id) }
  }

  private func writeInodes(_ writer: inout CheckpointWriter) throws(StoreError) {
    var cursor = InodeCursor()
    while !cursor.isAtEnd {
      let items = catalog.withLock { $0.encodeInodes(&cursor, count: Durability.inodesPerSlice) }
      if !items.isEmpty { try writer.append(items) }
    }
  }

  private func writeNames(_ writer: inout CheckpointWriter) throws(StoreError) {
    var cursor = NameCursor()
    while true {
      let items = catalog.withLock { $0.encodeNames(&cursor, count: Durability.namesPerSlice) }
      if !items.isEmpty { try writer.append(items) }
      if cursor.isAtEnd { return }
    }
  }

  private func writeFormers(_ writer: inout CheckpointWriter) throws(StoreError) {
    var start: UInt32 = 0
    while let items = catalog.withLock({
      $0.encodeFormers(&start, count: Durability.formersPerSlice)
    }) {
      if !items.isEmpty { try writer.append(items) }
    }
  }

  private func writePastNames(_ writer: inout CheckpointWriter) throws(StoreError) {
    var start: UInt32 = 0
    while let items = catalog.withLock({
      $0.encodePastNames(&start, count: Durability.formersPerSlice)
    }) {
      if !items.isEmpty { try writer.append(items) }
    }
  }
}

extension Catalog {
  /// Encodes the whole catalog at one instant, for a journal that restarts after it could not be written. It
  /// cannot be sliced, because no frame may come before.
  func encodeAll() -> [UInt8] {
    extents.steps.permit(.max / 2)
    var items = encodeSpace()
    var inodes = InodeCursor()
    while !inodes.isAtEnd { items += encodeInodes(&inodes, count: .max) }
    var cursor = NameCursor()
    while !cursor.isAtEnd { items += encodeNames(&cursor, count: .max) }
    var former: UInt32 = 0
    items += encodeFormers(&former, count: .max) ?? []
    var past: UInt32 = 0
    items += encodePastNames(&past, count: .max) ?? []
    return items
  }
}

/// The position in a walk over the names of all directories.
struct NameCursor {
  fileprivate var inode: UInt32 = 0
  fileprivate var cookie: UInt32 = 0
  fileprivate(set) var isAtEnd = false
}

extension Catalog {
  /// Encodes the items that belong to no inode.
  func encodeSpace() -> [UInt8] {
    var writer = ByteWriter()
    JournalItem.counters(reserved).encode(into: &writer)
    for (property, value) in properties {
      JournalItem.property(property, value).encode(into: &writer)
    }
    for segment in segments.accounts.keys { encode(segment, into: &writer) }
    for (birth, start) in sessions {
      JournalItem.session(birth, start).encode(into: &writer)
    }
    if loss != nil { JournalItem.loss(loss).encode(into: &writer) }
    encodePoints(into: &writer)
    return writer.bytes
  }

  /// Encodes the next inodes and extents, about `count`. A file with many extents takes several items, one
  /// for each stretch. If it changes between two slices, a frame states that.
  func encodeInodes(_ cursor: inout InodeCursor, count: Int) -> [UInt8] {
    var writer = ByteWriter()
    walk(&cursor, count: count) { slice in
      if slice.from == 0 { encodeWhole(slice.index, into: &writer) }
      if slice.extents.isEmpty { return }
      let number = inodes[slice.index].state.number
      JournalItem.extents(number, from: slice.from, to: slice.to, slice.extents)
        .encode(into: &writer)
    }
    return writer.bytes
  }

  /// Encodes the next names, at least `count` unless there are no more.
  func encodeNames(_ cursor: inout NameCursor, count: Int) -> [UInt8] {
    var writer = ByteWriter()
    var written = 0
    while cursor.inode < inodes.upperBound {
      if let index = inodes.occupant(cursor.inode), inodes[index].state.kind == .directory {
        let number = inodes[index].state.number
        var last = cursor.cookie
        forEachEntry(of: index, after: cursor.cookie) { name, child, cookie in
          if written >= count { return false }
          JournalItem.entry(directory: number, name: name, inode: inodes[child].state.number)
            .encode(into: &writer)
          last = cookie
          written += 1
          return true
        }
        cursor.cookie = last
        if written >= count { return writer.bytes }
      }
      cursor.inode += 1
      cursor.cookie = 0
    }
    cursor.isAtEnd = true
    return writer.bytes
  }
}
