import AlbumFormat
import AlbumModel
package import AlbumSecrets
import Logging
import Posix

import struct Synchronization.Atomic

// The life of a space: birth, opening, recovery after a crash, and the end of a session.

/// Properties of a new space.
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

extension Space {
  /// Writes the first journal segment of a new space, before its key slot is written.
  package static func create(in store: Store, keys: SpaceKeys, options: SpaceOptions)
    throws(StoreError)
  {
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize)
    let now = Timestamp.now
    var catalog = Catalog(
      rootOwner: options.owner, group: options.group, permissions: 0o755, time: now)
    catalog.setProperty(.thumbnailEdge, to: UInt64(options.thumbnailEdge))
    catalog.releaseReserve()
    catalog.beginSession(
      files.session, SessionStart(journal: SegmentNumber(1), checkpoint: SegmentNumber(1)))
    var writer = JournalWriter(
      JournalPosition(), newest: SegmentNumber(0), byteCount: 0, files: files, boot: .current,
      fence: Fence(ofNew: files))
    let syncAll = { () throws(StoreError) in try files.sync(SegmentKind.allCases) }
    writer.enqueue(catalog.takeChanges())
    try writer.write(syncAll: syncAll)
    for _ in 0..<2 {
      try syncAll()
      writer.enqueue(Durability.barrierItem(writer.position.frame))
      try writer.write(syncAll: syncAll)
    }
    try writer.finish()
    try syncAll()
  }

  /// Opens a space: takes its lock and restores its catalog. If the last session did not end with an
  /// unmount, it first makes the believed history durable and states that.
  package static func open(_ store: Store, keys: SpaceKeys, options: SpaceOpenOptions)
    throws(StoreError) -> Space
  {
    // Who only reads needs no lock: what a writer removes, he has not needed for the grace.
    let lock =
      try options.readOnly ? nil : SpaceLock.take(store: store, keys: keys, readOnly: false)
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize,
      toleratesReadErrors: options.readOnly, clock: StoreClock(options.time),
      trace: options.trace.compaction)
    let killed = options.readOnly ? [] : try beginStaging(files, overtaken: Space.refuse)
    var isOpen = false
    defer { if !isOpen { files.directory.relay?.end() } }
    let content = ContentStore(files: files)
    var catalog = Catalog()
    let listing = try files.list()
    defer { files.forgetListing() }
    RestingTimes.touchAccessTimes(of: listing.names, in: store.directory)
    // Segments in a misplaced folder cannot be found: a session that writes would continue without them.
    if !options.readOnly, var folder = files.misplaced.first {
      folder.remedy = .mountReadOnly
      throw folder
    }
    var recovery = try recover(files, content, options, into: &catalog)
    if !options.readOnly {
      catalog.beginSession(files.session, behind: recovery)
      if let first = recovery.report.firstLostInode, !options.omitting.contains(.statedLoss) {
        catalog.recordJournalLoss(from: first, isEndOfCopy: recovery.report.mayLackJournalAsCopy)
      }
    }
    let corrections = catalog.reconcile()
    recovery.position.loss = catalog.loss
    let journals = recovery.newest.rawValue - recovery.firstJournal.rawValue + 1
    let fence = Fence(files, behind: recovery.listing, try recovery.journalEnd())
    var leftBy: String?
    if !options.readOnly, !recovery.report.wasClean, !store.directory.kind.isLocal,
      !fence.isOf(killed)
    {
      try fence.watch(for: options.watch)
      if files.directory.relay != nil { leftBy = fence.machineBefore }
    }
    let writer = JournalWriter(
      recovery.position, newest: recovery.newest, byteCount: Int(journals) * files.segmentSize,
      files: files, boot: options.boot, fence: fence)
    let report = recovery.report
    let context = SpaceContext(
      store: store, files: files, content: content, catalog: catalog,
      checkpointSegments: writer.position.checkpoint.segmentCount,
      keepsEverything: report.keepsEverything, lock: lock, fence: fence, options: options)
    let space = Space(context, writer: writer, recovery: report, takenFrom: leftBy)
    space.logRecovery()
    if corrections > 0 {
      options.logger.warning(
        "damage left \(corrections) contradictions in the catalog, which the mount corrected")
    }
    isOpen = true
    if options.readOnly {
      if space.follows { try space.follow(from: fence) }
      return space
    }
    if report.wasClean { space.durability.makeRoomAtMount() } else { try space.conclude(recovery) }
    if options.worksInBackground { try space.housekeeping.start() }
    return space
  }

  /// How often the files of a server are read until two readings are the same.
  private static let readings = 4

  /// Restores the catalog. A session that writes goes on behind what recovery shows, so what that does not
  /// see is left out for good, and one reply of a server may be wrong. So what files of a server lack counts
  /// when two readings in a row show it.
  private static func recover(
    _ files: SegmentFiles, _ content: ContentStore, _ options: SpaceOpenOptions,
    into catalog: inout Catalog
  ) throws(StoreError) -> Recovery {
    let isThere = files.directory.isReadFromServer
    var report: RecoveryReport?
    var failure: StoreError.Code?
    for reading in 1...readings {
      let listing = reading == 1 ? try files.list() : try files.listAnew()
      files.rely(on: listing)
      catalog = Catalog()
      var recovery = Recovery(
        listing, files: files, content: content, boot: options.boot, isReadOnly: options.readOnly,
        omitting: options.omitting)
      do throws(StoreError) {
        try recovery.run(into: &catalog)
        try recovery.showWhole(&catalog)
        let isConfirmed = recovery.report == report || options.readOnly && reading > 1
        if !isThere || !recovery.report.lacksSomething || isConfirmed { return recovery }
        (report, failure) = (recovery.report, nil)
      } catch {
        let isOfContent = error.code == .damaged || error.code == .missing
        if !isThere || !isOfContent || error.code == failure { throw error }
        (report, failure) = (nil, error.code)
      }
      files.directory.forgetContents(of: nil)
      files.closeReadable()
    }
    throw StoreError(
      .inputOutput, "the server sends other content of the same files each time they are read")
  }

  /// After a crash: syncs the believed data, and begins a journal segment that states the exact cut.
  private func conclude(_ recovery: Recovery) throws(StoreError) {
    let believed =
      recovery.believedSegments.map { SegmentID(kind: .data, number: $0) }
      + [SegmentID(kind: .journal, number: recovery.position.segment)]
    if !context.options.omitting.contains(.syncBeforeCut) {
      for id in believed {
        // A missing segment costs the files that had content in it.
        do throws(StoreError) { try resync(id) } catch {
          let isThere = error.cause.map { $0 != .noEntry && !$0.isMisplaced } ?? true
          if isThere { throw error }
        }
      }
    }
    // The head that shows what is needed is on disk now.
    durability.makeRoomAtMount()
    try durability.journal.withLock { journal throws(StoreError) in
      try durability.makeJournalFit(&journal)
      if !journal.writer.isBegun { try journal.writer.begin(durability.syncAll) }
      try context.files.sync(SegmentKind.allCases)
    }
    durability.provenFrame.store(recovery.position.frame.rawValue, ordering: .releasing)
  }

  /// Syncs data of an earlier session.
  func resync(_ id: SegmentID) throws(StoreError) {
    let files = context.files
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

  private func logRecovery() {
    let report = recovery
    if !report.wasClean {
      context.options.logger.notice(
        "the last session did not end with an unmount: \(report.believedFrames) frames after the last barrier kept, \(report.cutFrames) cut, \(report.unreadableJournals) journal segments unreadable"
      )
    }
    if report.isDamaged {
      context.options.logger.error(
        "the store is damaged: \(report.damagedFrames) frames missing, \(report.lostEntries) names lost, \(report.lostContents) files with lost content, \(report.orphans) without a name, journal cut short: \(report.isCutShort), its end: \(report.end), checkpoint: \(report.checkpoint)"
      )
    }
  }

  /// Waits for a store that does not respond no longer than `Outages.patience` from now on.
  package func endPatience() { context.store.directory.outages?.endPatience() }

  /// Writes everything out and ends the session. The caller has stopped using the space.
  package func close() throws(StoreError) {
    defer { context.lock?.release() }
    endPatience()
    durability.reclaims.stop()
    compactor.turns.stop()
    context.keeper.stop()
    if context.options.readOnly { return }
    defer {
      settleTimesInTheEnd()
      context.files.directory.relay?.end()
    }
    // A space that turned read-only throws once more, because not everything is on disk.
    try requireWritable()
    if context.files.directory.relay == nil {
      // An outage during the seals may have lost what was stated before them.
      return try durability.outlasting { () throws(StoreError) in
        if try stateEnd() { try sealEnd() }
      }
    }
    let wasUsed = try durability.outlasting { () throws(StoreError) in try stateEnd() }
    // The seals of the end show that the journal has it. So the journal is sent before them, too.
    try durability.sendForUser()
    if !wasUsed { return }
    try durability.outlasting { () throws(StoreError) in try sealEnd() }
    try durability.sendForUser()
  }

  /// Returns false if the session has written nothing.
  private func stateEnd() throws(StoreError) -> Bool {
    try commitInTheEnd()
    let wasUsed = durability.hasWritten || read { $0.hasChanges }
    if !wasUsed { return false }
    try compactor.giveBackInTheEnd()
    context.catalog.withLock { $0.releaseReserve() }
    try durability.commit(waitsForRoom: false)
    try durability.requireCheckpointInPlace()
    for _ in 0..<2 { try durability.forcedBarrier() }
    return true
  }

  private func sealEnd() throws(StoreError) {
    // Only now: a half-filled segment with a resting time shows that its session ended so.
    let stated = read { Set($0.segments.accounts.keys) }
    try context.content.finish(stated.contains)
    try durability.journal.withLock { journal throws(StoreError) in try journal.writer.finish() }
    try context.files.sync(SegmentKind.allCases)
    compactor.addChaffInTheEnd()
  }

  /// On a full disk, makes room first if needed.
  private func commitInTheEnd() throws(StoreError) {
    do throws(StoreError) { try durability.commit(waitsForRoom: false) } catch {
      if !error.isShortage { throw error }
      try? compactor.giveBack()
      try durability.commit(waitsForRoom: false)
    }
  }

  /// Sets the times of everything at rest, as the last step of a session.
  private func settleTimesInTheEnd() {
    // Without background work, a test calls this itself. What lies elsewhere has no times.
    if context.options.worksInBackground, context.files.directory.relay == nil { settleTimes() }
  }

  /// The same for tests.
  func settleTimes(_ settling: TimeSettling = TimeSettling()) {
    var settling = settling
    settling.finish(context.files, context.lock)
    context.files.settleFolders()
  }
}

extension Catalog {
  /// The session that begins behind all that recovery found.
  fileprivate mutating func beginSession(_ birth: SegmentBirth, behind recovery: Recovery) {
    beginSession(
      birth,
      SessionStart(
        journal: SegmentNumber(recovery.newest.rawValue + 1),
        checkpoint: SegmentNumber(recovery.listing.usedSegments.nextCheckpointSegment)))
    setPropertyLater(.pointSession, to: birth.rawValue)
  }
}
