import AlbumFormat
import AlbumModel
import Posix

import struct Synchronization.Atomic

/// Makes changes durable, in the right order. A commit appends a frame, which survives the end of the
/// process. A barrier makes frames survive a power cut. A checkpoint shortens the journal. Unneeded segments
/// are unlinked behind all three. May touch the catalog, the journal and, by `ContentStore.flush`, data
/// segments. Any thread.
///
/// Lock order, outermost first: `CompactionTurn`, `checkpointing`, `barrierState`, `journal`, then
/// `catalog`; the locks of `ContentStore`, `SegmentWriter` and `SegmentFiles` come last, among them the sync
/// lock of each kind of segment. `catalog` is never held during disk work, sealing or a call of a hook.
/// `barrierState` and `journal` are held during the disk work that they put in order, which is never the
/// sync of a checkpoint; nobody who looks at the catalog or reads content waits for them. A segment file is
/// unlinked under `journal` (`Removal.swift`). A caller that waits for room (`Reclaims`) holds none of these
/// locks.
final class Durability: SpacePart, Sendable {
  let context: SpaceContext
  let reclaims: Reclaims
  /// False: recovery found damage.
  let isSound: Bool

  let journal: Mutex<Journal>
  let barrierState = Mutex(BarrierState())
  /// Frames up to this number are behind a barrier that another one proves.
  let provenFrame: Atomic<UInt64>
  /// The head of this session's journal is on disk.
  private let isAnnounced = Atomic<Bool>(false)
  /// One checkpoint at a time is written.
  let checkpointing = Mutex(())
  /// A checkpoint was taken since the last sweep.
  let checkpointTaken = Mutex(false)
  let hooks = Mutex(Hooks())

  /// Calls to who lies above.
  struct Hooks {
    /// Lets the file system put into the catalog what open files have had pending for so many milliseconds.
    var beforeBarrier: (@Sendable (_ pendingFor: Int64) -> Void)?
    /// Seals anew what lives in a segment that could not be written.
    var relocate: (@Sendable (SegmentNumber) throws(StoreError) -> Void)?
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
    // An unmount proves all frames; after a crash `settle` does.
    context.catalog.withLock { catalog in
      journal.firstOwnCheckpoint = catalog.counters.nextCheckpointSegment
      if wasClean { return }
      for (number, account) in catalog.segments.accounts where account.state == .retired {
        journal.retirements[number] = position.frame
      }
    }
    self.journal = Mutex(journal)
    provenFrame = Atomic(wasClean ? position.frame.rawValue : 0)
    // What was found is on disk, or `settle` sees to it: without this the first round of the keeper
    // would write a barrier in a session that changes nothing.
    barrierState.withLock { $0.covered = position.frame }
  }

  var keepsEverything: Bool { context.keepsEverything }

  /// True once this session has begun a journal segment.
  var hasWritten: Bool { journal.withLock { $0.writer.isBegun } }

  /// True while a frame waits for the barrier that covers it.
  var hasUncovered: Bool { journal.withLock { $0.oldestUncovered != 0 } }

  func callBeforeBarrier(pendingFor milliseconds: Int64) {
    guard let hook = hooks.withLock({ $0.beforeBarrier }) else { return }
    // What is sealed by it does not wait for room: locks may be held here.
    reclaims.impatiently { hook(milliseconds) }
  }

