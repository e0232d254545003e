import AlbumFormat
import AlbumModel
import Posix

/// Finds the segments that sessions have added since a listing was made. It computes their names, so a reader
/// follows a writer without listing an object storage: a listing may cost more than a read, and may need
/// another right.
///
/// A later journal segment has the next number and the birth of a session that is known: the one that wrote
/// last, or one whose fence follows. The journal names the segments of checkpoints and content. What is sent
/// of it is sent behind these, so they exist.
struct ListingGrowth {
  private(set) var listing: SegmentListing
  private let files: SegmentFiles
  /// The sessions that may have gone on, the oldest first.
  private var writers: [SegmentBirth]
  /// True if the last one has a fence that the listing has not, so that its journal must be there.
  private var isNewWriter = false

  init(of listing: SegmentListing, _ end: JournalEnd, _ files: SegmentFiles) {
    self.listing = listing
    self.files = files
    writers = [end.birth]
  }

  /// Returns the listing as it is now. nil if only a new listing shows that.
  static func grown(
    _ listing: SegmentListing, behind end: JournalEnd, _ files: SegmentFiles
  ) throws(StoreError) -> SegmentListing? {
    var growth = ListingGrowth(of: listing, end, files)
    if try !growth.followFences() { return nil }
    if try !growth.followJournal(from: end) { return nil }
    return growth.listing
  }

  /// Finds the fences behind the newest one that is listed. Returns false if one cannot be read, or if others
  /// may have followed that are gone.
  private mutating func followFences() throws(StoreError) -> Bool {
    guard var number = listing.numbers(of: .fence).last else { return false }
    var last = Fence.read(number, files)
    if let last { add(last.session) }
    while true {
      let next = SegmentNumber(number.rawValue + 1)
      let name = files.name(Fence.id(next), FenceRecord.birthOfAll)
      if try !files.existsThere(name) { return last != nil }
      last = Fence.read(next, files)
      guard let last else { return false }
      take(Fence.id(next), FenceRecord.birthOfAll)
      for session in last.former.reversed() where session != .none { add(session) }
      add(last.session)
      isNewWriter = true
      number = next
    }
  }

  private mutating func add(_ session: SegmentBirth) {
    writers.removeAll { $0 == session }
    writers.append(session)
  }

  /// Follows the segments from the one that was the last. Returns false if the newest session has none.
  private mutating func followJournal(from end: JournalEnd) throws(StoreError) -> Bool {
    var (number, birth) = (end.number, end.birth)
    while true {
      let id = SegmentID(kind: .journal, number: number)
      take(id, birth)
      // The listing has the content that the segment named before.
      try takeContent(of: id, birth, behind: number == end.number ? end.offset : 0)
      number.rawValue += 1
      guard let next = try successor(number) else { break }
      birth = next
    }
    return !isNewWriter || birth == writers.last
  }

  /// The session that has written the journal segment of a number; nil if nobody has.
  private func successor(_ number: SegmentNumber) throws(StoreError) -> SegmentBirth? {
    let id = SegmentID(kind: .journal, number: number)
    // What another session has left here may have this number, too.
    for writer in writers.reversed() {
      if try files.existsThere(files.name(id, writer)) { return writer }
    }
    return nil
  }

  /// Takes over what a journal segment names, behind an offset in it.
  private mutating func takeContent(
    of id: SegmentID, _ birth: SegmentBirth, behind offset: Int
  ) throws(StoreError) {
    files.use(id, birth)
    let scan = try JournalScan(id, files: files)
    for checkpoint in [scan.head?.checkpoint, scan.head?.formerCheckpoint] {
      guard let checkpoint, checkpoint.exists else { continue }
      take(checkpoint)
    }
    if let first = scan.head?.firstNeeded { dropJournals(before: first) }
    var named: Set<SegmentNumber> = []
    var made: [SegmentNumber: SegmentBirth] = [:]
    for found in scan.frames where found.end > offset {
      try? decodeItems(found.frame.items) { item in
        switch item {
        case .extents(_, _, _, let extents):
          for extent in extents where !extent.isLost { named.insert(extent.segment) }
        case .segment(.data, let number, let birth, _, _): made[number] = birth
        default: break
        }
      }
    }
    for number in named {
      let id = SegmentID(kind: .data, number: number)
      take(id, made[number] ?? listing.own[id]?.last?.birth ?? birth)
    }
  }

  private mutating func take(_ checkpoint: CheckpointReference) {
    for step in 0..<checkpoint.segmentCount {
      let (number, isBeyond) = checkpoint.firstSegment.rawValue.addingReportingOverflow(step)
      if isBeyond { return }
      let id = SegmentID(kind: .checkpoint, number: SegmentNumber(number))
      if !listing.contains(id, checkpoint.birth) { take(id, checkpoint.birth) }
    }
  }

  /// They may be gone, and nobody needs them.
  private mutating func dropJournals(before first: SegmentNumber) {
    for number in listing.numbers(of: .journal) where number < first {
      let id = SegmentID(kind: .journal, number: number)
      for found in listing.own[id] ?? [] { listing.remove(id, found.name) }
    }
  }

  /// Takes over that a segment is there, perhaps with more content than before.
  private mutating func take(_ id: SegmentID, _ birth: SegmentBirth) {
    let name = files.name(id, birth)
    listing.insert(id, birth, name)
    files.directory.expect(SegmentPath.path(of: name), byteCount: Int64(files.segmentSize))
  }
}
