import AlbumFormat
import AlbumModel

// The catalog's part in emptying segments. Between the survey of all extents and the move, other callers may
// change files and share content of these segments. So the catalog records which files get such content
// meanwhile, and a move checks the current extents.

/// Segments that are being emptied.
struct Emptying {
  var segments: Set<SegmentNumber> = []
  /// Where files have got content in these segments since then.
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
  /// From now on `applyMoves` knows which files share content of these segments. Returns a number that
  /// identifies this emptying.
  mutating func beginEmptying(_ segments: Set<SegmentNumber>) -> Int {
    let number = (emptyings.keys.max() ?? 0) + 1
    emptyings[number] = Emptying(segments: segments)
    return number
  }

  mutating func endEmptying(_ number: Int) { emptyings[number] = nil }

  /// Called for the new extents of a file.
  mutating func noteSharers(_ index: InodeIndex, _ extents: [Extent]) {
    for number in emptyings.keys {
      for extent in extents where emptyings[number]?.segments.contains(extent.segment) ?? false {
        emptyings[number]?.sharers.append(ContentRange(inodes[index].state.number, extent))
      }
    }
  }

  /// Takes the stretches that have got content in these segments.
  mutating func takeSharers(_ number: Int) -> [ContentRange] {
    defer { emptyings[number]?.sharers = [] }
    return emptyings[number]?.sharers ?? []
  }

  /// Redirects extents in these stretches from copied content to its copy, about `limit` extents at a time,
  /// and removes finished stretches from the end of `ranges`. The *current* extent decides: one that was
  /// replaced meanwhile points elsewhere and stays. Sharers of a record may move in different steps of
  /// history: the original lives until no extent points to it. The caller holds the copies once and releases
  /// them afterwards.
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

  /// For the crash harness: writes the content to the place from which it was copied, whatever is there now.
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
