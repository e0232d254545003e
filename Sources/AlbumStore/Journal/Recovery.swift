import AlbumFormat
import AlbumModel

/// What a mount found in the journal.
package struct RecoveryReport: Equatable, Sendable {
  /// Frames behind the last proven barrier that were believed.
  package var believedFrames = 0
  /// Frames at the end that were not believed: they lie within 5 seconds of the crash.
  package var cutFrames = 0
  /// Frames before the last proven barrier that are missing or do not open: damage.
  package var damagedFrames = 0
  /// Whether the checkpoint was damaged and the one before it used.
  package var usedFormerCheckpoint = false
  /// Whether the end of the journal is missing: segments are there that were begun behind it.
  package var isEndMissing = false
  /// Names that led to a file which damage took.
  package var lostEntries = 0
  /// Whether the last session ended by an unmount.
  package var wasClean = true
  package init() {}

  package var isDamaged: Bool { isJournalIncomplete || lostEntries > 0 || usedFormerCheckpoint }

  /// Frames are missing: there may be content in the store that the catalog does not know.
  package var isJournalIncomplete: Bool { damagedFrames > 0 || isEndMissing }
}

/// Brings a space's catalog back from its checkpoint and journal. Reads alone, changes nothing on
/// disk. A read error refuses the mount: only what was read and does not open is cut.
///
/// 1. The newest journal segment is found by name. Its head says how the ones before it end and
///    where the checkpoint is.
/// 2. Frames up to the last proven barrier were on disk: one that is missing is damage, stepped over
///    and reported. A barrier is proven by the barrier behind it, since that one began only when
///    the first was synced; and the cut that a head states is proven by the head.
/// 3. Frames behind it are believed one after the other as long as each names the hash of the one
///    before and all records that it refers to open.
struct Recovery {
  var position = JournalPosition()
  var newest = SegmentNumber(0)
  var report = RecoveryReport()
  /// Data segments that frames behind the last proven barrier refer to.
  private(set) var believedSegments: Set<SegmentNumber> = []
  /// Journal segments that replay read, the first of them.
  var firstJournal = SegmentNumber(0)

  let files: SegmentFiles
  private let content: ContentStore
  private let omitted: Set<Precaution>
  private var scans: [SegmentNumber: JournalScan] = [:]

  /// What only a check wants to know; nil where a mount runs. See `salvage`.
  var salvaged: SalvageReport?

  init(files: SegmentFiles, content: ContentStore, omitting omitted: Set<Precaution> = []) {
    self.files = files
    self.content = content
    self.omitted = omitted
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
    var usable: SegmentNumber?
    for number in numbers.reversed() {
      let scan = try scan(number)
      if scan.head != nil {
        usable = number
        break
      }
      // Born just before a crash, if no barrier says that its head was ever on disk.
      if scan.frames.filter({ $0.frame.barrier != nil }).count >= 2 {
        throw StoreError(
          .damaged,
          "both heads of a journal segment are damaged: mounting would lose what follows; "
            + "restore it from a backup of the store",
          path: files.path(SegmentID(kind: .journal, number: number)))
      }
    }
    guard let usable, let head = scans[usable]?.head else {
      throw StoreError(
        .damaged,
        "no journal segment of this space has a readable head; restore the folder "
          + "segments from a backup", path: SegmentPath.root)
    }
    position.checkpoint = head.checkpoint
    position.formerCheckpoint = head.formerCheckpoint
    let start = try loadCheckpoint(head, into: &catalog)
    let chain = try chain(from: usable, to: start.firstJournal)
    firstJournal = chain.first?.number ?? usable
    try replay(chain, behind: start.lastFrame, into: &catalog)
    scans = [:]
    let findings = catalog.finishReplay()
    report.lostEntries = findings.lostEntries.count
  }

  // MARK: Finding the journal

  /// Those that replay read.
  var journalSegments: [SegmentID] {
    (firstJournal.rawValue...max(firstJournal.rawValue, newest.rawValue)).map {
      SegmentID(kind: .journal, number: SegmentNumber($0))
    }
  }

