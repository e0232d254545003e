import AlbumFormat
import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

/// Makes changes durable, in the right order. A commit appends a frame, which survives the end of the
/// process. A barrier makes frames survive a power cut. A checkpoint shortens the journal. Unneeded segments
/// are unlinked behind all three. Touches the catalog, the journal and, through `ContentStore.flush`, data
/// segments. Any thread.
///
/// Locks: `checkpointing`, `barrierState`, `journal`, then `catalog` and those of the files (`LockRank` has
/// the whole order). `barrierState` and `journal` are held during the disk work that they put in order, which
/// is never the sync of a checkpoint; nobody who looks at the catalog or reads content waits for them.
final class Durability: SpacePart, Sendable {
  let context: SpaceContext
  let reclaims: Reclaims
  /// False: recovery found damage.
  let isSound: Bool

  let journal: Mutex<Journal>
  let barrierState = Mutex(BarrierState(), rank: .barrier)
  /// For a status, which waits for no barrier: one may take as long as a network is away.
  let lastBarrier = Mutex<Timestamp?>(nil, rank: .leaf)
  /// Frames up to this number are behind a barrier that another one proves.
  let provenFrame: Atomic<UInt64>
  /// The same where the store lies, if that is elsewhere.
  let provenThere: Atomic<UInt64>
  /// The turn to send. True: what was sent last is there for good.
  let sending = Mutex(true, rank: .sending)
  /// When everything that was changed until then was last sent; nil: not in this session.
  let sentUntil = Mutex<Timestamp?>(nil, rank: .leaf)
  /// The head of this session's journal is on disk.
  private let isAnnounced = Atomic<Bool>(false)
  /// One checkpoint at a time is written.
  let checkpointing = Mutex((), rank: .checkpointing)
  /// A checkpoint was taken since the last sweep.
  let checkpointTaken = Mutex(false, rank: .leaf)
  let hooks = Mutex(Hooks(), rank: .leaf)

  /// Calls into the layers above.
  struct Hooks {
    /// Lets the file system put into the catalog what open files have had pending for so long.
    var beforeBarrier: (@Sendable (_ pendingFor: Duration) -> Void)?
    /// Seals anew what lives in a segment that could not be written.
    var relocate: (@Sendable (SegmentNumber) throws(StoreError) -> Void)?
  }

  struct BarrierState {
    var covered = FrameNumber.none
    /// The last one was begun and failed.
    var isUnfinished = false
    /// Frames may refer to lost records that were written anew. Such frames must lie before a proven
    /// barrier, so that recovery does not check their records.
    var needsProof = false
    /// The frame that the last barrier covers.
    var stated = FrameNumber.none
  }

  /// `wasClean`: the last session ended by an unmount.
  init(_ context: SpaceContext, writer: JournalWriter, isSound: Bool, wasClean: Bool) {
    self.context = context
    reclaims = Reclaims(context)
    self.isSound = isSound
    let position = writer.position
    var journal = Journal(
      writer: writer, lastFrame: position.frame,
      checkpoints: [position.checkpoint, position.formerCheckpoint])
    journal.ignoresCheckpointUnderWay = context.options.omitting.contains(.provenAtUnlink)
    // An unmount proves all frames; after a crash `Space.conclude` does.
    context.catalog.withLock { catalog in
      journal.firstOwnCheckpoint = catalog.counters.nextCheckpointSegment
      if wasClean { return }
      for (number, account) in catalog.segments.accounts where account.state == .retired {
        journal.retirements[number] = position.frame
      }
    }
    let hasRelay = context.files.directory.relay != nil
    if hasRelay { journal.sent = [JournalNeeds(journal)] }
    provenThere = Atomic(hasRelay ? 0 : .max)
    self.journal = Mutex(journal, rank: .journal)
    provenFrame = Atomic(wasClean ? position.frame.rawValue : 0)
    // The frames of earlier sessions are on disk, or `Space.conclude` syncs them. Without this, the keeper's
    // first round would write a barrier in a session that changes nothing.
    barrierState.withLock { $0.covered = position.frame }
  }

  var keepsEverything: Bool { context.keepsEverything }

  /// True once this session has begun a journal segment.
  var hasWritten: Bool { journal.withLock { $0.writer.isBegun } }

  /// True while a frame waits for the barrier that covers it.
  var hasUncovered: Bool { journal.withLock { $0.oldestUncovered != nil } }

  func callBeforeBarrier(pendingFor duration: Duration) {
    guard let hook = hooks.withLock({ $0.beforeBarrier }) else { return }
    // Sealing must not wait for room here, because the caller may hold locks.
    reclaims.impatiently { hook(duration) }
  }

