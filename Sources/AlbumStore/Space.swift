package import AlbumFormat
package import AlbumModel
import AlbumSecrets
package import Logging
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

/// How a space is opened.
package struct SpaceOpenOptions: Sendable {
  package var readOnly = false
  /// How long a segment stays after it was retired, in seconds, so that a copy of the store under
  /// way still finds it.
  package var graceSeconds: Int64 = 15 * 60
  /// Whether a thread of the space's own frames, syncs and sweeps. Without it only what is called
  /// happens: for tests that need every step in order.
  package var worksInBackground = true
  /// Where the times come from that decide how long something is kept.
  package var time = TimeSource.system
  /// The start of the machine that this session is of.
  package var boot = BootIdentity.current
  /// Whether the session adds chaff as `ChaffRule` says.
  package var addsChaff = false
  /// What the crash harness leaves out.
  package var omitting: Set<Precaution> = []
  package var logger: Logger

  package init(logger: Logger) { self.logger = logger }
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
/// come from any thread at once.
///
/// Lock order, outermost first: a turn of `compaction`, `checkpointing`, `barrierState`, `journal`,
/// then `catalog`; the locks of `ContentStore`, `SegmentWriter` and `SegmentFiles` come last, among them
/// the sync lock of each kind of segment. `catalog` is never held during disk work, sealing or a call of
/// somebody else's. `barrierState` and `journal` are held during the disk work that they put in order,
/// which is never the sync of a checkpoint; nobody who looks at the catalog or reads content waits for
/// them. A segment file is unlinked under `journal` (`Removal.swift`). A caller that waits for room
/// (`Space+Room.swift`) holds none of these locks.
package final class Space: Sendable {
  let store: Store
  let files: SegmentFiles
  let content: ContentStore
  let options: SpaceOpenOptions
  let lock: SpaceLock?
  let recovery: RecoveryReport

  let catalog: CatalogLock
  let journal: Mutex<Journal>
  let barrierState = Mutex(BarrierState())
  private let sequences = Mutex((next: UInt64(0), end: UInt64(0)))
  private let poison = Mutex<StoreError?>(nil)
  /// Why nothing can be taken over for the moment.
  private let shortage = Mutex<StoreError?>(nil)
  private let room = Mutex(Room())
  /// Who waits until room was made.
  let reclaims = Monitor(Reclaims())
  /// Frames up to this number are behind a barrier that another one proves.
  let provenFrame: Atomic<UInt64>
  /// The head of this session's journal is on disk.
  let isAnnounced = Atomic<Bool>(false)
  /// How many segments the newest checkpoint has.
  let checkpointSegments: Atomic<UInt32>
  private let beforeBarrier = Mutex<(@Sendable (Int64) -> Void)?>(nil)
  let keeper: Keeper
  /// A checkpoint was taken since the last sweep.
  let checkpointTaken = Mutex(false)
  /// One at a time is written.
  let checkpointing = Mutex(())
  let compaction = Compaction()
  /// Rises with whatever users of the space do: work in the background looks whether they are idle.
  let activity = Atomic<UInt64>(0)
  /// Data segments from this number on were begun by this session.
  let firstOwnSegment: UInt32

  /// What is known of the room on the disk.
  private struct Room {
    var hook: (@Sendable () -> Void)?
    var hasReturned = false
    /// When it was looked at last, in monotonic milliseconds, and what was seen.
    var lookedAt = Int64.min / 2
    var isNearlyFull = false
  }

  /// What the lock of `commit` guards.
  struct Journal {
    var writer: JournalWriter
    /// The last frame that states something; barriers state nothing.
    var lastFrame: FrameNumber
    /// The checkpoints that a head on disk names; what they need is kept.
    var checkpoints: [CheckpointReference]
    /// When the oldest frame was appended that no barrier covers, on the monotonic clock; 0: none.
    var oldestUncovered: Int64 = 0
    /// Retired data segments that a frame states which is not written yet, and, for the others that this
    /// session retired, a frame before which their statement lies.
    var unstatedRetirements: Set<SegmentNumber> = []
    var retirements: [SegmentNumber: FrameNumber] = [:]
    /// The first segment of the checkpoint that is being written; this one and later ones stay.
    var checkpointUnderWay: UInt32?
    /// What the crash harness leaves out: the checkpoint under way counts as unneeded.
    var ignoresCheckpointUnderWay = false
    /// How often the journal was begun anew: a checkpoint that was begun before does not count.
    var restarts = 0
    /// Checkpoint segments from this number on were begun by this session.
    var firstOwnCheckpoint: UInt32 = 0
    /// This session gave up the former checkpoint for want of room; what only that needs may go.
    var hasGivenUpFormer = false

    /// The head that names the newest checkpoint is on disk.
    mutating func noteCheckpoints() {
      checkpoints = [writer.position.checkpoint, writer.position.formerCheckpoint]
      if checkpoints.allSatisfy(\.exists) { hasGivenUpFormer = false }
    }
  }

  struct BarrierState {
    var covered = FrameNumber.none
    /// The last one was begun and failed.
    var isUnfinished = false
    /// Frames may refer to records that are lost and were written anew: they must not be what
    /// recovery believes record by record, but lie before a proven barrier.
    var needsProof = false
    var lastBarrier: Timestamp?
    /// The frame that the last barrier states.
    var stated = FrameNumber.none
  }

  init(
    store: Store, files: SegmentFiles, content: ContentStore, catalog: consuming Catalog,
    writer: JournalWriter,
    recovery: RecoveryReport, lock: SpaceLock?, options: SpaceOpenOptions
  ) {
    self.store = store
    self.files = files
    self.content = content
    self.options = options
    self.lock = lock
    self.recovery = recovery
    firstOwnSegment = catalog.counters.nextDataSegment
    let firstOwnCheckpoint = catalog.counters.nextCheckpointSegment
    let retired = catalog.segments.accounts.filter { $0.value.state == .retired }.map(\.key)
    self.catalog = CatalogLock(catalog)
    let position = writer.position
    var journal = Journal(
      writer: writer, lastFrame: position.frame,
      checkpoints: [position.checkpoint, position.formerCheckpoint])
    journal.ignoresCheckpointUnderWay = options.omitting.contains(.provenAtUnlink)
    journal.firstOwnCheckpoint = firstOwnCheckpoint
    // An unmount proves all frames; after a crash `settle` does.
    if !recovery.wasClean {
      for number in retired { journal.retirements[number] = position.frame }
    }
    self.journal = Mutex(journal)
    provenFrame = Atomic(recovery.wasClean ? position.frame.rawValue : 0)
    checkpointSegments = Atomic(max(1, position.checkpoint.segmentCount))
    // What was found is on disk, or `settle` sees to it: without this the first round of the keeper
    // would write a barrier in a session that changes nothing.
    barrierState.withLock { $0.covered = position.frame }
    keeper = Keeper()
    if options.readOnly {
      poison.withLock { $0 = StoreError(.readOnly, "the space was mounted read-only") }
    }
  }

  // MARK: The catalog

  /// Looks at the catalog under its lock. Nothing slow may be done in `body`.
  package func read<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing Catalog) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try catalog.withLock { catalog throws(Failure) in try body(catalog) }
  }

  /// Changes the catalog: one step of history, in a frame whole. Within 100 ms that frame is
  /// appended, by the next `commit` at once.
  package func change<Result: ~Copyable, Failure: Error>(
    _ body: (inout Catalog) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    activity.wrappingAdd(1, ordering: .relaxed)
    defer { keeper.wake() }
    return try catalog.withLock { catalog throws(Failure) in try body(&catalog) }
  }

  // MARK: Read-only

  package var isReadOnly: Bool { poison.withLock { $0 != nil } }

  /// Throws `.readOnly` with the reason where nothing may be changed.
  package func requireWritable() throws(StoreError) {
    if let reason = poison.withLock({ $0 }) {
      throw StoreError(.readOnly, reason.message, path: reason.path, cause: reason.cause)
    }
  }

  /// From now on nothing is written: what the catalog says and what is on disk may differ.
  func turnReadOnly(_ error: StoreError) {
    let isFirst = poison.withLock { poison in
      if poison != nil { return false }
      poison = error
      return true
    }
    if isFirst { options.logger.critical("the space is read-only from now on: \(error)") }
  }

  package var status: SpaceStatus {
    let (inodes, segments) = catalog.withLock { ($0.inodeCount, $0.segments.accounts.count) }
    let reason = poison.withLock { $0?.message }
    let missing = shortage.withLock { $0?.message }
    let last = barrierState.withLock { $0.lastBarrier }
    return SpaceStatus(
      readOnlyReason: reason, shortage: missing, lastBarrier: last, recovery: recovery,
      inodes: inodes, segments: segments, unreadableSegments: compaction.unreadable.count)
  }

  // MARK: Content

  /// Seals up to 64 KiB of a file's content as one record and answers where it is; held until the
  /// caller gives the extent to `Catalog.replaceExtents` or `Catalog.letGo`. The 64 bytes before
  /// `content` (`ReadHeadroom.byteCount`) must be writable and are clobbered; the content is not
  /// changed. What is sealed may be in memory only until `commit`.
  package func append(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64
  ) throws(StoreError) -> Extent {
    activity.wrappingAdd(1, ordering: .relaxed)
    let header = newRecord(content.count, of: inode, at: offset, fileLength)
    return try unsafe seal(content, header, mayCut: false)
  }

  /// The same, in two records where the first fills a segment to its end.
  package func appendPieces(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64
  ) throws(StoreError) -> [Extent] {
    activity.wrappingAdd(1, ordering: .relaxed)
    let header = newRecord(content.count, of: inode, at: offset, fileLength)
    let first = try unsafe seal(content, header, mayCut: true)
    if first.end == offset + Int64(content.count) { return [first] }
    do throws(StoreError) {
      return [first, try unsafe appendRest(content, of: inode, behind: first, fileLength)]
    } catch {
      catalog.withLock { $0.letGo(first) }
      throw error
    }
  }

  /// From a copy: what lies before it is content that others may be reading.
  private func appendRest(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, behind first: Extent,
    _ fileLength: Int64
  ) throws(StoreError) -> Extent {
    let rest = unsafe UnsafeRawBufferPointer(rebasing: content[Int(first.length)...])
    let copy = SegmentImage(byteCount: ReadHeadroom.byteCount + rest.count)
    defer { unsafe erase(copy.bytes) }
    let target = unsafe UnsafeMutableRawBufferPointer(
      rebasing: copy.bytes[ReadHeadroom.byteCount...])
    unsafe target.copyMemory(from: rest)
    return try unsafe append(target, of: inode, at: first.end, fileLength: fileLength)
  }

  private func newRecord(
    _ byteCount: Int, of inode: InodeNumber, at offset: Int64, _ fileLength: Int64
  ) -> DataRecord {
    DataRecord(
      inode: inode, offset: offset, length: UInt32(byteCount), sequence: takeSequence(),
      fileLength: fileLength)
  }

  /// Seals content under a header that is complete; with `mayCut` perhaps only its beginning. The
  /// extent is held. What is moved may take more of a full disk, since it gives room.
  func seal(
    _ content: UnsafeMutableRawBufferPointer, _ header: DataRecord, mayCut: Bool,
    isMoved: Bool = false
  ) throws(StoreError) -> Extent {
    precondition(content.count > 0 && content.count <= Int(DataRecord.contentLimit))
    try requireWritable()
    if isMoved { return try unsafe sealOnce(content, header, mayCut: mayCut, isMoved: true) }
    return try whenThereIsRoom { () throws(StoreError) in
      try unsafe sealOnce(content, header, mayCut: mayCut, isMoved: false)
    }
  }

  private func sealOnce(
    _ content: UnsafeMutableRawBufferPointer, _ header: DataRecord, mayCut: Bool, isMoved: Bool
  ) throws(StoreError) -> Extent {
    try announceSession(leaving: isMoved ? 1 : nil)
    return try unsafe self.content.append(
      content, header: header, mayCut: mayCut,
      begin: isMoved ? beginSegmentForMove : beginSegment,
      finished: { number in self.catalog.withLock { $0.setState(of: number, to: .living) } },
      held: { extent in catalog.withLock { $0.hold(extent) } })
  }

  /// Numbers are taken from the catalog a thousand at a time.
  private func takeSequence() -> UInt64 {
    sequences.withLock { range in
      if range.next == range.end {
        range.next = catalog.withLock { $0.takeSequence(count: 1024) }
        range.end = range.next + 1024
      }
      defer { range.next += 1 }
      return range.next
    }
  }

  /// Room that is left on the disk below for journal and checkpoints, in segments: the next checkpoint
  /// fits into it with the journal segment that names it.
  var checkpointRoom: Int64 {
    max(4, Int64(checkpointSegments.load(ordering: .relaxed)) + 2)
  }

  private func beginSegment() throws(StoreError) -> SegmentNumber {
    try requireRoom()
    noteRoom()
    return takeSegment()
  }

  private func beginSegmentForMove() throws(StoreError) -> SegmentNumber {
    try requireRoom(leaving: 1)
    return takeSegment()
  }

  /// A session's first data segment is made when the head of its journal is on disk: so what a crash
  /// leaves of it is known to be of this timeline, even if no frame names it. Takes the journal's lock,
  /// and so is called before anything takes the lock of new data segments. `segments`: see
  /// `requireRoom`.
  private func announceSession(leaving segments: Int64?) throws(StoreError) {
    if isAnnounced.load(ordering: .acquiring) { return }
    try requireRoom(leaving: segments)
    try journal.withLock { journal throws(StoreError) in
      if !journal.writer.isBegun {
        try makeJournalFit(&journal)
        if !journal.writer.isBegun {
          try journal.writer.begin { () throws(StoreError) in try files.sync(SegmentKind.allCases) }
        }
      }
      try files.sync([.journal])
    }
    isAnnounced.store(true, ordering: .releasing)
  }

  private func takeSegment() -> SegmentNumber {
    catalog.withLock { catalog in
      let number = catalog.takeDataSegment()
      let id = SegmentID(kind: .data, number: number)
      catalog.setState(of: number, to: .filling, birth: files.bear(id))
      return number
    }
  }

  /// Throws `.noSpace` or `.quotaExceeded` where no new data segment may be begun that leaves as many.
  func requireRoom(leaving segments: Int64? = nil) throws(StoreError) {
    try files.fillReserve()
    let available = try capacity().availableBytes
    if available < ((segments ?? checkpointRoom) + 1) * Int64(files.segmentSize) {
      throw StoreError(
        .noSpace,
        "the disk that holds the store is full: \(available >> 20) MiB are left, "
          + "which albumfs keeps to be able to remove files; free some space")
    }
  }

  /// Says once that room is missing.
  func noteShortage(_ error: StoreError) {
    let isFirst = shortage.withLock { shortage in
      defer { shortage = error }
      return shortage == nil
    }
    if isFirst { options.logger.error("nothing more can be stored for now: \(error)") }
    keeper.wake()
  }

  /// Something could be written.
  func noteRoom() {
    let wasShort = shortage.withLock { shortage in
      defer { shortage = nil }
      return shortage != nil
    }
    if !wasShort { return }
    options.logger.notice("there is room on the disk again")
    room.withLock { $0.hasReturned = true }
    keeper.wake()
  }

  /// Called from the keeper's thread, with no lock held, when there is room again after a shortage.
  package func setWhenRoomReturns(_ hook: @escaping @Sendable () -> Void) {
    room.withLock { $0.hook = hook }
  }

  /// Calls it if room has returned since the last call.
  func tellReturnedRoom() {
    let hook = room.withLock { room in
      defer { room.hasReturned = false }
      return room.hasReturned ? room.hook : nil
    }
    hook?()
  }

  /// Whether the next segments may find no room: then whoever writes is better told at once than when
  /// the file is closed, which not every program looks at. Looks at the disk once a second at most.
  package var isNearlyFull: Bool {
    if isShort { return true }
    let now = SystemClock.monotonicMilliseconds()
    if let known = room.withLock({ now - $0.lookedAt < 1000 ? $0.isNearlyFull : nil }) {
      return known
    }
    let least = 2 * checkpointRoom * Int64(files.segmentSize)
    let isNearlyFull = ((try? capacity())?.availableBytes ?? .max) < least
    room.withLock {
      $0.lookedAt = now
      $0.isNearlyFull = isNearlyFull
    }
    return isNearlyFull
  }

  /// Whether the disk is too full to take anything over.
  var isShort: Bool { shortage.withLock { $0 != nil } }

  /// Reads the whole of `extent` (clipped by the caller to what is wanted) into `buffer`, which has
  /// its length. Up to 64 bytes before the buffer must be writable and are clobbered. Throws
  /// `.damaged` where a record does not open: then the buffer's content is undefined and must not
  /// be shown.
  package func read(_ extent: Extent, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError)
  {
    activity.wrappingAdd(1, ordering: .relaxed)
    try unsafe content.read(extent, into: buffer)
  }

  /// What is free on the disk below.
  package func capacity() throws(StoreError) -> StorageCapacity {
    do throws(Errno) { return try files.directory.capacity() } catch {
      throw StoreError(reading: "", error)
    }
  }

  // MARK: What comes before a barrier

  /// Called before each barrier that comes by itself, about every 2 seconds while there is
  /// something: the file system takes the chance to put into the catalog what open files have had
  /// pending for so many milliseconds. It must neither commit nor wait for a barrier.
  package func setBeforeBarrier(_ hook: @escaping @Sendable (_ pendingFor: Int64) -> Void) {
    beforeBarrier.withLock { $0 = hook }
  }

  /// An open file has something pending that the catalog does not know yet: within about 2 seconds
  /// `beforeBarrier` is called. Cheap.
  package func stir() { keeper.wake() }

  func callBeforeBarrier(pendingFor milliseconds: Int64 = Space.barrierInterval) {
    guard let hook = beforeBarrier.withLock({ $0 }) else { return }
    // What is sealed by it does not wait for room: locks may be held here.
    reclaims.withLock { _ = $0.impatient.insert(PosixThread.current) }
    hook(milliseconds)
    reclaims.withLock { _ = $0.impatient.remove(PosixThread.current) }
  }

  func takeCheckpointTaken() -> Bool {
    checkpointTaken.withLock { taken in
      defer { taken = false }
      return taken
    }
  }

  static var now: Timestamp {
    Timestamp(nanoseconds: SystemClock.wallNanoseconds())
  }
}
