import AlbumFormat
import AlbumModel

// The catalog's part in emptying segments. Between the look at all extents and the move, other callers may
// change files, and share content of the segments that are being emptied. So the catalog records the files
// that get such content, and the move decides by the extents at the moment when it is applied.

/// Which segments are being emptied.
struct Emptying {
  var segments: Set<SegmentNumber> = []
  /// The ranges of files that got content in these segments since then.
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
  /// Begins to record which files get content of these segments, for `applyMoves`. Returns a number for this
  /// emptying.
  mutating func beginEmptying(_ segments: Set<SegmentNumber>) -> Int {
    let number = (emptyings.keys.max() ?? 0) + 1
    emptyings[number] = Emptying(segments: segments)
    return number
  }

  mutating func endEmptying(_ number: Int) { emptyings[number] = nil }

  /// Records a file that gets extents in segments that are being emptied.
  mutating func addSharers(_ index: InodeIndex, _ extents: [Extent]) {
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
}