  /// Makes a session's first data segment only when the head of its journal is on disk. So after a crash it
  /// is known to be of this timeline, even if no frame names it. Takes the journal's lock, so the caller
  /// must not hold the lock of new data segments. `segments`: see `DiskRoom.require`.
  func announceSession(leaving segments: Int64?) throws(StoreError) {
    if isAnnounced.load(ordering: .acquiring) { return }
    try room.require(leaving: segments)
    try soleWriter { () throws(StoreError) in
      try journal.withLock { journal throws(StoreError) in
        if !journal.writer.isBegun {
          try makeJournalFit(&journal)
          if !journal.writer.isBegun {
            try journal.writer.begin { () throws(StoreError) in
              try files.sync(SegmentKind.allCases)
            }
          }
        }
        try files.sync([.journal])
        try announceJournal()
        try releaseFences(&journal)
      }
    }
    isAnnounced.store(true, ordering: .releasing)
  }

  /// Appends a frame with everything that was changed before the call, and writes the records that it refers
  /// to. Returns when that survives the end of the process. This is the only function that knows that a
  /// record must be in its segment before the frame that refers to it is appended. On a full disk it waits
  /// until there is room, or throws at once if `waitsForRoom` is false: for work in the background.
  func commit(waitsForRoom: Bool = true) throws(StoreError) {
    if waitsForRoom {
      return try reclaims.whenThereIsRoom { () throws(StoreError) in
        try commit(waitsForRoom: false)
      }
    }
    try appendFrame()
    try waitForLateBarrier()
  }

  /// Appends a frame if very many extents have changed since the last one. Callers that change content call
  /// this, so that a frame states a bounded number of extents.
  func commitIfCrowded() throws(StoreError) {
    if catalog.withLock({ $0.isCrowded }) { try commit() }
  }

  /// `begins`: appends a frame even if it states only that the session has begun.
  private func appendFrame(begins: Bool = false) throws(StoreError) {
    try requireCommittable()
    do throws(StoreError) { try frameChanges(begins) } catch {
      try barrierState.withLock { state throws(StoreError) in
        try rescuing(&state) { _ throws(StoreError) in try frameChanges(begins) }
      }
    }
  }

  private func frameChanges(_ begins: Bool) throws(StoreError) {
    if begins { catalog.withLock { $0.stateSessions() } }
    try journal.withLock { journal throws(StoreError) in
      if !journal.writer.hasWaiting, catalog.withLock({ !$0.hasChanges }) { return }
      try makeJournalFit(&journal)
      enqueueChanges(&journal)
      try writeFrames(&journal)
    }
  }

  /// Queues the changes of the catalog for the next frames.
  func enqueueChanges(_ journal: inout Journal) {
    let (items, retired) = catalog.withLock { catalog -> ([UInt8]?, [SegmentNumber]) in
      journal.writer.setLoss(catalog.loss)
      guard catalog.hasChanges else { return (nil, []) }
      let retired = catalog.newlyRetired
      return (catalog.takeChanges(), retired)
    }
    guard let items else { return }
    journal.writer.enqueue(items)
    journal.unstatedRetirements.formUnion(retired)
  }

  private func writeFrames(_ journal: inout Journal) throws(StoreError) {
    let begin = trace.journal?.now
    try flushContent()
    try journal.writer.write(syncAll: syncAll)
    journal.lastFrame = journal.writer.position.frame
    for number in journal.unstatedRetirements { journal.retirements[number] = journal.lastFrame }
    journal.unstatedRetirements = []
    if journal.oldestUncovered == nil { journal.oldestUncovered = .now }
    trace.journal?.record(
      "frame number=\(journal.lastFrame.rawValue) segment=\(journal.writer.newest.rawValue)",
      since: begin)
    try releaseFences(&journal)
  }

  /// Writes every record that was sealed before the call to its segment.
  func flushContent() throws(StoreError) {
    try content.flush { number in catalog.withLock { $0.setState(of: number, to: .living) } }
  }

  /// A read-only mount has nothing to commit and succeeds; a failed space throws.
  private func requireCommittable() throws(StoreError) {
    if options.readOnly { return }
    try health.requireWritable()
    try requireLock { journal.withLock { $0.writer.newest } }
  }

  /// Throws, and turns the space read-only, if another session has the space, or had it since this one lost
  /// its lock (`SpaceLock.renew`). `newest`: the number of the newest journal segment of this session.
  func requireLock(newest: () -> SegmentNumber) throws(StoreError) {
    guard let lock = context.lock, !options.readOnly else { return }
    do throws(StoreError) {
      if try !lock.renew(in: context.store) { return }
      let last = try files.listAnew().numbers(of: .journal).last
      if let last, last > newest() {
        throw StoreError(
          .inUse,
          "another session wrote to the space, because the files with its lock were replaced")
      }
      options.logger.warning("the files with the lock of the space were replaced; it is taken anew")
    } catch {
      health.turnReadOnly(error)
      throw error
    }
  }

