package import AlbumFormat
package import AlbumModel
import AlbumSecrets
package import Posix

import struct Synchronization.Atomic

/// What a new space is given at birth.
package struct SpaceOptions: Sendable {
  /// Long edge of a thumbnail, in pixels.
  package var thumbnailEdge: Int
  /// Owner and group of the root.
  package var owner: UInt32
  package var group: UInt32

  package init(thumbnailEdge: Int = 512, owner: UInt32, group: UInt32) {
    self.thumbnailEdge = thumbnailEdge
    self.owner = owner
    self.group = group
  }
}

/// How a space is doing.
package struct SpaceStatus: Sendable {
  /// Why nothing can be changed; nil: all is well.
  package var readOnlyReason: String?
  /// What is missing for the moment: room on the disk; nil: nothing.
  package var shortage: String?
  /// When everything was on disk last; nil: nothing was written in this session.
  package var lastBarrier: Timestamp?
  package var recovery: RecoveryReport
  package var inodes: Int
  package var segments: Int
  /// Segments with content that does not open, as far as compaction came across it in this session:
  /// they stay as they are.
  package var unreadableSegments: Int
}

/// One opened space of a store: its catalog in memory, its segments and its journal. All calls may
/// come from any thread at once. Each call goes to the part that does it; the lock order stands at
/// `Durability`.
package final class Space: Sendable {
  let context: SpaceContext
  let durability: Durability
  let records: RecordWriter
  let compactor: Compactor
  let housekeeping: Housekeeping
  let recovery: RecoveryReport

  init(_ context: SpaceContext, writer: JournalWriter, recovery: RecoveryReport) {
    self.context = context
    self.recovery = recovery
    durability = Durability(
      context, writer: writer, isSound: !recovery.isDamaged, wasClean: recovery.wasClean)
    records = RecordWriter(durability)
    compactor = Compactor(records, durability)
    housekeeping = Housekeeping(compactor)
    durability.hooks.withLock { hooks in
      hooks.relocate = { [weak compactor] number throws(StoreError) in
        try compactor?.moveLiving(outOf: number)
      }
    }
    durability.reclaims.setReclaim { [weak compactor] () throws(StoreError) in
      try compactor?.reclaim() ?? false
    }
  }

  private func noteActivity() { housekeeping.activity.wrappingAdd(1, ordering: .relaxed) }

  // MARK: The catalog

  /// Looks at the catalog under its lock. Nothing slow may be done in `body`.
  package func read<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing Catalog) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try context.catalog.withLock { catalog throws(Failure) in try body(catalog) }
  }

  /// Changes the catalog: one step of history, in a frame whole. Within 100 ms that frame is
  /// appended, by the next `commit` at once.
  package func change<Result: ~Copyable, Failure: Error>(
    _ body: (inout Catalog) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    noteActivity()
    defer { context.keeper.wake() }
    return try context.catalog.withLock { catalog throws(Failure) in try body(&catalog) }
  }

  // MARK: Content

  /// See `RecordWriter.append`.
  package func append(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64
  ) throws(StoreError) -> Extent {
    noteActivity()
    return try unsafe records.append(content, of: inode, at: offset, fileLength: fileLength)
  }

  /// See `RecordWriter.appendPieces`.
  package func appendPieces(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64
  ) throws(StoreError) -> [Extent] {
    noteActivity()
    return try unsafe records.appendPieces(content, of: inode, at: offset, fileLength: fileLength)
  }

  /// Reads the whole of `extent` (clipped by the caller to what is wanted) into `buffer`, which has
  /// its length. Up to 64 bytes before the buffer must be writable and are clobbered. Throws
  /// `.damaged` where a record does not open: then the buffer's content is undefined and must not
  /// be shown.
  package func read(_ extent: Extent, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError)
  {
    noteActivity()
    try unsafe context.content.read(extent, into: buffer)
  }

  // MARK: Durability

  /// See `Durability.commit`.
  package func commit() throws(StoreError) { try durability.commit() }
  /// See `Durability.commitIfCrowded`.
  package func commitIfCrowded() throws(StoreError) { try durability.commitIfCrowded() }
  /// See `Durability.barrier`.
  package func barrier() throws(StoreError) { try durability.barrier() }

  /// Called before each barrier that comes by itself, about every 2 seconds while there is
  /// something: the file system takes the chance to put into the catalog what open files have had
  /// pending for so many milliseconds. It must neither commit nor wait for a barrier.
  package func setBeforeBarrier(_ hook: @escaping @Sendable (_ pendingFor: Int64) -> Void) {
    durability.hooks.withLock { $0.beforeBarrier = hook }
  }

  /// An open file has something pending that the catalog does not know yet: within about 2 seconds
  /// `beforeBarrier` is called. Cheap.
  package func stir() { context.keeper.wake() }

  // MARK: Room

  /// See `Compactor.compact`.
  @discardableResult
  package func compact(
    progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws(StoreError) -> CompactionReport {
    try compactor.compact(progress: progress)
  }

  /// What is free on the disk below.
  package func capacity() throws(StoreError) -> StorageCapacity { try context.room.capacity() }

  /// See `DiskRoom.isNearlyFull`.
  package var isNearlyFull: Bool { context.room.isNearlyFull }

  /// Called from the keeper's thread, with no lock held, when there is room again after a shortage.
  package func setWhenRoomReturns(_ hook: @escaping @Sendable () -> Void) {
    context.room.setWhenReturned(hook)
  }

  // MARK: How it is doing

  package var isReadOnly: Bool { context.health.isReadOnly }

  /// Throws `.readOnly` with the reason where nothing may be changed.
  package func requireWritable() throws(StoreError) { try context.health.requireWritable() }

  package var status: SpaceStatus {
    let (inodes, segments) = read { ($0.inodeCount, $0.segments.accounts.count) }
    return SpaceStatus(
      readOnlyReason: context.health.readOnlyReason?.message,
      shortage: context.room.shortage?.message,
      lastBarrier: durability.barrierState.withLock { $0.lastBarrier }, recovery: recovery,
      inodes: inodes, segments: segments, unreadableSegments: compactor.turns.unreadable.count)
  }

  /// What was come across in the store that lies in the place of a segment and is none, one sentence each.
  package var misplaced: [String] { context.files.misplaced.map(\.message) }

  /// The number of a frame, and when it was looked at, in seconds of store time: what a machine remembers of
  /// a space, to notice a store that was put back.
  package typealias HistoryEnd = (frame: UInt64, seconds: Int64)

  /// The last frame.
  package var historyEnd: HistoryEnd {
    let frame = durability.journal.withLock { $0.writer.position.frame.rawValue }
    return (frame, context.files.clock.now.seconds)
  }

  /// The last frame that no power cut takes back. Waits for a barrier under way.
  package var durableHistoryEnd: HistoryEnd {
    let covered = durability.barrierState.withLock { $0.covered.rawValue }
    let proven = durability.provenFrame.load(ordering: .acquiring)
    return (max(covered, proven), context.files.clock.now.seconds)
  }

  /// What the space is called where a machine remembers it.
  package var memoryName: String { context.files.keys.memoryName }
}
