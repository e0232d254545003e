import AlbumFormat
import AlbumModel

/// One contradiction within a catalog: what a repair acts on.
enum CatalogProblem: Sendable {
  /// No name that can be reached from the root leads to it: the topmost of what hangs together.
  case orphan(InodeNumber)
  /// A directory that has another name, which it knows as its own.
  case secondName(directory: InodeNumber, name: [UInt8], child: InodeNumber)
  case linkCount(InodeNumber, stated: UInt32, names: UInt32)
  /// Points outside of any segment.
  case extentOutside(InodeNumber, Extent)
  /// Content of which nobody knows any more where it is.
  case contentLost(InodeNumber, Range<Int64>)
  /// Content behind the end of its file, or of what has no content.
  case contentBeyondEnd(InodeNumber, from: Int64, to: Int64)
  case ledger(SegmentNumber, stated: Int64, found: Int64)
  /// Stated to hold nothing that lives, and it does: it would be removed.
  case segmentInUse(SegmentNumber)
  /// Marked as an album's Photo or Thumb, and it is not.
  case albumPart(InodeNumber)
  /// A photo whose thumbnail is not there.
  case thumbnailGone(photo: InodeNumber)
  /// A number in use that is not taken.
  case counter(String)
}

/// Checks a catalog for itself: nothing is read from the disk.
///
/// 1. Every name leads to an inode; every inode is reached from the root, but for thumbnails, which
///    are reached by their photos; a directory has one name, and knows it.
/// 2. Links are the number of names, and of photos that have it for their thumbnail.
/// 3. Extents lie within the size of their file and of a segment; what points into a segment is what
///    the ledger counts.
/// 4. An album's parts are in it, under their names.
/// 5. Counters are above every number in use.
struct CatalogCheck {
  private(set) var problems: [CatalogProblem] = []
  private(set) var fileCount = 0
  private(set) var directoryCount = 0

  private let segmentSize: Int
  private var names: [UInt32]
  private var thumbnailUses: [UInt32]
  private var isReached: [Bool]

  init(_ catalog: borrowing Catalog, segmentSize: Int) {
    self.segmentSize = segmentSize
    let count = Int(catalog.inodes.upperBound)
    names = [UInt32](repeating: 0, count: count)
    thumbnailUses = names
    isReached = [Bool](repeating: false, count: count)
    countNames(catalog)
    reachAll(catalog)
    checkInodes(catalog)
    checkLedger(catalog)
    checkCounters(catalog)
  }

  private mutating func countNames(_ catalog: borrowing Catalog) {
    for raw in 0..<catalog.inodes.upperBound {
      guard let index = catalog.inodes.occupant(raw) else { continue }
      let state = catalog.state(index)
      if let thumbnail = catalog.index(of: state.thumbnail), state.thumbnail.rawValue != 0 {
        thumbnailUses[Int(thumbnail.rawValue)] += 1
      }
      if state.kind == .directory { countNames(in: index, catalog) }
    }
  }

  private mutating func countNames(in directory: InodeIndex, _ catalog: borrowing Catalog) {
    let number = catalog.state(directory).number
    var found: [CatalogProblem] = []
    catalog.forEachEntry(of: directory) { name, child, _ in
      let place = Int(child.rawValue)
      names[place] += 1
      let state = catalog.state(child)
      guard state.kind == .directory else { return true }
      if catalog.parent(of: child) != number || catalog.name(of: child) != name {
        found.append(.secondName(directory: number, name: name, child: state.number))
      }
      return true
    }
    problems += found
  }

  // MARK: Reaching

  private mutating func reachAll(_ catalog: borrowing Catalog) {
    if let root = catalog.index(of: .root) { reach(from: root, catalog) }
    // First what nothing names, then what goes round in circles.
    for wantsNameless in [true, false] {
      for raw in 0..<catalog.inodes.upperBound where !isReached[Int(raw)] {
        guard let index = catalog.inodes.occupant(raw) else { continue }
        if wantsNameless && names[Int(raw)] > 0 || thumbnailUses[Int(raw)] > 0 { continue }
        problems.append(.orphan(catalog.state(index).number))
        reach(from: index, catalog)
      }
    }
  }

  private mutating func reach(from top: InodeIndex, _ catalog: borrowing Catalog) {
    var waiting = [top]
    isReached[Int(top.rawValue)] = true
    while let next = waiting.popLast() {
      guard catalog.state(next).kind == .directory else { continue }
      catalog.forEachEntry(of: next) { _, child, _ in
        if !isReached[Int(child.rawValue)] {
          isReached[Int(child.rawValue)] = true
          waiting.append(child)
        }
        return true
      }
    }
  }

