import AlbumFormat
import AlbumModel
import AlbumSecrets

// Builds the catalog for a check. It replays as a mount does, but continues where a mount would be refused,
// and gathers what is left:
//
// 1. It follows the journal segments down from the newest that holds anything. If both heads of a segment are
//    damaged, its predecessor is the segment with the next lower number, up to the first frame of this one.
// 2. Without a whole checkpoint, it applies every checkpoint record that decrypts, older ones first, and then
//    all frames that exist.
// 3. It keeps inodes that it knows only in part, so that a repair can restore them.

extension Recovery {
  /// Replays into `catalog` as `run` does, and changes nothing on disk either. Throws only errors of the disk
  /// and `.unsupportedFeature`. Then `salvaged` says what is missing.
  mutating func salvage(into catalog: inout Catalog) throws(StoreError) {
    salvaged = SalvageReport()
    let numbers = try journalNumbers()
    salvaged?.hasNoJournal = numbers.isEmpty
    newest = numbers.last ?? SegmentNumber(0)
    let all = try gatherChain(numbers)
    let start = try gatherCheckpoint(all, into: &catalog)
    let chain = all.filter { $0.number >= start.firstJournal }
    firstJournal = chain.first?.number ?? newest
    // Without a checkpoint, replay begins with the first frame that is left.
    let first = start.exists ? nil : try journals.beginning(of: chain)
    try replay(chain, from: start, behind: first, into: &catalog) {
      recovery, catalog throws(StoreError) in
      let known = recovery.salvaged
      _ = try recovery.gatherCheckpoint(all, into: &catalog)
      recovery.salvaged = known
    }
    salvaged?.chain = all
    salvaged?.rootWasLost = catalog.keepWhatIsExpected()
    let lost = finish(&catalog)
    salvaged?.lost = lost
    report.lostEntries = lost.lostEntries.count
    report.lostContents = lost.lostContents
    report.orphans = lost.orphans
  }

  /// The journal segments that belong together, oldest first.
  private mutating func gatherChain(_ numbers: [SegmentNumber]) throws(StoreError) -> [JournalLink]
  {
    guard let newest = try newestOfUse(numbers) else { return [] }
    let chain = try journals.chain(from: newest)
    for (place, link) in chain.enumerated() {
      if journals.segment(link.number) == nil {
        salvaged?.missing.append(link.number)
        if place + 1 < chain.count, let head = try scan(chain[place + 1].number).head {
          files.use(SegmentID(kind: .journal, number: link.number), head.predecessorBirth)
        }
      } else if try scan(link.number).head == nil {
        salvaged?.headless.append(link.number)
      }
    }
    return chain
  }

  /// The newest segment of this history that holds something, or did. The numbers of frames show where a
  /// segment without a head belongs.
  ///
  /// Nothing but its frames says which segments are before one without a head. Either they follow those of
  /// the chain. Or the segment was once whole on disk, and the store has segments of one timeline only.
  /// Otherwise a crash tore it, so a mount leaves it out, or it may be another timeline's: its frames would
  /// change files that a mount shows whole.
  private mutating func newestOfUse(_ numbers: [SegmentNumber]) throws(StoreError) -> SegmentNumber?
  {
    let mayBeForeign = journals.holdsOtherCopies || report.mayBeMixed
    for number in numbers.reversed() {
      let scan = try scan(number)
      if scan.head != nil { return number }
      if try journals.followsChain(number) { return number }
      if !scan.wasBegun { continue }
      if scan.frames.isEmpty || mayBeForeign { salvaged?.isIncomplete = true }
      if !mayBeForeign { return number }
      salvaged?.headless.append(number)
    }
    return nil
  }

  private mutating func gatherCheckpoint(_ chain: [JournalLink], into catalog: inout Catalog)
    throws(StoreError) -> CheckpointReference
  {
    var head: JournalHead?
    for link in chain.reversed() where head == nil { head = try scan(link.number).head }
    position.checkpoint = head?.checkpoint ?? CheckpointReference()
    position.formerCheckpoint = head?.formerCheckpoint ?? CheckpointReference()
    let named = [position.checkpoint, position.formerCheckpoint].filter(\.exists)
    salvaged?.checkpoints = named
    var found: CheckpointReference?
    for reference in named {
      if found != nil {
        if try CheckpointReader.read(reference, files: files, { _ in }) { continue }
      } else if try load(reference, into: &catalog) {
        found = reference
        continue
      }
      let isUnfinished = try lacksSegment(of: reference)
      salvaged?.damagedCheckpoints.append((reference, isUnfinished))
      if found == nil { report.checkpoint = .former(isUnfinished: isUnfinished) }
    }
    if let found { return found }
    for reference in try journals.checkpoints(of: chain) where !named.contains(reference) {
      if try load(reference, into: &catalog) { return reference }
    }
    catalog = Catalog()
    catalog.beginReplay()
    // Where a mount needs no checkpoint, records of a damaged one could show other versions of files.
    if head == nil || !named.isEmpty, try !beginsWithSpace(chain) {
      try gatherCheckpointRecords(into: &catalog)
    }
    let before = try journals.beginning(of: chain)
    if before != FrameNumber.none { salvaged?.isIncomplete = true }
    // Lost frames may have stated content of files that later frames name. Without a gap, replay would show
    // that content as zeros.
    if let before, before != .none { catalog.beginGap() }
    return CheckpointReference()
  }

  /// Applies every checkpoint record that decrypts. Finds checkpoint segments by the numbers in their names.
  private mutating func gatherCheckpointRecords(into catalog: inout Catalog) throws(StoreError) {
    for number in listing.numbers(of: .checkpoint) {
      let id = SegmentID(kind: .checkpoint, number: number)
      guard let image = try files.contents(id) else { continue }
      var walk = SegmentWalk(image, name: files.name(id), cipher: files.keys.cipher)
      var pending: (items: [UInt8], next: UInt32)?
      while let found = walk.next() {
        guard let record = try? CheckpointRecord(decoding: found.plaintext) else { continue }
        // A record that continues a lost one cannot be decoded.
        let items: [UInt8]
        if let open = pending, open.next == record.place {
          items = open.items + record.items
        } else {
          items = record.items
        }
        pending = nil
        if record.continuation == .continues {
          pending = (items, record.place + 1)
        } else {
          try? decodeItems(items) { catalog.apply($0) }
        }
      }
    }
  }
}
