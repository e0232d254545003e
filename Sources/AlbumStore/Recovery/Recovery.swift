import AlbumFormat
import AlbumModel
import Posix

/// Rebuilds a space's catalog from its checkpoint and journal. It reads segments through `ContentStore` and
/// `SegmentFiles` and changes only the catalog that it gets. It writes nothing to the disk and uses no file
/// time; `Space.conclude` writes afterwards. A read error of the journal refuses a mount that writes:
/// recovery cuts only what it read and could not decrypt.
///
/// 1. Recovery finds the newest journal segment by name. The head of that segment says how the earlier ones
///    end and where the checkpoint is. A newest segment without a head was begun just before a crash.
///    Recovery skips it, unless something shows that it was once whole on disk: a mount that writes would
///    lose what it held.
/// 2. If the head of an earlier segment is lost, its predecessor is the next lower one that exists.
/// 3. `JournalReplay` replays the frames. If the machine was restarted since the session that wrote last, a
///    power cut may have taken the end of history. Replay then cuts history where something is missing after
///    the last proven barrier.
/// 4. Otherwise, and if something is missing before that barrier, each file by itself falls back to what it
///    was within the last 15 minutes, see `MissingContent` and `FileFallback`.
struct Recovery {
  var position = JournalPosition()
  var newest = SegmentNumber(0)
  var report = RecoveryReport()
  /// The data segments that frames after the last proven barrier refer to.
  private(set) var believedSegments: Set<SegmentNumber> = []
  /// The first journal segment that replay read.
  var firstJournal = SegmentNumber(0)
  /// The births of sessions of another copy of the store.
  private var foreignSessions: Set<SegmentBirth> = []
  /// The births of the sessions whose journal segments were replayed.
  private var sessions: Set<SegmentBirth> = []
  /// The last session of which a frame counts, and the sessions after it, each with its first journal
  /// segment. Their data segments that no frame names are garbage of a crash.
  private var crashed: [SegmentBirth: SegmentNumber] = [:]
  /// How the catalog shows files whose newest content is missing. Applied when replay has ended.
  private(set) var fallback = FileFallback()

  /// The first number of a data segment that the journal does not record as taken.
  private(set) var nextDataSegment = SegmentNumber(1)
  /// Deleted files of which a copy lacks content.
  private var unwrittenDeleted: [InodeNumber] = []
  /// True if the newest journal segment was full and its successor is missing, so that frames may be missing.
  private(set) var lacksSuccessor = false
  /// True if the newest journal segment is shorter than a segment.
  private var isNewestShort = false
  /// True if content is missing that no power cut can have taken.
  private var provesLoss = false
  /// The files and names that frames after the cut describe.
  private var cutChanges = CutChanges()
  /// The same of segments that another copy of the store wrote.
  private var otherChanges = CutChanges()
  /// The sessions of this timeline without which the other one counts; empty if there is no other one.
  private(set) var sessionsBehindFork: Set<SegmentBirth> = []
  /// The inodes that the other timeline's frames state.
  var otherInodes: Set<InodeNumber> { otherChanges.inodes }
  /// True if a power cut may have taken the end of history.
  private var mayHaveLostPower = true
  /// The last frame that was written, or `.none` if a power cut may have taken later ones.
  private(set) var lastFrame = FrameNumber.none

  let listing: SegmentListing
  let files: SegmentFiles
  let content: ContentStore
  private let boot: BootIdentity
  /// True if no session writes behind the replayed history. Then the newest journal segment may lack its
  /// heads. Its frames do not show, but they stay as they are.
  private let isReadOnly: Bool
  let omitted: Set<Precaution>
  var journals: JournalTimelines
  /// True if history ends in the middle of writing: no barrier covers its last frames.
  private(set) var endsInWriting = false

  /// Further findings for a check, see `salvage`; nil during a mount.
  var salvaged: SalvageReport?

  /// The caller takes `listing` under the space's lock. `boot` identifies the current start of the machine.
  init(
    _ listing: SegmentListing, files: SegmentFiles, content: ContentStore, boot: BootIdentity,
    isReadOnly: Bool, omitting omitted: Set<Precaution> = []
  ) {
    self.listing = listing
    self.files = files
    self.content = content
    self.boot = boot
    self.isReadOnly = isReadOnly
    self.omitted = omitted
    journals = JournalTimelines(listing, content: content)
  }

