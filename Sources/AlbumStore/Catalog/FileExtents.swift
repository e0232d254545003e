package import AlbumFormat
import AlbumModel

// Each call touches about as many extents as it receives, returns or replaces, and some nodes for each,
// however many the file has. A walk over all extents of a file in use works in slices, each under its own
// hold of the lock.

extension Catalog {
  /// The number of extents in a slice: for walking, moving or releasing under one hold of the lock.
  package static let extentsPerSlice = 512

  /// The extents of the content in [from, to), at most `limit`. Gaps between them, up to the last, are holes.
  package func extents(
    of index: InodeIndex, from: Int64, to: Int64, limit: Int = .max
  ) -> [Extent] {
    var result: [Extent] = []
    extents.forEach(inodes[index].extents, endingBehind: from) { extent in
      if extent.offset >= to || result.count == limit { return false }
      result.append(extent.clipped(from: max(extent.offset, from), to: min(extent.end, to)))
      return true
    }
    return result
  }

  /// The number of a file's extents.
  package func extentCount(of index: InodeIndex) -> Int { Int(inodes[index].extents.count) }

  /// Places the content in [from, to) into `new`, which are held (`hold`); the rest becomes a hole. Releases
  /// replaced extents, very many of them later (`letGoOfDetached`).
  package mutating func replaceExtents(
    of index: InodeIndex, from: Int64, to: Int64, with new: [Extent]
  ) {
    if from >= to { return }
    addSharers(index, new)
    for dropped in extents.replace(&inodes[index].extents, from: from, to: to, with: new) {
      segments.letGo(dropped)
    }
    letGoOfDetached(limit: 2 * ExtentArena.fanOut)
    enqueueExtents(index, from, to, count: new.count)
  }

  /// Lets the content in [from, to) be content that something else refers to as well: another file, a former
  /// version or a holder, which all keep it.
  package mutating func shareExtents(
    _ shared: [Extent], with index: InodeIndex, from: Int64 = 0, to: Int64 = .max
  ) {
    for extent in shared { hold(extent) }
    replaceExtents(of: index, from: from, to: to, with: shared)
  }

  /// Places a file's content into `new`, held extents in order, and leaves the rest as it is.
  package mutating func placeExtents(_ new: [Extent], of index: InodeIndex) {
    for run in Catalog.runs(of: new) {
      let range = new[run]
      replaceExtents(
        of: index, from: range.first!.offset, to: range.last!.end, with: Array(range))
    }
  }

  /// Stretches of extents without gaps.
  private static func runs(of extents: [Extent]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start = 0
    for index in extents.indices.dropFirst() where extents[index].offset != extents[index - 1].end {
      runs.append(start..<index)
      start = index
    }
    if !extents.isEmpty { runs.append(start..<extents.count) }
    return runs
  }

  /// Removes all content of a file that goes.
  mutating func dropExtents(of index: InodeIndex) {
    for dropped in extents.release(&inodes[index].extents) { segments.letGo(dropped) }
    letGoOfDetached(limit: Catalog.extentsPerSlice)
  }

  /// Releases about `limit` extents that files do not have any more; until then their segments count as
  /// used. Returns false if none were left.
  @discardableResult
  mutating func letGoOfDetached(limit: Int) -> Bool {
    let taken = extents.takeDetached(limit: limit)
    for extent in taken { segments.letGo(extent) }
    return !taken.isEmpty
  }

  /// Bytes of content that are not holes.
  func allocated(_ index: InodeIndex) -> Int64 { inodes[index].extents.byteCount }

  /// Counts sealed content as living before an extent of the catalog points to it.
  mutating func hold(_ extent: Extent) {
    if extent.isLost { return }
    switch segments.accounts[extent.segment]?.state {
    case nil:
      segments.set(extent.segment, .living, birth: foundBirths[extent.segment])
      changes.segments.insert(extent.segment)
    // The segment lost its other content between the sealing and now.
    case .retired: setState(of: extent.segment, to: .living)
    default: break
    }
    segments.hold(extent)
  }

  /// Releases held content that will not be in the catalog.
  package mutating func letGo(_ extent: Extent) { segments.letGo(extent) }

  mutating func setState(
    of segment: SegmentNumber, to state: SegmentState, retiredAt: StoreTime = .none,
    birth: SegmentBirth? = nil
  ) {
    segments.set(segment, state, retiredAt: retiredAt, birth: birth)
    changes.segments.insert(segment)
  }

  /// Sets a birth that a lost frame had stated.
  mutating func findBirth(of segment: SegmentNumber, _ birth: SegmentBirth) {
    guard let account = segments.accounts[segment] else { return }
    segments.set(segment, account.state, retiredAt: account.retiredAt, birth: birth)
  }

  mutating func setProperty(_ property: SpaceProperty, to value: UInt64) {
    properties[property] = value
    changes.properties.insert(property)
  }

  /// The same, but nothing is written for this alone.
  mutating func setPropertyLater(_ property: SpaceProperty, to value: UInt64) {
    properties[property] = value
    changes.waitingProperties.insert(property)
  }
}

/// The position of a walk over all inodes and their extents.
struct InodeCursor {
  /// The place of an inode, and the offset up to which its content was visited.
  private(set) var place: UInt32 = 0
  private(set) var inode = InodeNumber(0)
  private(set) var offset: Int64 = 0
  fileprivate(set) var isAtEnd = false

  /// The place may have another inode since the last slice.
  fileprivate mutating func enter(_ number: InodeNumber) {
    if inode != number { (inode, offset) = (number, 0) }
  }

  fileprivate mutating func advance(to end: Int64) {
    offset = end
    if end == .max { (place, inode, offset) = (place + 1, InodeNumber(0), 0) }
  }
}

/// A stretch of a file and the place of its content.
struct ContentSlice {
  var index: InodeIndex
  var from: Int64
  var to: Int64
  var extents: [Extent]
}

extension Catalog {
  /// Continues a walk over all inodes and their extents, about `count` of both. Each file comes in one or
  /// several consecutive slices. An inode stays in its place; the walk may miss inodes that are created
  /// meanwhile.
  func walk(_ cursor: inout InodeCursor, count: Int, _ body: (ContentSlice) -> Void) {
    var left = count
    while left > 0, cursor.place < inodes.upperBound {
      left -= 1
      guard let index = inodes.occupant(cursor.place) else {
        cursor.advance(to: .max)
        continue
      }
      cursor.enter(inodes[index].state.number)
      let limit = max(1, left)
      let list = extents(of: index, from: cursor.offset, to: .max, limit: limit)
      let end = list.count < limit ? .max : list[limit - 1].end
      body(ContentSlice(index: index, from: cursor.offset, to: end, extents: list))
      left -= list.count
      cursor.advance(to: end)
    }
    cursor.isAtEnd = cursor.place >= inodes.upperBound
  }
}
