import AlbumFormat
import AlbumModel
import Posix

/// Brings a space's catalog back from its checkpoint and journal. Reads alone, changes nothing on
/// disk. A read error refuses the mount: only what was read and does not open is cut.
///
/// 1. The newest journal segment is found by name. Its head says how the ones before it end and
///    where the checkpoint is.
///    A newest one without a head was born just before a crash and is passed over, unless
///    something says that it was on disk whole once: then mounting would lose what it held.
/// 2. Where the head of an older one is lost, the one before it is the next that exists.
/// 3. The frames are replayed by `JournalReplay`.
/// 4. In a copy that was taken while the store was written barriers prove nothing; see `LivingCopy`.
struct Recovery {
  var position = JournalPosition()
  var newest = SegmentNumber(0)
  var report = RecoveryReport()
  /// Data segments that frames behind the last proven barrier refer to.
  private(set) var believedSegments: Set<SegmentNumber> = []
  /// One of the two heads of the last journal segment that replay read does not open: a crash may have
  /// torn it.
  private(set) var lacksHead = false
  /// Journal segments that replay read, the first of them.
  var firstJournal = SegmentNumber(0)

  /// Where history ends in a copy of a living store; nil: this is none.
  private(set) var end: HistoryEnd?

  let listing: SegmentListing
  let files: SegmentFiles
  private let content: ContentStore
  private let omitted: Set<Precaution>
  private var scans: [SegmentNumber: JournalScan] = [:]

  /// What only a check wants to know; nil where a mount runs. See `salvage`.
  var salvaged: SalvageReport?

  /// `listing` is taken under the space's lock.
  init(
    _ listing: SegmentListing, files: SegmentFiles, content: ContentStore,
    omitting omitted: Set<Precaution> = []
  ) {
    self.listing = listing
    self.files = files
    self.content = content
    self.omitted = omitted
  }

  mutating func run(into catalog: inout Catalog) throws(StoreError) {
    let numbers = journalNumbers()
    guard let last = numbers.last else {
      throw StoreError(
        .missing,
        "the password is right, but this space's journal is not in the store: the copy is "
          + "incomplete; restore the folder segments from a backup", path: SegmentPath.root)
    }
    newest = last
    let (usable, head) = try newestUsable(try endingCopy(numbers))
    position.checkpoint = head.checkpoint
    position.formerCheckpoint = head.formerCheckpoint
    let start = try loadCheckpoint(head, into: &catalog)
    let chain = try chain(from: usable, to: start.firstJournal, among: numbers)
    firstJournal = chain.first?.number ?? usable
    try replay(chain, behind: start.lastFrame, into: &catalog)
    lacksHead = try scan(position.segment).headCount == 1
    scans = [:]
    let findings = catalog.finishReplay()
    report.lostEntries = findings.lostEntries.count
    report.lostContents = findings.lostContents
    report.orphans = findings.orphans
    try requireRoot(catalog)
    skipCutNumbers(of: &catalog)
  }

  /// What was cut off a copy has used numbers that the catalog does not know of: goes on behind them.
  func skipCutNumbers(of catalog: inout Catalog) {
    if end == nil { return }
    catalog.skipNumbers(before: listing.usedSegments, leavingOut: .cutCopy)
  }

  /// The journal segments that count, of those that are there: in a copy of a living store no later
  /// ones than that in which its history ends.
  mutating func endingCopy(_ journals: [SegmentNumber]) throws(StoreError) -> [SegmentNumber] {
    end = try LivingCopy.end(of: journals, in: listing, files: files, content: content)
    guard let end else { return journals }
    report.isLivingCopy = true
    report.cutFrames = end.cutFrames
    believedSegments = end.unfinished
    return journals.filter { $0 <= end.journal }
  }

  private func requireRoot(_ catalog: borrowing Catalog) throws(StoreError) {
    if let root = catalog.index(of: .root), catalog.state(root).kind == .directory { return }
    throw StoreError(
      .damaged, "the beginning of this space's journal is lost; \(Recovery.advice)",
      path: SegmentPath.root)
  }

  /// What to do about damage that no mount can step over.
  private static let advice =
    "run albumfs check --repair, or restore the folder segments from a backup"

  // MARK: Finding the journal

  /// Those that replay read.
  var journalSegments: [SegmentID] {
    (firstJournal.rawValue...max(firstJournal.rawValue, newest.rawValue)).map {
      SegmentID(kind: .journal, number: SegmentNumber($0))
    }
  }

  /// The numbers of the journal segments that exist. Names are keyed hashes, so numbers are tried
  /// from 1 up; old ones are gone, the living ones follow one another but for damage.
  func journalNumbers() -> [SegmentNumber] {
    listing.numbers(of: .journal, tries: 1 << 20, misses: Recovery.patience)
  }

  /// How many numbers may be missing in a row before those that exist are taken to end. More than a
  /// repair leaves out.
  private static let patience: UInt32 = 1024

