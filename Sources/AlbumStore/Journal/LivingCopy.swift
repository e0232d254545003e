import AlbumFormat
import AlbumModel
import Posix

// A copy of the store that was taken while it was written, by rsync or cp, holds each segment as it
// was at another moment. Its journal may say more than its data segments hold, and barriers in it
// prove nothing: they speak of the store that was copied. So in such a copy history ends before the
// first frame that is not there with all that it refers to. That is a prefix of history, and holds all
// that was in the store when the copy was begun, since every segment was read after that.
//
// How such a copy is told from the store itself, which must not be cut where it is damaged: a segment
// that is still being written has the modification time of its last write, and that is also the time
// of its last change of any kind. Who copies it sets the time of the copy afterwards, so that the two
// differ. A segment that was finished before it was copied has the resting time, and lacks nothing.

/// Where the history of a copy ends.
struct HistoryEnd: Sendable {
  /// The checkpoint from which replay goes there; one that does not exist: the beginning.
  var checkpoint = CheckpointReference()
  /// The last frame, and the journal segment that it is in.
  var frame = FrameNumber.none
  var journal = SegmentNumber(0)
  /// Frames that the copy holds of what came then.
  var cutFrames = 0
  /// Data segments that were still being written when they were copied, as far as they are needed.
  var unfinished: Set<SegmentNumber> = []
}

/// Finds the end of history in a copy of a living store. Reads alone.
struct LivingCopy {
  /// How a segment came into the copy.
  private enum Passage {
    /// Nothing is missing, or nobody needs it.
    case whole
    /// What was written last may be missing.
    case unfinished
    /// It is not there.
    case missing
  }

  private let files: SegmentFiles
  private let content: ContentStore
  private var scans: [SegmentNumber: JournalScan] = [:]
  private var passages: [SegmentNumber: Passage] = [:]
  /// Segments that the journal says are not needed any more.
  private var gone: Set<SegmentNumber> = []
  private var usesGone = false
  private var needed: Set<SegmentNumber> = []

  /// The end of history; nil where this is no copy of a living store, or where no checkpoint in it is
  /// whole, so that it is to be treated as damaged. `journals` are those that are there, rising.
  static func end(
    of journals: [SegmentNumber], in listing: SegmentListing, files: SegmentFiles,
    content: ContentStore
  ) throws(StoreError) -> HistoryEnd? {
    var copy = LivingCopy(files: files, content: content)
    guard try copy.isOne(journals, listing) else { return nil }
    let starts = try copy.starts(journals)
    // What a frame behind the end says is not needed any more is needed still at the end.
    var limit = FrameNumber(.max)
    while true {
      try copy.noteGone(journals, upTo: limit)
      var found: HistoryEnd?
      for start in starts where found == nil && start.leastEnd <= limit {
        found = try copy.end(behind: start.checkpoint, journals)
        if let end = found, end.frame < start.leastEnd { found = nil }
      }
      guard let found else { return nil }
      if found.frame >= limit || !copy.usesGone { return found }
      limit = found.frame
    }
  }

  private init(files: SegmentFiles, content: ContentStore) {
    self.files = files
    self.content = content
  }

  private mutating func scan(_ number: SegmentNumber) throws(StoreError) -> JournalScan {
    if let known = scans[number] { return known }
    let scan = try JournalScan(SegmentID(kind: .journal, number: number), files: files)
    scans[number] = scan
    return scan
  }

  // MARK: Is it one

  private mutating func isOne(_ journals: [SegmentNumber], _ listing: SegmentListing)
    throws(StoreError) -> Bool
  {
    var newest: SegmentNumber?
    for number in journals.reversed() where try scan(number).head != nil {
      newest = number
      break
    }
    guard let newest else { return false }
    let scan = try scan(newest)
    if !scan.frames.isEmpty, scan.endsByUnmount { return false }
    let path = files.path(SegmentID(kind: .journal, number: newest))
    if try !files.isResting(path) { return try hasSetTime(path) }
    // Finished just before it was copied, and the one that followed is not there.
    for name in listing.names {
      let path = SegmentPath.path(of: name)
      if try !files.isResting(path), try hasSetTime(path) { return true }
    }
    return false
  }

  private func hasSetTime(_ path: String) throws(StoreError) -> Bool {
    do throws(Errno) { return try files.directory.open(path, .read).hasSetTime() } catch {
      throw StoreError(reading: path, error)
    }
  }

  private mutating func passage(_ number: SegmentNumber) throws(StoreError) -> Passage {
    if let known = passages[number] { return known }
    let found: Passage
    if gone.contains(number) || number.rawValue == 0 {
      found = .whole
      usesGone = true
    } else {
      do throws(StoreError) {
        let isResting = try files.isResting(files.path(SegmentID(kind: .data, number: number)))
        found = isResting ? .whole : .unfinished
      } catch {
        if error.code != .missing { throw error }
        found = .missing
      }
    }
    passages[number] = found
    return found
  }

  // MARK: What is there

  private mutating func noteGone(_ journals: [SegmentNumber], upTo limit: FrameNumber)
    throws(StoreError)
  {
    gone = []
    passages = [:]
    usesGone = false
    for number in journals {
      for found in try scan(number).frames where found.frame.number <= limit {
        try read([found]) { item in
          if case .segment(.data, let number, let state, _) = item {
            if state == .retired || state == .removed { gone.insert(number) }
          }
        }
      }
    }
  }

