import AlbumFormat
import AlbumModel

/// A file put together from what its records say: of each byte the newest.
struct LostFile {
  let inode: InodeNumber
  private(set) var map: ExtentMap
  private(set) var size: Int64

  /// `pieces` in the order of their sequences. `map`, `size`: what is known of it already.
  init(
    _ inode: InodeNumber, _ pieces: [LooseContent.Piece], over map: ExtentMap = ExtentMap(),
    size: Int64 = 0
  ) {
    self.inode = inode
    // There may be very many records.
    var arena = ExtentArena()
    var all = ExtentBlock()
    _ = arena.replace(&all, from: 0, to: .max, with: map.extents)
    for piece in pieces {
      for range in piece.ranges {
        let extent = piece.loose.extent.clipped(from: range.lowerBound, to: range.upperBound)
        _ = arena.replace(&all, from: extent.offset, to: extent.end, with: [extent])
      }
    }
    self.map = ExtentMap(arena.all(all))
    // A record that was moved states the length of its file when it was first written: only what
    // there is content for can be told from what was cut off. Rather too much than too little.
    self.size = max(
      size, pieces.last?.loose.record.fileLength ?? 0, self.map.extents.last?.end ?? 0)
  }
}

extension SegmentFindings.Loose {
  fileprivate var extent: Extent {
    Extent(
      offset: record.offset, length: Int64(record.length), segment: segment,
      grid: UInt32(offset / RecordLayout.grid), skip: 0)
  }
}