  /// A session's first data segment is made when the head of its journal is on disk: so what a crash
  /// leaves of it is known to be of this timeline, even if no frame names it. Takes the journal's lock,
  /// and so is called before anything takes the lock of new data segments. `segments`: see
  /// `DiskRoom.require`.
  func announceSession(leaving segments: Int64?) throws(StoreError) {
    if isAnnounced.load(ordering: .acquiring) { return }
    try room.require(leaving: segments)
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

  /// Appends a frame with all that was changed before the call, and the records that it refers to:
  /// returns when that survives the end of the process. The only function that knows that a record
  /// is in its segment before the frame that refers to it is appended.
  /// On a full disk waits until room was made.
  func commit() throws(StoreError) {
    try reclaims.whenThereIsRoom { () throws(StoreError) in try commitNow() }
  }

  /// The same, but throws at once where there is no room: for work in the background.
  func commitNow() throws(StoreError) {
    try appendFrame()
    try waitForLateBarrier()
  }

  /// Appends a frame where very many extents were changed since the last one. Who changes content calls
  /// this, so that however fast that goes a frame states a bounded number of extents.
  func commitIfCrowded() throws(StoreError) {
    if catalog.withLock({ $0.isCrowded }) { try commit() }
  }

  /// `begins`: also where there is nothing to state but that the session has begun.
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

  /// Takes what changed, to be stated by the next frames.
  func enqueueChanges(_ journal: inout Journal) {
    let (items, retired) = catalog.withLock { catalog -> ([UInt8]?, [SegmentNumber]) in
      journal.writer.note(catalog.loss)
      guard catalog.hasChanges else { return (nil, []) }
      let retired = catalog.newlyRetired
      return (catalog.takeChanges(), retired)
    }
    guard let items else { return }
    journal.writer.enqueue(items)
    journal.unstatedRetirements.formUnion(retired)
  }

  private func writeFrames(_ journal: inout Journal) throws(StoreError) {
    try flushContent()
    try journal.writer.write(syncAll: syncAll)
    journal.lastFrame = journal.writer.position.frame
    for number in journal.unstatedRetirements { journal.retirements[number] = journal.lastFrame }
    journal.unstatedRetirements = []
    if journal.oldestUncovered == 0 {
      journal.oldestUncovered = SystemClock.monotonicMilliseconds()
    }
  }

  /// Writes every record that was sealed before the call to its segment.
  func flushContent() throws(StoreError) {
    try content.flush { number in catalog.withLock { $0.setState(of: number, to: .living) } }
  }

  /// A read-only mount has nothing to commit and may say so; one that failed may not.
  private func requireCommittable() throws(StoreError) {
    if options.readOnly { return }
    try health.requireWritable()
  }

  /// Syncs all that history rests on. Whoever writes a checkpoint syncs it, before a head names it.
  func syncAll() throws(StoreError) { try files.sync([.data, .journal, .reserve]) }

  /// The 5 seconds are real: when the oldest frame without a barrier nears them, new ones wait.
  private func waitForLateBarrier() throws(StoreError) {
    let oldest = journal.withLock { $0.oldestUncovered }
    if oldest != 0, SystemClock.monotonicMilliseconds() - oldest > 4500 { try barrierNow() }
  }

  /// Returns when all that was changed before the call is on disk. On a full disk waits until room was
  /// made.
  func barrier() throws(StoreError) {
    try reclaims.whenThereIsRoom { () throws(StoreError) in try barrierNow() }
  }

  /// The same, but throws at once where there is no room.
  func barrierNow() throws(StoreError) {
    try appendFrame()
    try barrierState.withLock { state throws(StoreError) in
      if journal.withLock({ $0.lastFrame }) <= state.covered { return }
      try rescuing(&state, appendBarrier)
    }
  }

  /// A barrier also where the last one covers everything: it proves that one. The first frame of a
  /// session is never a barrier, but says what the session found: the next mount relies on that.
  func forcedBarrier() throws(StoreError) {
    try appendFrame(begins: true)
    try barrierState.withLock { state throws(StoreError) in
      try rescuing(&state, appendBarrier)
    }
  }

  /// The only function that knows the order of syncs. The number is taken first: what comes
  /// meanwhile is the next barrier's.
  private func appendBarrier(_ state: inout BarrierState) throws(StoreError) {
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
    state.isUnfinished = false
    // This one proves the one before it. Only here, and under the lock of barriers, is it written.
    let proven = max(provenFrame.load(ordering: .relaxed), state.stated.rawValue)
    provenFrame.store(proven, ordering: .releasing)
    state.stated = last
    if state.needsProof {
      state.needsProof = false
      return try appendBarrier(&state)
    }
    state.covered = max(state.covered, content)
    state.lastBarrier = Timestamp.now
  }

  /// A barrier that failed on its way is on disk before the next one begins, and all frames with it:
  /// it is by the next one that it counts as proven.
  private func finishBarrier() throws(StoreError) {
    try journal.withLock { journal throws(StoreError) in
      if journal.writer.hasWaiting { try writeFrames(&journal) }
    }
    try files.sync([.data, .journal])
  }

  /// The last frame, and the last that states something.
  private func takeBarrierNumber() -> (FrameNumber, FrameNumber) {
    journal.withLock { journal in
      journal.oldestUncovered = 0
      return (journal.writer.position.frame, journal.lastFrame)
    }
  }

  static func barrierItem(_ frame: FrameNumber) -> [UInt8] {
    var writer = ByteWriter()
    JournalItem.barrier(frame).encode(into: &writer)
    return writer.bytes
  }
}
