import AlbumFormat
import AlbumModel

// The catalog's part in emptying segments. Between the look at all extents and the move others may
// change files, and share content of the segments that are being emptied. So the catalog notes who
// gets such content meanwhile, and the move looks at what extents say when it is applied.

/// Which segments are being emptied.
struct Emptying {
  var segments: Set<SegmentNumber> = []
  /// Where files got content in them since that began.
  var sharers: [ContentRange] = []
}

/// A stretch of a file.
struct ContentRange {
  var inode: InodeNumber
  var from: Int64
  var to: Int64

  init(_ inode: InodeNumber, _ extent: Extent) {
    self.inode = inode
    from = extent.offset
    to = extent.end
  }
}

extension Catalog {
  /// From now on `applyMoves` knows who shares content of these segments. Answers a number to name
  /// this by.
  mutating func beginEmptying(_ segments: Set<SegmentNumber>) -> Int {
    let number = (emptyings.keys.max() ?? 0) + 1
    emptyings[number] = Emptying(segments: segments)
    return number
  }

  mutating func endEmptying(_ number: Int) { emptyings[number] = nil }

  /// Called for extents that a file gets.
  mutating func noteSharers(_ index: InodeIndex, _ extents: [Extent]) {
    for number in emptyings.keys {
      for extent in extents where emptyings[number]?.segments.contains(extent.segment) ?? false {
        emptyings[number]?.sharers.append(ContentRange(inodes[index].state.number, extent))
      }
    }
  }

  /// Takes the stretches that got content in the segments being emptied.
  mutating func takeSharers(_ number: Int) -> [ContentRange] {
    defer { emptyings[number]?.sharers = [] }
    return emptyings[number]?.sharers ?? []
  }

  /// Lets extents in these stretches that point to content which was copied point to the copy, as far
  /// as about `limit` extents reach; takes from the end what is done. What an extent says *now* decides:
  /// one that was replaced meanwhile points elsewhere and stays. Who shares a record may move in another
  /// step of history: the old one lives until nobody points to it. The copies are held once by the
  /// caller, who lets them go afterwards.
  mutating func applyMoves(
    _ relocations: Relocations, to ranges: inout [ContentRange], limit: Int
  ) {
    var left = limit
    while left > 0, let range = ranges.popLast() {
      left -= 1
      guard let index = index(of: range.inode) else { continue }
      // One extent may become very many.
      let count = min(left + 1, 64)
      let list = extents(of: index, from: range.from, to: range.to, limit: count)
      if list.count == count, let last = list.last, last.end < range.to {
        ranges.append(range)
        ranges[ranges.count - 1].from = last.end
      }
      var moved: [Extent] = []
      for extent in list { moved += relocations.moved(extent) ?? [] }
      for extent in moved { hold(extent) }
      placeExtents(moved, of: index)
      left -= max(list.count, moved.count)
    }
  }

  /// What the crash harness does instead: the content is put where it was when it was copied, whatever
  /// lies there now.
  mutating func applyBlindly(_ relocations: Relocations, to references: [Reference]) {
    for reference in references {
      guard let index = index(of: reference.inode), let moved = relocations.moved(reference.extent)
      else { continue }
      for extent in moved { hold(extent) }
      let extent = reference.extent
      replaceExtents(of: index, from: extent.offset, to: extent.end, with: moved)
    }
  }
}