  /// Throws, and turns the space read-only, if a session that began later writes the space, or may do so,
  /// because this one has lost its lock. What was on disk before the call counts. Of a store that lies
  /// elsewhere this tells nothing: see `requireSoleWriterThere`.
  func requireSoleWriter() throws(StoreError) {
    if options.readOnly || files.directory.relay != nil { return }
    try requireSoleWriterThere()
  }

  /// The same for what is where the store lies.
  func requireSoleWriterThere() throws(StoreError) {
    try soleWriter { () throws(StoreError) in
      try context.lock?.prove(in: files.directory)
      if !options.omitting.contains(.fence) { try context.fence.require() }
    }
  }

  /// Turns the space read-only if `body` finds that another session has it.
  private func soleWriter(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) { try body() } catch {
      if error.code == .inUse { health.turnReadOnly(error) }
      throw error
    }
  }

  /// Syncs everything that history depends on. A checkpoint's writer syncs it before a head names it.
  func syncAll() throws(StoreError) { try files.sync([.data, .journal, .reserve]) }

  /// Keeps the limit of 5 seconds: when the oldest uncovered frame nears it, new frames wait.
  private func waitForLateBarrier() throws(StoreError) {
    guard let oldest = journal.withLock({ $0.oldestUncovered }) else { return }
    if MonotonicTime.now - oldest > .milliseconds(4500) { try barrierNow() }
  }

  /// Returns when everything that was changed before the call is on disk. On a full disk it waits until
  /// there is room.
  func barrier() throws(StoreError) {
    try reclaims.whenThereIsRoom { () throws(StoreError) in try barrierNow() }
  }

  /// The same, but throws at once without room.
  func barrierNow() throws(StoreError) {
    try appendFrame()
    try barrierState.withLock { state throws(StoreError) in
      if journal.withLock({ $0.lastFrame }) <= state.covered { return }
      try rescuing(&state, appendBarrier)
    }
  }

  /// Appends a barrier even if the last one covers everything: it proves that one. The first frame of a
  /// session is never a barrier but states what the session found; the next mount relies on that.
  func forcedBarrier() throws(StoreError) {
    try appendFrame(begins: true)
    try barrierState.withLock { state throws(StoreError) in
      try rescuing(&state, appendBarrier)
    }
  }

  /// The only function that knows the order of syncs. It takes the number first: later frames belong to the
  /// next barrier.
  private func appendBarrier(_ state: inout BarrierState) throws(StoreError) {
    let begin = trace.journal?.now
    if state.isUnfinished { try finishBarrier() }
    state.isUnfinished = true
    var (last, content) = takeBarrierNumber()
    try files.sync([.data])
    if options.omitting.contains(.barrierNumberFirst) { (last, content) = takeBarrierNumber() }
    try journal.withLock { journal throws(StoreError) in
      try flushContent()
      try makeJournalFit(&journal)
      journal.writer.enqueue(Durability.barrierItem(last))
      try journal.writer.write(syncAll: syncAll)
    }
    try files.sync([.journal])
    try requireSoleWriter()
    state.isUnfinished = false
    self.content.forgetProven()
    // This barrier proves the previous one. Only this place changes `provenFrame`, under `barrierState`.
    let proven = max(provenFrame.load(ordering: .relaxed), state.stated.rawValue)
    provenFrame.store(proven, ordering: .releasing)
    state.stated = last
    trace.journal?.record("barrier frame=\(last.rawValue)", since: begin)
    if state.needsProof {
      state.needsProof = false
      return try appendBarrier(&state)
    }
    state.covered = max(state.covered, content)
    lastBarrier.withLock { $0 = Timestamp.now }
  }

  /// Completes a barrier that failed. It and all frames before it are on disk before the next barrier
  /// begins, which proves it.
  private func finishBarrier() throws(StoreError) {
    try journal.withLock { journal throws(StoreError) in
      if journal.writer.hasWaiting { try writeFrames(&journal) }
    }
    try files.sync([.data, .journal])
  }

  /// The last frame, and the last one that states something.
  private func takeBarrierNumber() -> (FrameNumber, FrameNumber) {
    journal.withLock { journal in
      journal.oldestUncovered = nil
      return (journal.writer.position.frame, journal.lastFrame)
    }
  }

  static func barrierItem(_ frame: FrameNumber) -> [UInt8] {
    var writer = ByteWriter()
    JournalItem.barrier(frame).encode(into: &writer)
    return writer.bytes
  }
}
