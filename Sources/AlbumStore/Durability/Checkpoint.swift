import AlbumFormat
import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

// A checkpoint is written in slices under short holds of the catalog's lock while work goes on:
//
// 1. A commit; the last frame's number L is noted. Replay will begin behind L.
// 2. Slices: space-wide items, then inodes by place in the arena, then names by directory. What
//    changes meanwhile is in frames behind L, whose items state new states: replaying them over a
//    slice that knows them already is harmless.
// 3. The checkpoint is synced. Nobody waits for that: no lock is held that a commit or a barrier takes.
// 4. A barrier: slices may hold what frames up to now say, so these must be on disk before anybody
//    starts from the checkpoint.
// 5. A new journal segment names it. The former checkpoint and the journal since it are kept, as a
//    second chance should this one be damaged.
//
// From 1 to 5 its segments count as needed (`Journal.checkpointUnderWay`). Where the journal is begun
// anew meanwhile (`Rescue.swift`), the checkpoint does not count: the frames behind L are not in
// the new journal.

extension Durability {
  /// Inodes and extents.
  private static let inodesPerSlice = 1024
  private static let namesPerSlice = 1024
  static let checkpointThreshold = 8 << 20

  /// Writes a checkpoint where the journal since the last one exceeds max(8 MiB, half of it). Returns
  /// false where one is due and there is no room for it.
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

  /// Writes a checkpoint now. Returns false where there is no room for it.
  @discardableResult
  func checkpoint() throws(StoreError) -> Bool {
    try checkpointing.withLock { _ throws(StoreError) in try writeCheckpoint() }
  }

  /// The journal was begun anew while a checkpoint was written, which therefore does not count.
  static let interrupted = StoreError(
    .inputOutput, "a checkpoint was given up, since what it was based on was written anew")

  private func writeCheckpoint() throws(StoreError) -> Bool {
    try commitNow()
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
      try writer.append([], isLast: true)
      try writer.finish()
      try files.sync([.checkpoint])
      try barrierNow()
      // What comes from here on is all that is left to sync under the journal's lock.
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
        journal.noteCheckpoints()
        journal.checkpointUnderWay = nil
      }
      room.noteCheckpoint(reference)
      checkpointTaken.withLock { $0 = true }
      return true
    } catch {
      // Nothing refers to a checkpoint that is not whole, but where its head waits to be written.
      giveUpCheckpoint(writer)
      journal.withLock { $0.checkpointUnderWay = nil }
      try unlink(writer.segments)
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

  /// How many segments a checkpoint of so many bytes of items takes.
  func checkpointLength(_ byteCount: Int) -> Int {
    let record = RecordLayout.paddedByteCount(
      plaintext: CheckpointRecord.headerByteCount + CheckpointRecord.itemByteLimit)
    let records = byteCount / CheckpointRecord.itemByteLimit + 1
    let perSegment = max(1, files.segmentSize / record)
    return (records + perSegment - 1) / perSegment
  }

  /// Numbers for a checkpoint of so many bytes of items, which follow one another although another
  /// checkpoint is under way.
  func checkpointNumbers(_ byteCount: Int) -> () -> SegmentNumber {
    let count = checkpointLength(byteCount)
    var numbers = catalog.withLock { catalog in
      (0..<count).map { _ in catalog.takeCheckpointSegment() }
    }
    numbers.reverse()
    return { numbers.popLast() ?? self.catalog.withLock { $0.takeCheckpointSegment() } }
  }

  /// What is in these segments will not count: a sync of them that failed hinders nobody.
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
}

extension Catalog {
  /// The whole catalog at one instant: for the journal that begins anew where it could not be written.
  /// Cannot be sliced, since nothing may be framed before.
  func encodeAll() -> [UInt8] {
    extents.steps.permit(.max / 2)
    var items = encodeSpace()
    var inodes = InodeCursor()
    while !inodes.isAtEnd { items += encodeInodes(&inodes, count: .max) }
    var cursor = NameCursor()
    while !cursor.isAtEnd { items += encodeNames(&cursor, count: .max) }
    return items
  }
}

/// How far the names of all directories were written.
struct NameCursor {
  fileprivate var inode: UInt32 = 0
  fileprivate var cookie: UInt32 = 0
  fileprivate(set) var isAtEnd = false
}

extension Catalog {
  /// What belongs to no inode.
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
    return writer.bytes
  }

  /// The next inodes and extents, about `count`. A file with many extents is stated in several items,
  /// each of a stretch. When it changes between two slices, a frame says so.
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

  /// The next names, at least `count` unless there are no more.
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
