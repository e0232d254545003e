package import AlbumFormat
package import AlbumModel
package import AlbumSecrets
import Logging
import Posix

/// A space rebuilt as far as possible, however damaged. A check examines it, and a repair begins with it. It
/// writes nothing. The caller holds the space's lock. For one thread.
///
/// A class, because the compiler needs quadratic time for a struct that holds a catalog and is borrowed.
package final class SalvagedSpace {
  /// The catalog as a mount would show it; empty after `repair`.
  private(set) package var catalog: Catalog
  /// The report of a mount.
  package let report: RecoveryReport
  /// The losses in journal and checkpoints.
  package let losses: SalvageReport
  package let journal: JournalCheck
  /// The problems of the catalog before a mount's policy corrected them.
  package let audit: CatalogAudit
  private let store: Store
  private let files: SegmentFiles
  private let recovery: Recovery
  /// The end of the journal, as `recovery` read it.
  private let end: JournalEnd?
  private let boot: BootIdentity
  /// The files and names that the sessions `changedBy` changed in this timeline.
  private let changes: CutChanges

  /// Throws `.missing` if the store holds nothing of this space, `.unsupportedFeature`, and errors of the
  /// disk.
  package convenience init(
    _ store: Store, keys: SpaceKeys, boot: BootIdentity = .current
  ) throws(StoreError) {
    try self.init(store, keys, boot)
  }

  /// Sends what killed sessions had written on this machine to where the store lies, before a repair. Returns
  /// the births of these sessions.
  package static func beginStaging(
    _ store: Store, keys: SpaceKeys
  ) throws(StoreError) -> Set<SegmentBirth> {
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize)
    return try Space.beginStaging(files) { _ throws(StoreError) in
      // Whoever writes there now may remove what it does not need of that which this machine sends.
      let there = try SalvagedSpace(store, keys: keys)
      try there.watch()
    }
  }

  /// Throws `.inUse` if a session that has not ended goes on, where a store lies elsewhere.
  private func watch() throws(StoreError) {
    if files.directory.relay == nil || recovery.report.wasClean { return }
    try fence.watch(for: SpaceOpenOptions.watchThere)
  }

  /// Behind what this one read.
  private var fence: Fence { Fence(files, behind: recovery.listing, end) }

  /// Keeps on this machine only what was not sent. Call it when what was sent needs no repair any more: what
  /// stays here is sent and brought back by the next repair.
  package static func endStaging(_ store: Store) { store.directory.relay?.end() }

  private init(
    _ store: Store, _ keys: SpaceKeys, _ boot: BootIdentity,
    without sessions: Set<SegmentBirth> = [], changedBy changers: Set<SegmentBirth> = []
  ) throws(StoreError) {
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize,
      toleratesReadErrors: true)
    var catalog = Catalog()
    let listing = try files.list().without(sessions)
    files.rely(on: listing)
    RestingTimes.touchAccessTimes(of: listing.names, in: store.directory)
    var recovery = Recovery(
      listing, files: files, content: ContentStore(files: files), boot: boot,
      isReadOnly: true)
    try recovery.salvage(into: &catalog)
    let losses = recovery.salvaged ?? SalvageReport()
    if losses.hasNoJournal { try SalvagedSpace.requireSegments(listing) }
    let journal = try JournalCheck(&recovery, losses)
    try recovery.showWhole(&catalog)
    var audit = CatalogAudit(catalog)
    audit.auditContent(catalog, segmentSize: files.segmentSize)
    _ = catalog.reconcile(audit)
    self.audit = audit
    self.journal = journal
    self.catalog = catalog
    self.losses = losses
    self.report = recovery.report
    end = try recovery.journalEnd()
    changes = try recovery.changes(of: changers)
    self.recovery = recovery
    self.files = files
    self.boot = boot
    self.store = store
  }

  /// Throws if the store has no segments of the space. A password that unlocks a slot belongs to a space of
  /// this store, but a recovery key may belong to another store.
  private static func requireSegments(_ listing: SegmentListing) throws(StoreError) {
    for kind in [SegmentKind.data, .checkpoint] {
      if !listing.numbers(of: kind).isEmpty { return }
    }
    throw StoreError(
      .missing,
      "the store holds nothing of this space: the copy is incomplete, or the recovery key is of "
        + "another store; restore the folder segments from a backup", path: SegmentPath.root)
  }

  /// True if a part of the journal is missing, so that records may hold more than the catalog knows.
  package var isJournalIncomplete: Bool {
    report.isJournalIncomplete || losses.isIncomplete || losses.rootWasLost || report.loss != nil
  }

  // MARK: The other timeline

  /// The space as the sessions leave it that this history leaves out: those of another copy of the store, or
  /// of a machine that wrote at the same time. nil if there are none. It cannot be repaired.
  package func otherTimeline() throws(StoreError) -> SalvagedSpace? {
    let sessions = recovery.sessionsBehindFork
    if sessions.isEmpty { return nil }
    return try SalvagedSpace(store, files.keys, boot, without: sessions)
  }

  /// The space as sessions of this machine leave it whose segments have just come to where the store lies.
  /// nil if no other session has come after them. Several may have: then nothing there shows any more where
  /// the two timelines part, because no mount needs the journal of these sessions, nor the checkpoint that
  /// they began with. What their frames state is known all the same.
  package func timeline(ofSent sent: Set<SegmentBirth>) throws(StoreError) -> SalvagedSpace? {
    let journals = recovery.listing.own.filter { $0.key.kind == .journal }
      .flatMap { id, found in found.map { (number: id.number, birth: $0.birth) } }
    guard let first = journals.filter({ sent.contains($0.birth) }).map(\.number).min() else {
      return nil
    }
    var later = Set(journals.filter { $0.number >= first }.map(\.birth))
    later.formUnion(catalog.sessions.filter { $0.value.journal > first }.keys)
    later.subtract(sent)
    if later.isEmpty { return nil }
    return try SalvagedSpace(store, files.keys, boot, without: later, changedBy: sent)
  }

  /// The files that a timeline has and this one lacks, or has with other content.
  package func files(of other: SalvagedSpace) -> [OtherFile] {
    var found: [OtherFile] = []
    let inodes = recovery.otherInodes.union(other.changes.inodes)
    let names = other.catalog.names(of: inodes)
    let left = other.changes.namesLeft
    for number in inodes.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let index = other.catalog.index(of: number),
        let name = names[number]?.first ?? left[number]
      else { continue }
      let state = other.catalog.state(index)
      if state.kind != .regular || state.marks.contains(.madeThumbnail) { continue }
      let own = catalog.index(of: number).map { catalog.state($0) }
      if let own, own.hasContent(of: state) { continue }
      found.append(
        OtherFile(
          name: name.name, path: path(of: name, in: other), state: state,
          extents: other.catalog.extents(of: index, from: 0, to: .max)))
    }
    return found
  }

  private func path(of name: EntryPlace, in other: SalvagedSpace) -> String {
    if other.catalog.index(of: name.directory).map({ other.catalog.isListed($0) }) ?? false {
      return other.catalog.path(of: name.name, in: name.directory)
    }
    return other.changes.path(of: name, catalog) ?? name.name.display
  }

  /// Gives up the data segments of sessions that this history does not name, after a repair has copied what
  /// they hold.
  package func giveUpSegments(of sessions: Set<SegmentBirth>, _ catalog: inout Catalog) {
    for (id, found) in recovery.listing.own where id.kind == .data {
      guard catalog.segments.accounts[id.number] == nil,
        let birth = found.map(\.birth).first(where: sessions.contains)
      else { continue }
      files.use(id, birth)
      catalog.setState(of: id.number, to: .retired, retiredAt: files.clock.now, birth: birth)
    }
  }

  /// When these sessions began to change something.
  package var changedSince: StoreTime { changes.since }

  /// Seals the content of a file of this space into another one, under a new number. What cannot be read
  /// becomes holes. The caller puts it into the catalog.
  package func copyContent(of file: OtherFile, into space: Space, as inode: InodeNumber)
    throws(StoreError) -> HeldExtents
  {
    var held = HeldExtents(in: space)
    let content = recovery.content
    let buffer = SegmentImage(byteCount: ReadHeadroom.byteCount + Int(DataRecord.contentLimit))
    defer { buffer.wipe() }
    for extent in file.extents where !extent.isLost {
      for start in stride(from: extent.offset, to: extent.end, by: Int(DataRecord.contentLimit)) {
        let piece = extent.clipped(
          from: start, to: min(extent.end, start + Int64(DataRecord.contentLimit)))
        let target = unsafe UnsafeMutableRawBufferPointer(
          rebasing: buffer.bytes[ReadHeadroom.byteCount...].prefix(Int(piece.length)))
        do throws(StoreError) { try unsafe content.read(piece, into: target) } catch { continue }
        held.add(
          try unsafe space.append(
            target, of: inode, at: piece.offset, fileLength: file.state.size))
      }
    }
    return held
  }

  // MARK: Segments

  package var segmentSize: Int { files.segmentSize }

  /// The existing data segments of the space.
  package var dataSegments: Set<SegmentNumber> { Set(recovery.listing.numbers(of: .data)) }

  /// The names of all segments in the store, and of this space's.
  package var segmentNames: (all: Set<SegmentName>, own: Set<SegmentName>) {
    (recovery.listing.names, Set(recovery.listing.own.values.joined().map(\.name)))
  }

  /// The objects of the wrong type that were found in the place of segments or folders.
  package var misplaced: [StoreError] { files.misplaced }

  /// The segments of journal, checkpoints and content that the disk cannot read in full.
  package var unreadable: [StoreError] { files.unreadable }

  /// The path of a segment, relative to the store.
  package func path(_ kind: SegmentKind, _ number: SegmentNumber) -> String {
    files.path(SegmentID(kind: kind, number: number))
  }

  /// Returns finished segments of earlier sessions that no frame names. Only a journal whose end went missing
  /// some sessions ago leaves such segments.
  package func finishedStrays() throws(StoreError) -> Set<SegmentNumber> {
    var strays: Set<SegmentNumber> = []
    for number in dataSegments where catalog.segments.accounts[number] == nil {
      let id = SegmentID(kind: .data, number: number)
      if try files.seal(of: id)?.reason == .endOfSession { strays.insert(number) }
    }
    return strays
  }

  /// Decrypts every record that the catalog refers to, and all others in the segments `walked`. Several
  /// threads call `progress` with bytes of segments. If it returns false, this call stops and returns nil.
  package func readRecords(
    walking walked: Set<SegmentNumber>,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Bool
  ) throws(StoreError) -> [SegmentFindings]? {
    let pass = RecordPass(
      files: files, uses: catalog.recordUses(), walked: walked, progress: progress)
    return try pass.run()
  }

  // MARK: Repair

  /// Parameters of a repair.
  package struct RepairTerms {
    /// The findings in the segments. They show which numbers records use, also without the catalog.
    package var findings: [SegmentFindings]
    /// True if numbers may be in use that the catalog does not know.
    var mayReuseNumbers: Bool
    /// The owner and group of the root if nothing records them.
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

  /// Applies `change` to the space durably. A repair is an ordinary session that writes: one frame with all
  /// changes, two new checkpoints, and two barriers. The old journal and checkpoints are then not needed any
  /// more. A crash during the repair leaves the space as it was, or repaired. The last call: it takes the
  /// catalog.
  package func repair(
    _ terms: RepairTerms, _ change: (Space) throws(StoreError) -> Void
  ) throws(StoreError) {
    let used = usedNumbers(terms.findings)
    let position = startOfJournal
    let lostRoot = losses.rootWasLost
    let (files, store, fence) = (files, store, fence)
    var catalog = takeCatalog()
    if terms.mayReuseNumbers {
      catalog.skipNumbers(before: used.orLater(catalog.numbersInUse), leavingOut: .lostFrames)
    }
    if lostRoot { catalog.ownRoot(terms) }
    catalog.beginSession(
      files.session,
      SessionStart(
        journal: SegmentNumber(position.rawValue + 1),
        checkpoint: SegmentNumber(catalog.counters.nextCheckpointSegment)))
    try watch()
    let space = Space(repairing: store, files, catalog, recovery, position, fence)
    try change(space)
    try space.finishRepair(recovery)
  }

  private func takeCatalog() -> Catalog {
    var taken = Catalog()
    swap(&taken, &catalog)
    return taken
  }

  private func usedNumbers(_ findings: [SegmentFindings]) -> SpaceCounters {
    var used = recovery.listing.usedSegments
    used.nextInode = (findings.map(\.greatestInode).max() ?? 0) + 1
    used.nextSequence = (findings.map(\.greatestSequence).max() ?? 0) + 1
    return used
  }

  /// The number after which the journal continues. It is above any number that may have been used, because
  /// missing segments may come back with an old copy of the store.
  private var startOfJournal: SegmentNumber {
    if losses.hasNoJournal { return SegmentNumber(1 << 16) }
    let isDamaged = isJournalIncomplete || !journal.headless.isEmpty
    // The number is also above those of another copy of the store, so that these lie before the journal from
    // now on.
    let newest = recovery.listing.numbers(of: .journal).last ?? recovery.newest
    return SegmentNumber(max(newest, recovery.newest).rawValue + (isDamaged ? 512 : 0))
  }
}