  /// The numbers of the journal segments that exist. Names are keyed hashes, so numbers are tried
  /// from 1 up; old ones are gone, the living ones follow one another but for damage.
  func journalNumbers() throws(StoreError) -> [SegmentNumber] {
    try files.numbers(of: .journal, tries: 1 << 20, misses: 1024)
  }

  mutating func scan(_ number: SegmentNumber) throws(StoreError) -> JournalScan {
    if let known = scans[number] { return known }
    let scan = try JournalScan(SegmentID(kind: .journal, number: number), files: files)
    scans[number] = scan
    return scan
  }

  /// A journal segment to replay, and the frame behind which it is dead; nil for the newest.
  struct Link {
    var number: SegmentNumber
    var cut: FrameNumber?
  }

  private mutating func chain(from newest: SegmentNumber, to first: SegmentNumber)
    throws(StoreError) -> [Link]
  {
    var links = [Link(number: newest, cut: nil)]
    while let link = links.last, link.number > first, let head = try scan(link.number).head,
      head.predecessor.rawValue != 0
    {
      let cut = omitted.contains(.statedCut) ? nil : head.cutFrame
      links.append(Link(number: head.predecessor, cut: cut))
    }
    return links.reversed()
  }

  // MARK: Checkpoint

  private mutating func loadCheckpoint(_ head: JournalHead, into catalog: inout Catalog)
    throws(StoreError) -> CheckpointReference
  {
    for reference in [head.checkpoint, head.formerCheckpoint] where reference.exists {
      var loaded = Catalog()
      loaded.beginReplay()
      if try CheckpointReader.load(reference, files: files, into: &loaded) {
        catalog = loaded
        if report.usedFormerCheckpoint {
          position.checkpoint = reference
          position.formerCheckpoint = CheckpointReference()
        }
        return reference
      }
      report.usedFormerCheckpoint = true
    }
    if report.usedFormerCheckpoint {
      throw StoreError(
        .damaged, "no checkpoint of this space is whole; restore the folder segments from a backup",
        path: SegmentPath.root)
    }
    // None yet: replay begins with the first journal segment.
    catalog = Catalog()
    catalog.beginReplay()
    return CheckpointReference()
  }

  // MARK: Replay

  mutating func replay(
    _ chain: [Link], behind start: FrameNumber, into catalog: inout Catalog
  ) throws(StoreError) {
    position.frame = start
    for link in chain {
      let scan = try scan(link.number)
      enter(link.number, scan)
      let believed = try replay(scan, of: link, into: &catalog)
      if let cut = link.cut {
        if position.frame < cut {
          miss(Int(cut.rawValue - position.frame.rawValue), catalog)
          position.frame = cut
        }
      } else {
        report.wasClean = believed && isClean(scan)
      }
    }
  }

  /// Replays one segment; answers whether all frames in it that may count were believed.
  private mutating func replay(
    _ scan: JournalScan, of link: Link, into catalog: inout Catalog
  ) throws(StoreError) -> Bool {
    let proven = link.cut ?? provenFrame(scan)
    var group: [JournalScan.Frame] = []
    var isBelieved = true
    for found in scan.frames {
      let number = found.frame.number
      if number <= position.frame {
        if number == position.frame { stand(behind: found, in: link.number) }
        continue
      }
      if let cut = link.cut, number > cut { break }
      if !isBelieved {
        report.cutFrames += 1
        continue
      }
      let previous = group.last ?? JournalScan.Frame(standing: position)
      let isNext = number == previous.frame.number.next
      if number > proven {
        isBelieved = isNext && found.frame.previousHash == previous.hash
        if omitted.contains(.chainedFrames) { isBelieved = true }
      } else if !isNext || found.frame.isContinuation == group.isEmpty {
        miss(Int(number.rawValue - position.frame.next.rawValue), catalog)
        group = []
        if found.frame.isContinuation { miss(1, catalog) }
      }
      if found.frame.isContinuation == group.isEmpty { continue }
      if isBelieved { group.append(found) }
      if isBelieved, found.frame.continues { continue }
      if isBelieved, number > proven { isBelieved = try opens(group) }
      if !isBelieved {
        report.cutFrames += max(1, group.count)
        continue
      }
      if number > proven { report.believedFrames += group.count }
      try apply(group, link.number, into: &catalog)
      group = []
    }
    if !group.isEmpty { report.cutFrames += group.count }
    return isBelieved && group.isEmpty
  }