  /// The newest journal segment whose head opens.
  private mutating func newestUsable(_ numbers: [SegmentNumber]) throws(StoreError)
    -> (SegmentNumber, JournalHead)
  {
    for number in numbers.reversed() {
      let scan = try scan(number)
      if let head = scan.head { return (number, head) }
      if try wasBegun(number, scan) {
        let id = SegmentID(kind: .journal, number: number)
        throw StoreError(
          .damaged,
          "the newest journal segment is damaged: neither of its heads opens, and mounting would "
            + "lose what it holds; \(Recovery.advice)", path: files.path(id))
      }
      report.unreadableJournals += 1
      report.cutFrames += scan.frames.count
    }
    throw StoreError(
      .damaged, "no journal segment of this space has a readable head; \(Recovery.advice)",
      path: SegmentPath.root)
  }

  /// Whether a journal segment was on disk whole once, so that a head that does not open is damage; else
  /// it was born just before a crash. One at rest was finished by a session.
  func wasBegun(_ number: SegmentNumber, _ scan: JournalScan) throws(StoreError) -> Bool {
    if scan.isProvenDurable { return true }
    return try files.isResting(files.path(SegmentID(kind: .journal, number: number)))
  }

  mutating func scan(_ number: SegmentNumber) throws(StoreError) -> JournalScan {
    if let known = scans[number] { return known }
    let scan = try JournalScan(SegmentID(kind: .journal, number: number), files: files)
    scans[number] = scan
    return scan
  }

  /// A journal segment to replay, and the frame behind which it is dead; nil for the newest, and
  /// where nobody can say.
  struct Link {
    var number: SegmentNumber
    var cut: FrameNumber?
  }

  private mutating func chain(
    from newest: SegmentNumber, to first: SegmentNumber, among numbers: [SegmentNumber]
  ) throws(StoreError) -> [Link] {
    var links = [Link(number: newest, cut: end?.frame)]
    while let link = links.last, link.number > first {
      let scan = try scan(link.number)
      if let head = scan.head {
        if head.predecessor.rawValue == 0 { break }
        let cut =
          omitted.contains(.statedCut)
          ? try self.scan(head.predecessor).frames.last?.frame.number : head.cutFrame
        links.append(Link(number: head.predecessor, cut: cut))
      } else if let former = numbers.last(where: { $0 < link.number }) {
        // Its first frame tells as well where the one before ends.
        let cut = scan.frames.first.map { FrameNumber(max(1, $0.frame.number.rawValue) - 1) }
        links.append(Link(number: former, cut: cut))
      } else {
        break
      }
    }
    return links.reversed()
  }

  // MARK: Checkpoint

  private mutating func loadCheckpoint(_ head: JournalHead, into catalog: inout Catalog)
    throws(StoreError) -> CheckpointReference
  {
    for reference in checkpoints(head) where reference.exists {
      var loaded = Catalog()
      loaded.beginReplay()
      if try CheckpointReader.load(reference, files: files, into: &loaded) {
        catalog = loaded
        if report.usedFormerCheckpoint || reference != position.checkpoint {
          position.checkpoint = reference
          position.formerCheckpoint = CheckpointReference()
        }
        return reference
      }
      report.usedFormerCheckpoint = true
    }
    if report.usedFormerCheckpoint {
      throw StoreError(
        .damaged, "no checkpoint of this space is whole; \(Recovery.advice)",
        path: SegmentPath.root)
    }
    // None yet: replay begins with the first journal segment.
    catalog = Catalog()
    catalog.beginReplay()
    return CheckpointReference()
  }

  /// The checkpoints that may be started from, the best first.
  func checkpoints(_ head: JournalHead) -> [CheckpointReference] {
    end.map { [$0.checkpoint] } ?? [head.checkpoint, head.formerCheckpoint]
  }

  // MARK: Replay

  mutating func replay(
    _ chain: [Link], behind start: FrameNumber, into catalog: inout Catalog
  ) throws(StoreError) {
    position.frame = start
    var replay = JournalReplay(
      from: position, content: content, salvaged: salvaged,
      believesAll: omitted.contains(.chainedFrames))
    for link in chain.dropLast() {
      try replay.replay(try scan(link.number), of: link.number, cut: link.cut, into: &catalog)
    }
    if let newest = chain.last {
      let scan = try scan(newest.number)
      if let end {
        try replay.replay(scan, of: newest.number, cut: end.frame, into: &catalog)
      } else {
        try replay.finish(scan, of: newest.number, into: &catalog)
      }
    }
    position = replay.position
    believedSegments.formUnion(replay.believedSegments)
    salvaged = replay.salvaged
    adopt(replay.report)
  }

  private mutating func adopt(_ found: RecoveryReport) {
    report.believedFrames = found.believedFrames
    report.cutFrames += found.cutFrames
    report.damagedFrames = found.damagedFrames
    report.isCutShort = found.isCutShort
    report.wasClean = found.wasClean && report.unreadableJournals == 0 && end == nil
  }
}
