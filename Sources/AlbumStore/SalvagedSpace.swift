package import AlbumFormat
package import AlbumModel
package import AlbumSecrets
import Logging
import Posix

/// A space brought back as far as that goes, however damaged: what a check judges, and what a repair begins
/// with. Reads alone. The caller holds the space's lock.
package struct SalvagedSpace: ~Copyable {
  /// As a mount would show it.
  package let catalog: Catalog
  /// What a mount would report.
  package let report: RecoveryReport
  /// What is missing of journal and checkpoints.
  package let losses: SalvageReport
  package let journal: JournalCheck
  /// What was wrong in the catalog before a mount's policy was applied to it.
  package let audit: CatalogAudit
  private let store: Store
  private let files: SegmentFiles
  private let recovery: Recovery

  /// Throws `.missing` where the store holds nothing that these keys open, `.unsupportedFeature`, and what
  /// the disk answers.
  package init(_ store: Store, keys: SpaceKeys) throws(StoreError) {
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize,
      readsAround: true)
    var catalog = Catalog()
    let listing = try files.list()
    var recovery = Recovery(
      listing, files: files, content: ContentStore(files: files), boot: .current)
    try recovery.salvage(into: &catalog)
    let losses = recovery.salvaged ?? SalvageReport()
    if losses.hasNoJournal { try SalvagedSpace.requireSegments(listing) }
    let journal = try JournalCheck(&recovery, losses)
    try recovery.showWhole(&catalog)
    var audit = CatalogAudit(catalog)
    audit.auditContent(catalog, segmentSize: files.segmentSize)
    _ = catalog.settle(audit)
    self.audit = audit
    self.journal = journal
    self.catalog = catalog
    self.losses = losses
    self.report = recovery.report
    self.recovery = recovery
    self.files = files
    self.store = store
  }

  /// A password that opens a slot of this store opens a space of it, however damaged; a recovery key
  /// may be of another store. Its segments tell.
  private static func requireSegments(_ listing: SegmentListing) throws(StoreError) {
    for kind in [SegmentKind.data, .checkpoint] {
      if !listing.numbers(of: kind).isEmpty { return }
    }
    throw StoreError(
      .missing,
      "the store holds nothing of this space: the copy is incomplete, or the recovery key is of "
        + "another store; restore the folder segments from a backup", path: SegmentPath.root)
  }

  /// True where a part of the journal is missing, so that records tell more than the catalog knows.
  package var isJournalIncomplete: Bool {
    report.isJournalIncomplete || losses.isIncomplete || losses.rootWasLost || report.loss != nil
  }

  // MARK: Segments

  package var segmentSize: Int { files.segmentSize }

  /// The data segments of the space that are there.
  package var dataSegments: Set<SegmentNumber> { Set(recovery.listing.numbers(of: .data)) }

  /// Names of all segments in the store, and of those that are the space's.
  package var segmentNames: (all: Set<SegmentName>, own: Set<SegmentName>) {
    (recovery.listing.names, Set(recovery.listing.own.values.joined().map(\.name)))
  }

  /// What was come across that lies in the place of a segment or a folder and is none.
  package var misplaced: [StoreError] { files.misplaced }

  /// The segments of journal, checkpoints and content that the disk cannot read in full.
  package var unreadable: [StoreError] { files.unreadable }

  /// Where a segment lies in the store.
  package func path(_ kind: SegmentKind, _ number: SegmentNumber) -> String {
    files.path(SegmentID(kind: kind, number: number))
  }

  /// What the end of a journal told of that went missing some sessions ago: nothing else leaves segments of
  /// earlier sessions that were finished and that no frame names.
  package borrowing func finishedStrays() throws(StoreError) -> Set<SegmentNumber> {
    var strays: Set<SegmentNumber> = []
    for number in dataSegments where catalog.segments.accounts[number] == nil {
      let id = SegmentID(kind: .data, number: number)
      if try files.seal(of: id)?.reason == .endOfSession { strays.insert(number) }
    }
    return strays
  }

  /// Opens every record that the catalog refers to, and all others in the segments `walked`. `progress` is
  /// called from several threads with bytes of segments, and returns whether to go on; returns nil where it
  /// did not.
  package borrowing func readRecords(
    walking walked: Set<SegmentNumber>,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Bool
  ) throws(StoreError) -> [SegmentFindings]? {
    let pass = RecordPass(
      files: files, uses: catalog.recordUses(), walked: walked, progress: progress)
    return try pass.run()
  }

  // MARK: Repair

  /// What a repair must know besides the space.
  package struct RepairTerms {
    /// What was found in the segments: numbers exist in the store whether the catalog knows them or not.
    package var findings: [SegmentFindings]
    /// Numbers may have been given out that the catalog does not know.
    package var mayReuseNumbers: Bool
    /// Whose the root is, should nothing state that.
    package var owner: UInt32
    package var group: UInt32
    package var time: Timestamp

    package init(
      _ findings: [SegmentFindings], mayReuseNumbers: Bool, owner: UInt32, group: UInt32,
      time: Timestamp
    ) {
      self.findings = findings
      self.mayReuseNumbers = mayReuseNumbers
      self.owner = owner
      self.group = group
      self.time = time
    }
  }

  /// Makes what `change` does to the space durable. A repair is an ordinary session that writes: a frame with
  /// all changes, two fresh checkpoints, so that neither the journal nor the checkpoints from before are
  /// needed any more, two barriers. A crash in between leaves the space as it was found, or repaired.
  package consuming func repair(
    _ terms: RepairTerms, _ change: (Space) throws(StoreError) -> Void
  ) throws(StoreError) {
    let used = usedNumbers(terms.findings)
    let position = startOfJournal
    let lostRoot = losses.rootWasLost
    let (recovery, files, store) = (recovery, files, store)
    var catalog = catalog
    if terms.mayReuseNumbers {
      catalog.skipNumbers(before: used.orLater(catalog.numbersInUse), leavingOut: .lostFrames)
    }
    if lostRoot { catalog.ownRoot(terms) }
    catalog.beginSession(
      files.session,
      SessionStart(
        journal: SegmentNumber(position.rawValue + 1),
        checkpoint: SegmentNumber(catalog.counters.nextCheckpointSegment)))
    let space = Space(repairing: store, files, catalog, recovery, position)
    try change(space)
    try space.finishRepair(recovery)
  }

  private func usedNumbers(_ findings: [SegmentFindings]) -> SpaceCounters {
    var used = recovery.listing.usedSegments
    used.nextInode = (findings.map(\.greatestInode).max() ?? 0) + 1
    used.nextSequence = (findings.map(\.greatestSequence).max() ?? 0) + 1
    return used
  }

  /// The number behind which the journal goes on: above any that there may have been. Segments that
  /// are gone may come back with an old copy of the store.
  private var startOfJournal: SegmentNumber {
    if losses.hasNoJournal { return SegmentNumber(1 << 16) }
    let isDamaged = isJournalIncomplete || !journal.headless.isEmpty
    // Behind those of another copy of the store, too: from then on they are before the journal.
    let newest = recovery.listing.numbers(of: .journal).last ?? recovery.newest
    return SegmentNumber(max(newest, recovery.newest).rawValue + (isDamaged ? 512 : 0))
  }
}

