package import AlbumModel

// All arithmetic of extents, records and the grid is in this file, in `DataRecord` and in `RecordLayout`,
// pure and without state.
//
// Content is cut into records of at most 64 KiB. A run of adjacent records of a segment, all full but
// the last, is one extent. The content at `skip + n` bytes from the start of the run is in its record
// `(skip + n) / 64 KiB`.

/// A stretch of a file and its place: `length` bytes at `offset` of the file begin `skip` bytes into the
/// content of the record at `grid` of `segment`, and continue through the records after it.
package struct Extent: Equatable, Sendable, BitwiseCopyable {
  /// Offset in the file, in bytes.
  package var offset: Int64
  /// Length in bytes, above 0.
  package var length: Int64
  package var segment: SegmentNumber
  /// Start of the first record, in units of the segment's grid (256 bytes).
  package var grid: UInt32
  /// Offset in the first record's content, in bytes; below 64 KiB.
  package var skip: UInt32

  package init(offset: Int64, length: Int64, segment: SegmentNumber, grid: UInt32, skip: UInt32) {
    self.offset = offset
    self.length = length
    self.segment = segment
    self.grid = grid
    self.skip = skip
  }

  package var end: Int64 { offset + length }

  /// The segment number of lost content (`isLost`). No segment has it.
  package static let lostSegment = SegmentNumber(0)
  /// The greatest length of an extent of lost content, in bytes. A longer one would overflow its grid.
  package static let lostLimit: Int64 = 1 << 39

  /// True if the damaged part of the journal recorded the content of this stretch. Reading it is an error
  /// until it is written again.
  package var isLost: Bool { segment == Extent.lostSegment }

  /// True if its records fit into a segment of the greatest size, or if it is lost and countable. Other
  /// values would overflow.
  var fitsSegment: Bool {
    let segment = Int64(SegmentLayout.maximumByteCount)
    let (longest, gridCount) =
      isLost
      ? (Extent.lostLimit, Int64(UInt32.max - DataRecord.fullGridCount))
      : (segment, segment / Int64(RecordLayout.grid))
    guard length > 0, length <= longest, Int64(skip) < DataRecord.contentLimit else { return false }
    let lastRecord = (Int64(skip) + length - 1) / DataRecord.contentLimit
    return Int64(grid) + lastRecord * Int64(DataRecord.fullGridCount) < gridCount
  }

  /// The part from `lower` up to `upper`, both offsets in the file and within the extent.
  package func clipped(from lower: Int64, to upper: Int64) -> Extent {
    let into = Int64(skip) + (lower - offset)
    let record = into / DataRecord.contentLimit
    return Extent(
      offset: lower, length: upper - lower, segment: segment,
      grid: grid + UInt32(record) * DataRecord.fullGridCount,
      skip: UInt32(into % DataRecord.contentLimit))
  }

  /// True if `next` begins exactly where this extent ends, in the file and in the segment, so that both are
  /// one extent. The last record of this extent must be full or be `next`'s first one.
  package func isContinued(by next: Extent) -> Bool {
    guard next.segment == segment, next.offset == end else { return false }
    let into = Int64(skip) + length
    let record = UInt32(into / DataRecord.contentLimit)
    return next.skip == UInt32(into % DataRecord.contentLimit)
      && next.grid == grid + record * DataRecord.fullGridCount
  }
}

extension Extent {
  /// The range of the segment, on the grid, that records with just this content occupy. A byte of a segment
  /// is in use if it is in this range of at least one extent.
  package var occupied: Range<Int64> {
    let grid = Int64(RecordLayout.grid)
    let start = place(of: 0) / grid * grid
    let overhead = Int64(DataRecord.headerByteCount + RecordLayout.overhead)
    return start..<((place(of: length - 1) + overhead) / grid + 1) * grid
  }

  /// Sorts extents of one segment in the order of their content: the position of byte `into` of the content,
  /// without the headers of its record.
  package func place(of into: Int64) -> Int64 {
    let position = Int64(skip) + into
    let record = Int64(grid) + position / DataRecord.contentLimit * Int64(DataRecord.fullGridCount)
    return record * Int64(RecordLayout.grid) + position % DataRecord.contentLimit
  }

  /// Bytes of content from the start of this extent to the start of `other`; nil if they do not lie in one
  /// run of records. They share content if this is below the length of the first and, negated, below the
  /// length of the second.
  package func distance(to other: Extent) -> Int64? {
    let grids = Int64(other.grid) - Int64(grid)
    let (records, rest) = grids.quotientAndRemainder(dividingBy: Int64(DataRecord.fullGridCount))
    if other.segment != segment || rest != 0 { return nil }
    return records * DataRecord.contentLimit + Int64(other.skip) - Int64(skip)
  }
}