extension Catalog {
  /// Gives a lost root the owner from the terms.
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
  /// A session for a repair, without background work.
  fileprivate convenience init(
    repairing store: Store, _ files: SegmentFiles, _ catalog: consuming Catalog,
    _ recovery: Recovery, _ newest: SegmentNumber, _ fence: Fence
  ) {
    var options = SpaceOpenOptions(
      logger: Logger(label: "albumfs.repair") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    let writer = JournalWriter(
      recovery.position, newest: newest, byteCount: files.segmentSize, files: files,
      boot: .current, fence: fence)
    let context = SpaceContext(
      store: store, files: files, content: ContentStore(files: files), catalog: catalog,
      checkpointSegments: writer.position.checkpoint.segmentCount,
      keepsEverything: recovery.report.keepsEverything, lock: nil, fence: fence,
      options: options)
    self.init(context, writer: writer, recovery: recovery.report)
  }

  /// Writes everything out, with two new checkpoints, so that the old journal and checkpoints are not needed
  /// any more.
  fileprivate func finishRepair(_ recovery: Recovery) throws(StoreError) {
    try syncFound(recovery)
    // Begins a journal segment even if the catalog did not change.
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

  /// Syncs the segments that recovery believed: after a crash of the daemon their content may be in memory
  /// only.
  private func syncFound(_ recovery: Recovery) throws(StoreError) {
    for number in recovery.believedSegments {
      let id = SegmentID(kind: .data, number: number)
      do throws(StoreError) { try resync(id) } catch {
        if error.cause != .noEntry { throw error }
      }
    }
  }
}

/// A file of another timeline.
package struct OtherFile: Sendable {
  package let name: FileName
  /// Its path in the other timeline.
  package let path: String
  package let state: InodeState
  fileprivate let extents: [Extent]
}

extension InodeState {
  /// True if two states of one inode are of the same content: two sessions that change it at once do not give
  /// it the same time.
  fileprivate func hasContent(of other: InodeState) -> Bool {
    contentVersion == other.contentVersion && size == other.size && modified == other.modified
  }
}