  mutating func run(into catalog: inout Catalog) throws(StoreError) {
    let numbers = try journalNumbers()
    guard let last = numbers.last else {
      throw StoreError(
        .missing,
        "the password is right, but this space's journal is not in the store: the copy is "
          + "incomplete; restore the folder segments from a backup", path: SegmentPath.root)
    }
    newest = last
    let (usable, head) = try newestUsable(numbers)
    position.checkpoint = head.checkpoint
    position.formerCheckpoint = head.formerCheckpoint
    let start = try loadCheckpoint(head, of: usable, into: &catalog)
    let chain = try journals.chain(
      from: usable, to: start.firstJournal, believesCuts: !omitted.contains(.statedCut))
    firstJournal = chain.first?.number ?? usable
    try replay(chain, from: start, into: &catalog) { recovery, catalog throws(StoreError) in
      _ = try recovery.loadCheckpoint(head, of: usable, into: &catalog)
    }
    let findings = finish(&catalog)
    report.lostEntries = findings.lostEntries.count
    report.lostContents = findings.lostContents
    report.orphans = findings.orphans
    try requireRoot(catalog)
  }

  /// Ends replay and completes the catalog, which then says which segments belong to the space's history.
  mutating func finish(_ catalog: inout Catalog) -> ReplayFindings {
    catalog.foundBirths = listing.births(of: .data)
    let findings = catalog.finishReplay()
    for (number, account) in catalog.segments.accounts where account.birth != .none {
      files.use(SegmentID(kind: .data, number: number), account.birth)
    }
    nextDataSegment = SegmentNumber(catalog.counters.nextDataSegment)
    catalog.skipNumbers(before: listing.usedSegments)
    report.firstLostInode = findings.firstLostInode
    if let mark = catalog.lossMark, catalog.loss == nil {
      // The session that found the loss was killed before its first frame.
      catalog.skipNumbers(before: SpaceCounters(), leavingOut: .lostEnd)
      catalog.recordJournalLoss(from: mark.firstInode, isEndOfCopy: mark.isEndOfCopy)
    }
    report.loss = catalog.loss
    return findings
  }

  /// Makes the catalog show what is whole and keep what is left out. Call it after `run` or `salvage`, before
  /// anything else changes the catalog.
  mutating func showWhole(_ catalog: inout Catalog) throws(StoreError) {
    // Versions that are left out become files of this mount, with numbers of their own.
    let greatestInode = catalog.greatestInode
    showFallbacks(in: &catalog)
    for (birth, journal) in crashed {
      let checkpoint = SegmentNumber(listing.usedSegments.nextCheckpointSegment)
      catalog.beginSession(birth, SessionStart(journal: journal, checkpoint: checkpoint))
    }
    try judgeEnd(with: &catalog)
    // Records of files that the lost part described name inodes. No new file may get such a number.
    if report.end != .complete || report.mayBeMixed {
      catalog.skipNumbers(before: SpaceCounters(), leavingOut: .lostEnd)
    }
    if report.firstLostInode == nil, report.end != .complete || report.isCutShort {
      report.firstLostInode = greatestInode + 1
    }
    catalog.forEachInode { index, state in
      if !state.marks.contains(.leftOut) { return }
      report.leftOutFiles += 1
      if let note = catalog.leftOutNote(of: index) { report.noteLeftOut(note) }
    }
  }

  /// Lets files whose newest content is missing fall back, and reports these and the changes that are cut.
  private mutating func showFallbacks(in catalog: inout Catalog) {
    report.incompleteFiles = fallback.apply(to: &catalog)
    for inode in unwrittenDeleted {
      if let index = catalog.index(of: inode) { catalog.discardUnwritten(index) }
    }
    report.remadeThumbnails = fallback.remadeThumbnails
    report.cutFiles = cutChanges.paths(catalog)
    report.cutSince = cutChanges.since
    report.otherFiles = otherChanges.paths(catalog)
    report.otherSince = otherChanges.since
    // A copy made while the store was written holds no journal segment without a readable head.
    if report.unreadableJournals > 0 || report.isJournalIncomplete && !report.mayLackJournalAsCopy {
      for place in report.incompleteFiles.indices {
        report.incompleteFiles[place].isEndOfCopy = false
      }
    }
  }

