import AlbumFormat
import AlbumModel
import AlbumSecrets
import Logging
import Posix

// How a repair becomes durable. It is an ordinary session that writes: a frame with all changes, two
// fresh checkpoints, so that neither the journal nor the checkpoints from before are needed any more,
// two barriers. A crash in between leaves the space as it was found, or repaired.

extension Examination {
  /// Makes the space consistent; the caller holds its lock. Answers what was done. Throws
  /// `.inputOutput` where the disk cannot read what might be readable elsewhere.
  consuming func repair(_ store: Store, options: CheckOptions) throws(StoreError) -> [String] {
    try requireReadableDisk()
    var plan = RepairPlan(self, time: Timestamp.now)
    let used = usedNumbers
    let position = startOfJournal
    let mayReuseNumbers =
      isJournalIncomplete || hasLooseContent || recovery.report.isMixed
      || catalogCheck.problems.contains(where: \.isCounter)
    let lostRoot = salvaged.rootWasLost
    let recovery = recovery
    let files = files
    var catalog = catalog
    if mayReuseNumbers {
      catalog.skipNumbers(before: used.orLater(catalog.numbersInUse), leavingOut: .lostFrames)
    }
    if lostRoot { catalog.ownRoot(options, time: plan.time) }
    catalog.beginSession(
      files.session,
      SessionStart(
        journal: SegmentNumber(position.rawValue + 1),
        checkpoint: SegmentNumber(catalog.counters.nextCheckpointSegment)))
    let space = Space(repairing: store, files, catalog, recovery, position)
    plan.endings = try space.endings(of: plan, options.fileEnding)
    space.change { catalog in
      plan.apply(to: &catalog)
      catalog.settleLoss()
    }
    try space.finishRepair(recovery)
    return plan.done + ["the catalog was written anew: nothing that is damaged is needed any more"]
  }

  /// A stretch that the disk cannot read today may be read tomorrow, or from a copy.
  private borrowing func requireReadableDisk() throws(StoreError) {
    guard let broken = segments.first(where: \.hasReadErrors) else { return }
    let path = files.path(SegmentID(kind: .data, number: broken.segment))
    throw StoreError(
      .inputOutput,
      "the disk answers errors for \(path): nothing was repaired; copy the store to a disk that is "
        + "well (ddrescue reads around errors) and repair it there", path: path)
  }

  /// Numbers that exist in the store, whether the catalog knows them or not.
  private var usedNumbers: SpaceCounters {
    var used = recovery.listing.usedSegments
    used.nextInode = (segments.map(\.greatestInode).max() ?? 0) + 1
    used.nextSequence = (segments.map(\.greatestSequence).max() ?? 0) + 1
    return used
  }

  /// The number behind which the journal goes on: above any that there may have been. Segments that
  /// are gone may come back with an old copy of the store.
  private var startOfJournal: SegmentNumber {
    if salvaged.hasNoJournal { return SegmentNumber(1 << 16) }
    let isDamaged = isJournalIncomplete || !journalCheck.headless.isEmpty
    // Behind those of another copy of the store, too: from then on they are before the journal.
    let newest = recovery.listing.numbers(of: .journal).last ?? recovery.newest
    return SegmentNumber(max(newest, recovery.newest).rawValue + (isDamaged ? 512 : 0))
  }
}

extension CatalogProblem {
  fileprivate var isCounter: Bool { if case .counter = self { true } else { false } }
}

extension Catalog {
  /// A root that nothing stated belongs to whoever repairs.
  fileprivate mutating func ownRoot(_ options: CheckOptions, time: Timestamp) {
    guard let root = index(of: .root) else { return }
    update(root) { state in
      state.owner = options.owner
      state.group = options.group
      state.accessed = time
      state.modified = time
      state.changed = time
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

  /// What the names of nameless files end with.
  fileprivate func endings(of plan: RepairPlan, _ ending: (@Sendable ([UInt8]) -> String?)?)
    throws(StoreError) -> [InodeNumber: String]
  {
    var endings: [InodeNumber: String] = [:]
    guard let ending else { return endings }
    for file in read({ plan.nameless($0) }) {
      guard let first = file.extents.first, first.offset == 0,
        let head = try? readAll(first)
      else { continue }
      endings[file.inode] = ending(head)
    }
    return endings
  }

  private func readAll(_ extent: Extent) throws(StoreError) -> [UInt8] {
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