extension Catalog {
  /// A root that nothing stated belongs to whoever repairs.
  fileprivate mutating func ownRoot(_ terms: SalvagedSpace.RepairTerms) {
    guard let root = index(of: .root) else { return }
    update(root) { state in
      state.owner = terms.owner
      state.group = terms.group
      state.accessed = terms.time
      state.modified = terms.time
      state.changed = terms.time
    }
    if properties[.thumbnailEdge] == nil {
      setProperty(.thumbnailEdge, to: UInt64(SpaceOptions(owner: 0, group: 0).thumbnailEdge))
    }
  }
}

extension Space {
  /// A session for a repair: nothing happens in the background.
  fileprivate convenience init(
    repairing store: Store, _ files: SegmentFiles, _ catalog: consuming Catalog,
    _ recovery: Recovery, _ newest: SegmentNumber
  ) {
    var options = SpaceOpenOptions(
      logger: Logger(label: "albumfs.repair") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    let writer = JournalWriter(
      recovery.position, newest: newest, byteCount: files.segmentSize, files: files,
      boot: .current)
    let context = SpaceContext(
      store: store, files: files, content: ContentStore(files: files), catalog: catalog,
      checkpointSegments: writer.position.checkpoint.segmentCount,
      keepsEverything: recovery.report.keepsEverything, lock: nil, options: options)
    self.init(context, writer: writer, recovery: recovery.report)
  }

  /// All of an extent's content.
  package func content(of extent: Extent) throws(StoreError) -> [UInt8] {
    let headroom = ReadHeadroom.byteCount
    let count = Int(extent.length)
    let buffer = SegmentImage(byteCount: headroom + count)
    defer { buffer.wipe() }
    let target = unsafe UnsafeMutableRawBufferPointer(
      rebasing: buffer.bytes[headroom..<headroom + count])
    try unsafe read(extent, into: target)
    return unsafe Array(target)
  }

  /// Writes everything out. Both checkpoints are new: of the journal and the checkpoints from before
  /// nothing is needed any more.
  fileprivate func finishRepair(_ recovery: Recovery) throws(StoreError) {
    try syncFound(recovery)
    // Begins a segment of the journal even where the catalog is as it was.
    try durability.forcedBarrier()
    for _ in 0..<2 {
      let former = durability.journal.withLock { $0.writer.position.checkpoint }
      try durability.checkpoint()
      if durability.journal.withLock({ $0.writer.position.checkpoint }) == former {
        throw StoreError(.noSpace, "there is no room on the disk for the repair; free some space")
      }
    }
    try close()
    RestingTimes.settle(context.files.directory)
  }

  /// After a crash what was found may be in memory only.
  private func syncFound(_ recovery: Recovery) throws(StoreError) {
    for number in recovery.believedSegments {
      let id = SegmentID(kind: .data, number: number)
      do throws(StoreError) { try resync(id) } catch {
        if error.cause != .noEntry { throw error }
      }
    }
  }
}