  /// Decides by the segments that history does not know whether its end is missing. Retires those that a
  /// killed session left over, and reports the others.
  private mutating func judgeEnd(with catalog: inout Catalog) throws(StoreError) {
    var strays = StraySegments(catalog, in: listing, of: Set(crashed.keys))
    let isProven = strays.proveLostJournal(
      behind: nextDataSegment, of: report.hasSessionEnded ? nil : position.birth,
      ofOthers: foreignSessions, files: files)
    // A session makes no data segment before the head of its journal is on disk. So a session that no head
    // names has lost its journal.
    var orphans = strays.unknown.filter { $0.key >= nextDataSegment }
    if !orphans.isEmpty {
      let recorded = try journals.sessions().union(foreignSessions)
      orphans = orphans.filter { !recorded.contains($0.value) }
    }
    // A session that made data segments had first written a whole journal segment.
    if isNewestShort, !mayHaveLostPower, !strays.leftOver.isEmpty { report.isCutShort = true }
    if isProven || !orphans.isEmpty {
      report.end = .missing
    } else if !report.mayBeMixed {
      report.end = endEvidence(catalog)
    }
    if !report.keepsLooseContent, !lacksSuccessor {
      for (number, birth) in strays.leftOver {
        files.use(SegmentID(kind: .data, number: number), birth)
        catalog.setState(of: number, to: .retired, retiredAt: files.clock.now, birth: birth)
      }
    }
    report.unknownSegments = strays.unknown.map {
      files.name(SegmentID(kind: .data, number: $0.key), $0.value)
    }
    for segment in try journals.outsiders(where: { !catalog.isOwn($0.id, $0.birth) }) {
      let name = files.name(segment.id, segment.birth)
      if !report.foreignJournals.contains(name) { report.unknownSegments.append(name) }
    }
  }

  /// Tells whether the journal is complete, if no segment was begun after its last frame.
  private func endEvidence(_ catalog: borrowing Catalog) -> JournalEndEvidence {
    // A full journal segment gets its seal when its successor is on disk.
    if lacksSuccessor { return .noSuccessor }
    let mayHaveMoved =
      !report.hasSessionEnded && !report.isJournalIncomplete && lacksSegment(catalog)
      && report.incompleteFiles.contains { !$0.isEndOfCopy }
    return mayHaveMoved ? .contentMayHaveMoved : .complete
  }

  private func requireRoot(_ catalog: borrowing Catalog) throws(StoreError) {
    if let root = catalog.index(of: .root), catalog.state(root).kind == .directory { return }
    throw StoreError(
      .damaged, "the beginning of this space's journal is lost; \(Recovery.advice)",
      path: SegmentPath.root, remedy: .repair)
  }

  /// The remedy for damage that no mount can skip.
  private static let advice = "restore the folder segments from a backup"

  // MARK: Finding the journal

  /// The numbers of the existing journal segments of this timeline, rising.
  mutating func journalNumbers() throws(StoreError) -> [SegmentNumber] {
    if !omitted.contains(.recognisedTimelines) {
      let foreign = try journals.chooseTimeline() + journals.wentOnElsewhere()
      report.foreignJournals = foreign.map { files.name($0.id, $0.birth) }
      foreignSessions = Set(foreign.map(\.birth))
      let diverged = try journals.mayHaveGoneOnElsewhere().filter { !foreign.contains($0) }
      report.divergedJournals = diverged.map { files.name($0.id, $0.birth) }
      let all = foreign + diverged
      sessionsBehindFork = all.isEmpty ? [] : try journals.sessions(behindForkOf: all)
      let other = try journals.framesLeftOut(in: all)
      otherChanges = CutChanges(other.frames, behind: other.behind)
    }
    var numbers: [SegmentNumber] = []
    for segment in journals.all where numbers.last != segment.number {
      numbers.append(segment.number)
    }
    return numbers
  }

  /// Returns the files and names that the frames of these sessions describe.
  mutating func changes(of sessions: Set<SegmentBirth>) throws(StoreError) -> CutChanges {
    var changes = CutChanges()
    for segment in journals.all where sessions.contains(segment.birth) {
      changes.add(try journals.scan(segment).frames)
    }
    return changes
  }

