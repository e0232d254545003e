import AlbumFormat
import AlbumModel
import Posix

import struct Synchronization.Atomic

// How changes become durable. A commit appends a frame: what it states survives the end of the
// process. A barrier makes frames survive a power cut.

extension Space {
  /// Appends a frame with all that was changed before the call, and the records that it refers to:
  /// returns when that survives the end of the process. The only function that knows that a record
  /// is in its segment before the frame that refers to it is appended.
  /// On a full disk waits until room was made.
  package func commit() throws(StoreError) {
    try whenThereIsRoom { () throws(StoreError) in try commitNow() }
  }

  /// The same, but throws at once where there is no room: for work in the background.
  func commitNow() throws(StoreError) {
    try appendFrame()
    try waitForLateBarrier()
  }

  /// Appends a frame where very many extents were changed since the last one. Who changes content calls
  /// this, so that however fast that goes a frame states a bounded number of extents.
  package func commitIfCrowded() throws(StoreError) {
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
    try requireWritable()
  }

  /// What history rests on. A checkpoint is synced by who writes it, before a head names it.
  func syncAll() throws(StoreError) { try files.sync([.data, .journal, .reserve]) }

  /// The 5 seconds are real: when the oldest frame without a barrier nears them, new ones wait.
  private func waitForLateBarrier() throws(StoreError) {
    let oldest = journal.withLock { $0.oldestUncovered }
    if oldest != 0, SystemClock.monotonicMilliseconds() - oldest > 4500 { try barrierNow() }
  }

  /// Returns when all that was changed before the call is on disk. On a full disk waits until room was
  /// made.
  package func barrier() throws(StoreError) {
    try whenThereIsRoom { () throws(StoreError) in try barrierNow() }
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
      journal.writer.enqueue(Space.barrierItem(last))
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
    state.lastBarrier = Space.now
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
