import AlbumFormat
import AlbumModel

/// A file put together from what its records say: of each byte the newest.
struct LostFile {
  let inode: InodeNumber
  private(set) var map: ExtentMap
  private(set) var size: Int64

  /// `records` in the order of their sequences. `map`, `size`: what is known of it already.
  init(
    _ inode: InodeNumber, _ records: LooseContent.Records, over map: ExtentMap = ExtentMap(),
    size: Int64 = 0
  ) {
    self.inode = inode
    self.map = map
    self.size = size
    for loose in records { put(loose) }
    // A record that was moved states the length of its file when it was first written: only what
    // there is content for can be told from what was cut off. Rather too much than too little.
    self.size = max(size, records.last?.record.fileLength ?? 0, self.map.extents.last?.end ?? 0)
  }

  private mutating func put(_ loose: SegmentFindings.Loose) {
    let record = loose.record
    let extent = Extent(
      offset: record.offset, length: Int64(record.length), segment: loose.segment,
      grid: UInt32(loose.offset / RecordLayout.grid), skip: 0)
    map.replace(from: extent.offset, to: extent.end, with: [extent])
  }
}