  private func read(_ frames: [JournalScan.Frame], _ body: (JournalItem) -> Void)
    throws(StoreError)
  {
    do throws(FormatError) { try decodeItems(frames.flatMap(\.frame.items), body) } catch {
      throw StoreError(
        .unsupportedFeature, "journal frame \(frames[0].frame.number.rawValue): \(error)")
    }
  }

  /// Whether all of these extents is there.
  private mutating func isThere(_ extents: [Extent]) throws(StoreError) -> Bool {
    for extent in extents {
      switch try passage(extent.segment) {
      case .whole: continue
      case .missing: return false
      case .unfinished: if try !content.opens(extent) { return false }
      }
      needed.insert(extent.segment)
    }
    return true
  }

  // MARK: Checkpoints

  /// A checkpoint, and the frame up to which replay has to go at least: it was written while work
  /// went on, so that it is of one instant only with the frames that came meanwhile.
  private struct Start {
    var checkpoint = CheckpointReference()
    var leastEnd = FrameNumber.none
  }

  /// All checkpoints that the journal names, the newest first, and the beginning.
  private mutating func starts(_ journals: [SegmentNumber]) throws(StoreError) -> [Start] {
    var found: [Start] = []
    for number in journals.reversed() {
      guard let head = try scan(number).head else { continue }
      for reference in [head.checkpoint, head.formerCheckpoint] where reference.exists {
        if let place = found.firstIndex(where: { $0.checkpoint == reference }) {
          found[place].leastEnd = head.cutFrame
        } else {
          found.append(Start(checkpoint: reference, leastEnd: head.cutFrame))
        }
      }
    }
    return found + [Start()]
  }

  private mutating func isWhole(_ checkpoint: CheckpointReference) throws(StoreError) -> Bool {
    if !checkpoint.exists { return true }
    var catalog = Catalog()
    catalog.beginReplay()
    guard try CheckpointReader.load(checkpoint, files: files, into: &catalog) else { return false }
    for raw in 0..<catalog.inodes.upperBound {
      guard let index = catalog.inodes.occupant(raw) else { continue }
      if try !isThere(catalog.extents.all(catalog.inodes[index].extents)) { return false }
    }
    return true
  }

  private mutating func end(behind checkpoint: CheckpointReference, _ journals: [SegmentNumber])
    throws(StoreError) -> HistoryEnd?
  {
    needed = []
    let first = checkpoint.exists ? checkpoint.firstJournal : SegmentNumber(1)
    guard let chain = try chain(from: first, journals), try isWhole(checkpoint) else { return nil }
    var end = HistoryEnd()
    end.checkpoint = checkpoint
    end.frame = checkpoint.lastFrame
    end.journal = first
    var hash: [UInt8]?
    var isAtEnd = false
    for link in chain {
      let frames = try scan(link.number).frames.filter {
        $0.frame.number > checkpoint.lastFrame && $0.frame.number <= link.cut ?? $0.frame.number
      }
      if hash == nil { hash = try standing(checkpoint, link.number) }
      if isAtEnd {
        end.cutFrames += frames.count
      } else {
        isAtEnd = try !follow(frames, in: link.number, &end, &hash)
      }
    }
    for number in needed where try passage(number) == .unfinished {
      end.unfinished.insert(number)
    }
    return end
  }

  // MARK: Frames

  /// The journal segments from `first` on, each with the frame behind which it is dead; as far as
  /// none between them is missing. nil: `first` itself is.
  private mutating func chain(from first: SegmentNumber, _ journals: [SegmentNumber])
    throws(StoreError) -> [Recovery.Link]?
  {
    for newest in journals.reversed() where newest >= first {
      var links = [Recovery.Link(number: newest, cut: nil)]
      while let link = links.last, let head = try scan(link.number).head {
        if link.number <= first { return links.reversed() }
        links.append(Recovery.Link(number: head.predecessor, cut: head.cutFrame))
      }
    }
    return nil
  }

  /// The hash of the last frame that the checkpoint holds.
  private mutating func standing(_ checkpoint: CheckpointReference, _ first: SegmentNumber)
    throws(StoreError) -> [UInt8]
  {
    let scan = try scan(first)
    if let last = scan.frames.first(where: { $0.frame.number == checkpoint.lastFrame }) {
      return last.hash
    }
    return scan.head?.cutHash ?? []
  }

  /// Goes on behind `end` as long as frames are whole; answers whether all were.
  private mutating func follow(
    _ frames: [JournalScan.Frame], in journal: SegmentNumber, _ end: inout HistoryEnd,
    _ hash: inout [UInt8]?
  ) throws(StoreError) -> Bool {
    var group: [JournalScan.Frame] = []
    for (place, found) in frames.enumerated() {
      let before = group.last?.frame.number ?? end.frame
      let isNext =
        found.frame.number == before.next && found.frame.previousHash == group.last?.hash ?? hash
        && found.frame.isContinuation != group.isEmpty
      group.append(found)
      if isNext && found.frame.continues { continue }
      guard isNext, try isThere(referred(group)) else {
        end.cutFrames += frames.count - place + group.count - 1
        return false
      }
      end.frame = found.frame.number
      end.journal = journal
      hash = found.hash
      group = []
    }
    end.cutFrames += group.count
    return group.isEmpty
  }

  private func referred(_ group: [JournalScan.Frame]) throws(StoreError) -> [Extent] {
    var extents: [Extent] = []
    try read(group) { item in
      if case .extents(_, _, _, let list) = item { extents += list }
    }
    return extents
  }
}
