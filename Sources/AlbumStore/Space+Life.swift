import AlbumFormat
import AlbumModel
package import AlbumSecrets
import Logging
import Posix

import struct Synchronization.Atomic

// A space's life: birth, opening, what follows a crash, and the end of a session.

extension Space {
  /// Writes the first journal segment of a new space; the step before its key slot is written.
  package static func create(in store: Store, keys: SpaceKeys, options: SpaceOptions)
    throws(StoreError)
  {
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize)
    let now = Space.now
    var catalog = Catalog(
      rootOwner: options.owner, group: options.group, permissions: 0o755, time: now)
    catalog.setProperty(.thumbnailEdge, to: UInt64(options.thumbnailEdge))
    catalog.releaseReserve()
    catalog.beginSession(
      files.session, SessionStart(journal: SegmentNumber(1), checkpoint: SegmentNumber(1)))
    var writer = JournalWriter(
      JournalPosition(), newest: SegmentNumber(0), byteCount: 0, files: files, boot: .current)
    let syncAll = { () throws(StoreError) in try files.sync(SegmentKind.allCases) }
    writer.enqueue(catalog.takeChanges())
    try writer.write(syncAll: syncAll)
    for _ in 0..<2 {
      try syncAll()
      writer.enqueue(Space.barrierItem(writer.position.frame))
      try writer.write(syncAll: syncAll)
    }
    try writer.finish()
    try syncAll()
  }

  /// Opens a space: takes its lock, brings its catalog back and, where the last session did not end
  /// by an unmount, makes what is believed durable and says so before anything else is written.
  package static func open(_ store: Store, keys: SpaceKeys, options: SpaceOpenOptions)
    throws(StoreError) -> Space
  {
    let lock = try SpaceLock.take(store: store, keys: keys, readOnly: options.readOnly)
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize,
      clock: StoreClock(options.time))
    let content = ContentStore(files: files)
    var catalog = Catalog()
    let listing = try files.list()
    // What lies in a folder that is none cannot be found: a session that writes would go on without.
    if !options.readOnly, let folder = files.misplaced.first { throw folder }
    var recovery = Recovery(
      listing, files: files, content: content, boot: options.boot, omitting: options.omitting)
    try recovery.run(into: &catalog)
    try recovery.showWhole(&catalog)
    if !options.readOnly {
      catalog.beginSession(files.session, behind: recovery)
      if let first = recovery.report.firstLostInode, !options.omitting.contains(.statedLoss) {
        catalog.noteLoss(from: first, isEndOfCopy: recovery.report.mayLackJournalAsCopy)
      }
    }
    let corrections = catalog.settle()
    recovery.position.loss = catalog.loss
    let journals = recovery.newest.rawValue - recovery.firstJournal.rawValue + 1
    let writer = JournalWriter(
      recovery.position, newest: recovery.newest, byteCount: Int(journals) * files.segmentSize,
      files: files, boot: options.boot)
    let space = Space(
      store: store, files: files, content: content, catalog: catalog, writer: writer,
      recovery: recovery.report,
      lock: lock, options: options)
    space.logRecovery()
    if corrections > 0 {
      options.logger.warning(
        "damage left \(corrections) contradictions in the catalog, which were settled")
    }
    if options.readOnly { return space }
    if recovery.report.wasClean { space.makeRoomAtMount() } else { try space.settle(recovery) }
    if options.worksInBackground { try space.startKeeper() }
    return space
  }

  /// After a crash: what is believed is synced, and a new journal segment states the exact cut.
  private func settle(_ recovery: Recovery) throws(StoreError) {
    let believed =
      recovery.believedSegments.map { SegmentID(kind: .data, number: $0) }
      + [SegmentID(kind: .journal, number: recovery.position.segment)]
    if !options.omitting.contains(.syncBeforeCut) {
      for id in believed {
        // What is not there costs the files that had content in it.
        do throws(StoreError) { try resync(id) } catch {
          let isThere = error.cause.map { $0 != .noEntry && !$0.isMisplaced } ?? true
          if isThere { throw error }
        }
      }
    }
    // The head that says what is needed is on disk now.
    makeRoomAtMount()
    try journal.withLock { journal throws(StoreError) in
      try makeJournalFit(&journal)
      if !journal.writer.isBegun { try journal.writer.begin(syncAll) }
      try files.sync(SegmentKind.allCases)
    }
    provenFrame.store(recovery.position.frame.rawValue, ordering: .releasing)
  }

  /// Syncs what an earlier session wrote.
  func resync(_ id: SegmentID) throws(StoreError) {
    let path = files.path(id)
    do throws(Errno) {
      let file = try files.directory.open(path, .readWrite)
      try file.sync()
      try files.directory.syncDirectory(SegmentPath.directory(of: files.name(id)))
      try files.directory.syncDirectory(SegmentPath.root)
    } catch {
      throw StoreError(syncing: path, error)
    }
  }

  /// What was come across in the store that lies in the place of a segment and is none, one sentence each.
  package var misplaced: [String] { files.misplaced.map(\.message) }

  private func logRecovery() {
    let report = recovery
    if !report.wasClean {
      options.logger.notice(
        "the last session did not end by an unmount: \(report.believedFrames) frames behind the last barrier kept, \(report.cutFrames) cut, \(report.unreadableJournals) journal segments unreadable"
      )
    }
    if report.isDamaged {
      options.logger.error(
        "the store is damaged: \(report.damagedFrames) frames missing, \(report.lostEntries) names lost, \(report.lostContents) files with lost content, \(report.orphans) without a name, journal cut short: \(report.isCutShort), its end missing: \(report.isEndMissing), former checkpoint used: \(report.usedFormerCheckpoint)"
      )
    }
  }

  /// Writes everything out and ends the session. The caller has stopped using the space.
  package func close() throws(StoreError) {
    defer { lock?.release() }
    stopReclaims()
    compaction.stop()
    keeper.stop()
    if options.readOnly { return }
    defer { settleTimesInTheEnd() }
    // One that turned read-only says why once more: not everything is on disk.
    try requireWritable()
    try commitInTheEnd()
    let wasUsed = hasWritten || catalog.withLock { $0.hasChanges }
    if !wasUsed { return }
    try giveBackInTheEnd()
    catalog.withLock { $0.releaseReserve() }
    try commitNow()
    for _ in 0..<2 { try forcedBarrier() }
    // Only now: a half-filled segment with the time of those at rest says that its session ended so.
    let stated = catalog.withLock { Set($0.segments.accounts.keys) }
    try content.finish(stated.contains)
    try journal.withLock { journal throws(StoreError) in try journal.writer.finish() }
    try files.sync(SegmentKind.allCases)
    addChaffInTheEnd()
  }

  /// On a full disk gives room first, if need be.
  private func commitInTheEnd() throws(StoreError) {
    do throws(StoreError) { try commitNow() } catch {
      if !error.isShortage { throw error }
      try? giveBack()
      try commitNow()
    }
  }
}