  /// Frames that were on disk are missing.
  private mutating func miss(_ count: Int, _ catalog: borrowing Catalog) {
    if count == 0 { return }
    report.damagedFrames += count
    salvaged?.noteGap(catalog)
  }

  /// Where the journal stands if nothing in this segment is believed.
  private mutating func enter(_ number: SegmentNumber, _ scan: JournalScan) {
    position.segment = number
    position.offset = scan.start
    if let head = scan.head, head.cutFrame == position.frame || position.frame == .none {
      position.hash = head.cutHash
    }
  }

  private mutating func apply(
    _ group: [JournalScan.Frame], _ segment: SegmentNumber, into catalog: inout Catalog
  ) throws(StoreError) {
    let bytes = group.count == 1 ? group[0].frame.items : group.flatMap(\.frame.items)
    do throws(FormatError) {
      try decodeItems(bytes) { item in
        catalog.apply(item)
        salvaged?.note(item)
      }
    } catch {
      throw StoreError(
        .unsupportedFeature, "journal frame \(group[0].frame.number.rawValue): \(error)")
    }
    if let last = group.last { stand(behind: last, in: segment) }
  }

  private mutating func stand(behind frame: JournalScan.Frame, in segment: SegmentNumber) {
    position.segment = segment
    position.frame = frame.frame.number
    position.hash = frame.hash
    position.offset = frame.end
  }

  /// The last frame that is known to have been on disk: what the last barrier but one says.
  func provenFrame(_ scan: JournalScan) -> FrameNumber {
    let barriers = scan.frames.compactMap(\.frame.barrier)
    let stated = scan.head?.cutFrame ?? .none
    return barriers.count < 2 ? stated : max(stated, barriers[barriers.count - 2])
  }

  /// An unmount leaves no frames behind its head, or two barriers at the end.
  private func isClean(_ scan: JournalScan) -> Bool {
    guard let last = scan.frames.last else { return true }
    guard scan.frames.count >= 2, let barrier = scan.frames[scan.frames.count - 2].frame.barrier
    else { return false }
    return last.frame.barrier != nil
      && barrier.rawValue + 2 == last.frame.number.rawValue
  }

  /// Whether all records open that these frames refer to.
  private mutating func opens(_ group: [JournalScan.Frame]) throws(StoreError) -> Bool {
    var referred: [Extent] = []
    do throws(FormatError) {
      try decodeItems(group.flatMap(\.frame.items)) { item in
        if case .extents(_, _, _, let extents) = item { referred += extents }
      }
    } catch {
      throw StoreError(
        .unsupportedFeature, "journal frame \(group[0].frame.number.rawValue): \(error)")
    }
    for extent in referred where try !opens(extent) { return false }
    believedSegments.formUnion(referred.map(\.segment))
    return true
  }
}

extension Recovery {
  /// A check goes on where the disk answers an error, and names the files that it costs.
  private func opens(_ extent: Extent) throws(StoreError) -> Bool {
    do throws(StoreError) { return try content.opens(extent) } catch {
      if salvaged == nil || error.code != .inputOutput { throw error }
      return true
    }
  }
}

extension JournalScan.Frame {
  /// What stands before the next frame, as far as its number and hash go.
  fileprivate init(standing position: JournalPosition) {
    frame = JournalFrame(
      number: position.frame, previousHash: [], continues: false, isContinuation: false, items: [])
    hash = position.hash
    end = position.offset
  }
}

extension JournalFrame {
  /// The frame that this one says is on disk, if it is a barrier.
  var barrier: FrameNumber? {
    var found: FrameNumber?
    var count = 0
    try? decodeItems(items) { item in
      count += 1
      if case .barrier(let frame) = item { found = frame }
    }
    return count == 1 ? found : nil
  }
}