  /// The newest journal segment with a readable head.
  private mutating func newestUsable(_ numbers: [SegmentNumber]) throws(StoreError)
    -> (SegmentNumber, JournalHead)
  {
    for number in numbers.reversed() {
      let scan = try scan(number)
      if let head = scan.head { return (number, head) }
      if scan.wasBegun, isReadOnly {
        // This mount writes nothing, so the frames of this segment are safe.
        report.isCutShort = true
      } else if scan.wasBegun {
        let id = SegmentID(kind: .journal, number: number)
        throw StoreError(
          .damaged,
          "the newest journal segment is damaged: both of its heads are unreadable, and a session that writes "
            + "would lose what it holds; \(Recovery.advice)", path: files.path(id), remedy: .repair)
      }
      report.unreadableJournals += 1
      report.cutFrames += scan.frames.count
    }
    throw StoreError(
      .damaged, "no journal segment of this space has a readable head; \(Recovery.advice)",
      path: SegmentPath.root, remedy: .repair)
  }

  mutating func scan(_ number: SegmentNumber) throws(StoreError) -> JournalScan {
    try journals.scan(number)
  }

  /// The end of the newest journal segment, as it was read.
  mutating func journalEnd() throws(StoreError) -> JournalEnd? {
    guard let segment = journals.segment(newest) else { return nil }
    let scan = try journals.scan(segment)
    return JournalEnd(
      number: newest, birth: segment.birth, offset: scan.end, bytes: scan.bytesAtEnd)
  }

  // MARK: Checkpoint

  /// Loads the newest whole checkpoint of those that the head names, or else of those that earlier heads
  /// name and that still exist. Without one, replay begins at the beginning of the space.
  private mutating func loadCheckpoint(
    _ head: JournalHead, of newest: SegmentNumber, into catalog: inout Catalog
  ) throws(StoreError) -> CheckpointReference {
    for reference in [head.checkpoint, head.formerCheckpoint] where reference.exists {
      if try load(reference, into: &catalog) {
        if report.checkpoint != .newest || reference != position.checkpoint {
          restart(at: reference)
        }
        return reference
      }
      report.checkpoint = .former(isUnfinished: try lacksSegment(of: reference))
    }
    if report.checkpoint != .newest {
      let whole = try journals.chain(from: newest)
      for reference in try journals.checkpoints(of: whole)
      where reference != head.checkpoint && reference != head.formerCheckpoint {
        if try !load(reference, into: &catalog) { continue }
        restart(at: reference)
        return reference
      }
      if try !beginsWithSpace(whole) {
        throw StoreError(
          .damaged, "no checkpoint of this space is whole; \(Recovery.advice)",
          path: SegmentPath.root, remedy: .repair)
      }
      position.checkpoint = CheckpointReference()
    }
    catalog = Catalog()
    catalog.beginReplay()
    return CheckpointReference()
  }

  /// True if a chain begins with the space, so that replay needs no checkpoint.
  mutating func beginsWithSpace(_ chain: [JournalLink]) throws(StoreError) -> Bool {
    guard let first = chain.first?.number, first == SegmentNumber(1) else { return false }
    return try scan(first).head != nil
  }

  private mutating func restart(at reference: CheckpointReference) {
    position.checkpoint = reference
    position.formerCheckpoint = CheckpointReference()
  }

  /// True if a segment of the checkpoint is missing, or was copied before it was finished.
  func lacksSegment(of reference: CheckpointReference) throws(StoreError) -> Bool {
    for step in 0..<reference.segmentCount {
      let number = SegmentNumber(reference.firstSegment.rawValue &+ step)
      if try files.seal(of: SegmentID(kind: .checkpoint, number: number)) == nil { return true }
    }
    return false
  }

  /// Returns false, and leaves the catalog as it is, if the checkpoint is not whole.
  func load(_ reference: CheckpointReference, into catalog: inout Catalog) throws(StoreError)
    -> Bool
  {
    var loaded = Catalog()
    loaded.beginReplay()
    guard try CheckpointReader.load(reference, files: files, into: &loaded) else { return false }
    catalog = loaded
    return true
  }

  // MARK: Replay

