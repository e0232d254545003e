import AlbumFormat
import AlbumModel
import Logging
import Posix

// A checkpoint is written in slices under short holds of the catalog's lock while work goes on:
//
// 1. A commit; the last frame's number L is noted. Replay will begin behind L.
// 2. Slices: space-wide items, then inodes by place in the arena, then names by directory. What
//    changes meanwhile is in frames behind L, whose items state new states: replaying them over a
//    slice that knows them already is harmless.
// 3. A barrier: slices may hold what frames up to now say, so these must be on disk before anybody
//    starts from the checkpoint.
// 4. A new journal segment names it. The former checkpoint and the journal since it are kept, as a
//    second chance should this one be damaged.

extension Space {
  /// Inodes and extents.
  private static let inodesPerSlice = 1024
  private static let namesPerSlice = 1024
  static let checkpointThreshold = 8 << 20

  /// Writes a checkpoint where the journal since the last one exceeds max(8 MiB, half of it).
  func checkpointIfDue() throws(StoreError) {
    if keepsEverything { return }
    let (bytes, last) = journal.withLock { ($0.writer.byteCount, $0.writer.position.checkpoint) }
    let half = Int(last.segmentCount) * files.segmentSize / 2
    if bytes > max(Space.checkpointThreshold, half) { try checkpoint() }
  }

  /// Writes a checkpoint now.
  func checkpoint() throws(StoreError) {
    try checkpointing.withLock { _ throws(StoreError) in try writeCheckpoint() }
  }

  private func writeCheckpoint() throws(StoreError) {
    try commit()
    let (last, first) = journal.withLock {
      ($0.writer.position.frame, $0.writer.position.segment)
    }
    do throws(StoreError) {
      var writer = CheckpointWriter(files: files) {
        self.catalog.withLock { $0.takeCheckpointSegment() }
      }
      try writer.append(catalog.withLock { $0.encodeSpace() })
      try writeInodes(&writer)
      try writeNames(&writer)
      try writer.append([], isLast: true)
      try writer.finish()
      try barrier()
      var reference = writer.reference
      try requireSynced(reference)
      reference.lastFrame = last
      reference.firstJournal = first
      reference.takenAt = SystemClock.wallSeconds()
      try journal.withLock { journal throws(StoreError) in
        try journal.writer.adopt(reference) { () throws(StoreError) in
          try files.sync(SegmentKind.allCases)
        }
      }
      try files.sync([.journal])
      journal.withLock { $0.noteCheckpoints() }
      checkpointTaken.withLock { $0 = true }
    } catch {
      // Nothing refers to a checkpoint that is not whole; its segments are swept by a later session.
      if error.code == .noSpace || error.code == .quotaExceeded {
        options.logger.warning("no room for a checkpoint: \(error)")
        return
      }
      throw error
    }
  }

  /// Throws where a sync of one of its segments failed: it counts for nothing then.
  private func requireSynced(_ reference: CheckpointReference) throws(StoreError) {
    for step in 0..<reference.segmentCount {
      let number = SegmentNumber(reference.firstSegment.rawValue + step)
      let id = SegmentID(kind: .checkpoint, number: number)
      if files.isGivenUp(id) { throw StoreError(syncing: files.path(id), .io) }
    }
  }

  private func writeInodes(_ writer: inout CheckpointWriter) throws(StoreError) {
    var cursor = InodeCursor()
    while !cursor.isAtEnd {
      let items = catalog.withLock { $0.encodeInodes(&cursor, count: Space.inodesPerSlice) }
      if !items.isEmpty { try writer.append(items) }
    }
  }

  private func writeNames(_ writer: inout CheckpointWriter) throws(StoreError) {
    var cursor = NameCursor()
    while true {
      let items = catalog.withLock { $0.encodeNames(&cursor, count: Space.namesPerSlice) }
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