  // MARK: Inodes

  private mutating func checkInodes(_ catalog: borrowing Catalog) {
    for raw in 0..<catalog.inodes.upperBound {
      guard let index = catalog.inodes.occupant(raw) else { continue }
      let state = catalog.state(index)
      if state.kind == .directory {
        directoryCount += 1
      } else if !state.marks.contains(.leftOut) {
        fileCount += 1
      }
      checkLinks(state, place: Int(raw))
      checkExtents(of: index, state, catalog)
      if state.thumbnail.rawValue != 0 || state.thumbnailState == .made {
        checkThumbnail(state, catalog)
      }
      if !state.marks.isDisjoint(with: [.photoDirectory, .thumbDirectory]) {
        checkAlbumPart(index, state, catalog)
      }
    }
  }

  private mutating func checkLinks(_ state: InodeState, place: Int) {
    let count = state.kind == .directory ? 1 : names[place] + thumbnailUses[place]
    // That of an orphan is told as what it is.
    if count > 0, state.links != count {
      problems.append(.linkCount(state.number, stated: state.links, names: count))
    }
  }

  private mutating func checkExtents(
    of index: InodeIndex, _ state: InodeState, _ catalog: borrowing Catalog
  ) {
    let all = catalog.extents.all(catalog.inodes[index].extents)
    for extent in all {
      if extent.isLost {
        problems.append(.contentLost(state.number, extent.offset..<extent.end))
      } else if extent.end(inSegmentOf: segmentSize) > segmentSize {
        problems.append(.extentOutside(state.number, extent))
      }
    }
    let limit = state.kind == .regular ? state.size : 0
    if let last = all.last, last.end > limit {
      problems.append(.contentBeyondEnd(state.number, from: limit, to: last.end))
    }
  }

  private mutating func checkThumbnail(_ state: InodeState, _ catalog: borrowing Catalog) {
    if let thumbnail = catalog.index(of: state.thumbnail), state.thumbnail.rawValue != 0,
      catalog.state(thumbnail).kind == .regular,
      catalog.state(thumbnail).marks.contains(.madeThumbnail)
    {
      return
    }
    problems.append(.thumbnailGone(photo: state.number))
  }

  private mutating func checkAlbumPart(
    _ index: InodeIndex, _ state: InodeState, _ catalog: borrowing Catalog
  ) {
    let name = state.marks.contains(.photoDirectory) ? FileName.photo : FileName.thumb
    if state.kind == .directory, catalog.name(of: index) == name.bytes,
      let parent = catalog.index(of: catalog.parent(of: index)),
      catalog.state(parent).marks.contains(.album)
    {
      return
    }
    problems.append(.albumPart(state.number))
  }

  // MARK: Segments and counters

  private mutating func checkLedger(_ catalog: borrowing Catalog) {
    var live: [SegmentNumber: Int64] = [:]
    for raw in 0..<catalog.inodes.upperBound {
      guard let index = catalog.inodes.occupant(raw) else { continue }
      for extent in catalog.extents.all(catalog.inodes[index].extents) where !extent.isLost {
        live[extent.segment, default: 0] += extent.length
      }
    }
    for segment in Set(live.keys).union(catalog.segments.accounts.keys).sorted() {
      let account = catalog.segments.accounts[segment]
      let stated = account?.live ?? 0
      let found = live[segment] ?? 0
      if found > 0, account?.state == .retired { problems.append(.segmentInUse(segment)) }
      if stated != found {
        problems.append(.ledger(segment, stated: stated, found: found))
      }
    }
  }

  private mutating func checkCounters(_ catalog: borrowing Catalog) {
    let (next, used) = (catalog.counters, catalog.numbersInUse)
    if used.nextInode > next.nextInode { problems.append(.counter("inode")) }
    if used.nextDataSegment > next.nextDataSegment { problems.append(.counter("segment")) }
  }
}

extension Extent {
  /// Where its last record ends, in bytes of the segment; more than `byteCount` where that is not in
  /// a segment of that size.
  fileprivate func end(inSegmentOf byteCount: Int) -> Int {
    let into = Int64(skip) + length
    let records = (into - 1) / DataRecord.contentLimit
    guard records < Int64(byteCount) else { return .max }
    let last = Int(into - records * DataRecord.contentLimit) + DataRecord.headerByteCount
    return (Int(grid) + Int(records) * Int(DataRecord.fullGridCount)) * RecordLayout.grid
      + RecordLayout.sealedByteCount(plaintext: last)
  }
}