  /// Replays a chain over the loaded checkpoint that it begins with. Calls `reload` to load the checkpoint
  /// again before it replays the same history by another rule.
  mutating func replay(
    _ chain: [JournalLink], from start: CheckpointReference, behind first: FrameNumber? = nil,
    into catalog: inout Catalog,
    reload: (inout Recovery, inout Catalog) throws(StoreError) -> Void
  ) throws(StoreError) {
    let first = first ?? start.lastFrame
    let newestTime = try journals.newestTime(of: chain)
    files.clock.goOn(from: newestTime)
    let floor = newestTime.floor
    let before = (position: position, report: report, salvaged: salvaged)
    mayHaveLostPower = try hasNewStart(chain)
    if let newest = chain.last {
      let scan = try scan(newest.number)
      report.hasSessionEnded = scan.seal?.reason == .endOfSession
      endsInWriting = scan.frames.last.map { $0.frame.barrier == nil } ?? false
    }
    let isOmitted = omitted.contains(.fallbackPerFile)
    var recent = try replayOnce(
      chain, behind: first, RecentHistory(floor: floor), mayHaveLostPower, into: &catalog)
    var missing = try missingContent(&recent, before: first, catalog)
    if mayHaveLostPower, provesLoss || !missing.isEmpty, !isOmitted {
      // Content is missing that a barrier proved to be on disk. No power cut did that.
      (position, report, salvaged) = before
      try reload(&self, &catalog)
      recent = try replayOnce(
        chain, behind: first, RecentHistory(floor: floor), false, into: &catalog)
      missing = try missingContent(&recent, before: first, catalog)
    }
    unwrittenDeleted = missing.unwrittenDeleted
    missing.addLost(catalog)
    if missing.isEmpty || isOmitted { return }
    fallback = try fallback(for: missing, chain, floor: floor, catalog)
    report.isIncomplete = true
  }

  private mutating func replayOnce(
    _ chain: [JournalLink], behind start: FrameNumber, _ recent: RecentHistory,
    _ mayHaveLostPower: Bool,
    into catalog: inout Catalog
  ) throws(StoreError) -> RecentHistory {
    var position = position
    position.frame = start
    var replay = JournalReplay(
      from: position, content: content, recent: recent, mayHaveLostPower: mayHaveLostPower,
      salvaged: salvaged, believesAll: omitted.contains(.chainedFrames))
    try replay.run(chain, of: &journals, into: &catalog)
    self.position = replay.position
    self.position.birth = journals.segment(replay.position.segment)?.birth ?? .none
    self.position.ancestors = try journals.ancestors(of: replay.position.segment)
    lastFrame = mayHaveLostPower ? .none : replay.position.frame
    believedSegments = replay.believedSegments
    sessions = Set(chain.compactMap { journals.segment($0.number)?.birth })
    crashed = [:]
    for link in chain.reversed() {
      guard let birth = journals.segment(link.number)?.birth else { continue }
      crashed[birth] = link.number
      let cut = link.cut ?? replay.position.frame
      // The first frame of a session records the segments that earlier sessions left behind.
      if try scan(link.number).frames.contains(where: { $0.frame.number <= cut }) { break }
    }
    if salvaged == nil || replay.salvaged != nil { salvaged = replay.salvaged }
    if let newest = chain.last, !omitted.contains(.recognisedFullJournal) {
      lacksSuccessor = try scan(newest.number).seal?.reason == .full
    }
    adopt(replay.report)
    provesLoss = replay.provesLoss
    isNewestShort = replay.isNewestShort
    cutChanges = replay.cutChanges
    findBirths(&catalog)
    return replay.recent
  }

  /// Finds the births of data segments whose frame is lost: of the segments with that number, it takes the
  /// one that a session of this timeline made.
  private func findBirths(_ catalog: inout Catalog) {
    let known = sessions.union(catalog.sessions.keys)
    for (number, account) in catalog.segments.accounts where account.birth == .none {
      let found = listing.own[SegmentID(kind: .data, number: number)] ?? []
      if let own = found.first(where: { known.contains($0.birth) }) {
        catalog.findBirth(of: number, own.birth)
      }
    }
  }

  /// True if the machine was restarted since the session that wrote last, so that a power cut may have ended
  /// that session.
  private mutating func hasNewStart(_ chain: [JournalLink]) throws(StoreError) -> Bool {
    guard let newest = chain.last, let head = try scan(newest.number).head,
      !omitted.contains(.recognisedStarts)
    else { return true }
    return !head.boot.isSame(as: boot)
  }

  private mutating func adopt(_ found: RecoveryReport) {
    report.believedFrames = found.believedFrames
    report.cutFrames += found.cutFrames
    report.damagedFrames = found.damagedFrames
    report.absentFrames = found.absentFrames
    report.isCutShort = found.isCutShort
    report.wasClean = found.wasClean && report.unreadableJournals == 0
  }
}
