package import AlbumModel

// Where a stretch of a file's content lies. All arithmetic of extents, records and the grid is
// in this file and in `RecordLayout`, pure and without state.
//
// Content is cut into records of at most 64 KiB. A run of records that follow one another in a
// segment, all but the last of them full, is one extent: the content at `skip + n` bytes from
// the start of the run lies in record `(skip + n) / 64 KiB` of it.

/// A stretch of a file: `length` bytes at `offset` of the file are found `skip` bytes into the
/// content of the record at `grid` of `segment`, and on through the records that follow it.
package struct Extent: Equatable, Sendable, BitwiseCopyable {
  /// In the file, in bytes.
  package var offset: Int64
  /// In bytes, above 0.
  package var length: Int64
  package var segment: SegmentNumber
  /// Where the first record begins, in units of the segment's grid (256 bytes).
  package var grid: UInt32
  /// Into the first record's content, in bytes; below 64 KiB.
  package var skip: UInt32

  package init(offset: Int64, length: Int64, segment: SegmentNumber, grid: UInt32, skip: UInt32) {
    self.offset = offset
    self.length = length
    self.segment = segment
    self.grid = grid
    self.skip = skip
  }

  package var end: Int64 { offset + length }

  /// Of content that nobody knows any more, see `isLost`: no segment has this number.
  package static let lostSegment = SegmentNumber(0)
  /// No extent of lost content is longer, in bytes: its grid would overflow.
  package static let lostLimit: Int64 = 1 << 39

  /// What the file held here was stated in a part of the journal that is damaged: reading it is an
  /// error, until it is written again.
  package var isLost: Bool { segment == Extent.lostSegment }

  /// Whether its records could be in a segment of the greatest size, or are lost and could be
  /// counted: of any other extent no arithmetic is possible.
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

  /// The part of it from `lower` up to `upper`, both offsets in the file and within it.
  package func clipped(from lower: Int64, to upper: Int64) -> Extent {
    let into = Int64(skip) + (lower - offset)
    let record = into / DataRecord.contentLimit
    return Extent(
      offset: lower, length: upper - lower, segment: segment,
      grid: grid + UInt32(record) * DataRecord.fullGridCount,
      skip: UInt32(into % DataRecord.contentLimit))
  }

  /// Whether `next` goes on exactly where this ends, in the file and in the segment, so that both
  /// are one extent. The last record of this must be full or be `next`'s first one.
  package func isContinued(by next: Extent) -> Bool {
    guard next.segment == segment, next.offset == end else { return false }
    let into = Int64(skip) + length
    let record = UInt32(into / DataRecord.contentLimit)
    return next.skip == UInt32(into % DataRecord.contentLimit)
      && next.grid == grid + record * DataRecord.fullGridCount
  }
}

extension Extent {
  /// Bytes of the segment, on the grid, that records with just this content take: each byte of a
  /// segment that is in this range of some extent is in use, however many extents share it.
  package var occupied: Range<Int64> {
    let grid = Int64(RecordLayout.grid)
    let start = place(of: 0) / grid * grid
    let overhead = Int64(DataRecord.headerByteCount + RecordLayout.overhead)
    return start..<((place(of: length - 1) + overhead) / grid + 1) * grid
  }

  /// Orders extents of one segment as their content lies in it: where the byte `into` of the content
  /// is, less the headers of its record.
  package func place(of into: Int64) -> Int64 {
    let position = Int64(skip) + into
    let record = Int64(grid) + position / DataRecord.contentLimit * Int64(DataRecord.fullGridCount)
    return record * Int64(RecordLayout.grid) + position % DataRecord.contentLimit
  }

  /// Bytes of content from the beginning of this up to that of `other`, where both lie in one run of
  /// records; nil where they do not. Two extents share content where this is below the length of
  /// the first and, negated, below that of the second.
  package func distance(to other: Extent) -> Int64? {
    let grids = Int64(other.grid) - Int64(grid)
    let (records, rest) = grids.quotientAndRemainder(dividingBy: Int64(DataRecord.fullGridCount))
    if other.segment != segment || rest != 0 { return nil }
    return records * DataRecord.contentLimit + Int64(other.skip) - Int64(skip)
  }
}

/// The content of a data record, in clear:
///
/// | bytes | what |
/// |---|---|
/// | 0..<8 | inode number |
/// | 8..<16 | offset of the content in its file |
/// | 16..<20 | length of the content, 1 to 65,536 |
/// | 20..<24 | zero |
/// | 24..<32 | write sequence, rising over the whole space |
/// | 32..<40 | length of the file when the record was sealed |
/// | 40... | the content |
///
/// The first 40 bytes are what finds photos again should the catalog be lost. All numbers are
/// little-endian.
package struct DataRecord: Equatable, Sendable {
  package static let headerByteCount = 40
  /// The greatest content of one record, in bytes.
  package static let contentLimit: Int64 = 65_536
  /// Grid units from the beginning of a full record to that of the next.
  package static let fullGridCount = UInt32(
    RecordLayout.paddedByteCount(plaintext: headerByteCount + Int(contentLimit))
      / RecordLayout.grid)

  package var inode: InodeNumber
  package var offset: Int64
  package var length: UInt32
  package var sequence: UInt64
  package var fileLength: Int64

  package init(
    inode: InodeNumber, offset: Int64, length: UInt32, sequence: UInt64, fileLength: Int64
  ) {
    self.inode = inode
    self.offset = offset
    self.length = length
    self.sequence = sequence
    self.fileLength = fileLength
  }

  /// Writes the 40 bytes.
  package func encode(into header: UnsafeMutableRawBufferPointer) {
    precondition(header.count >= DataRecord.headerByteCount)
    unsafe header.storeBytes(of: inode.rawValue.littleEndian, toByteOffset: 0, as: UInt64.self)
    unsafe header.storeBytes(of: offset.littleEndian, toByteOffset: 8, as: Int64.self)
    unsafe header.storeBytes(of: length.littleEndian, toByteOffset: 16, as: UInt32.self)
    unsafe header.storeBytes(of: 0, toByteOffset: 20, as: UInt32.self)
    unsafe header.storeBytes(of: sequence.littleEndian, toByteOffset: 24, as: UInt64.self)
    unsafe header.storeBytes(of: fileLength.littleEndian, toByteOffset: 32, as: Int64.self)
  }

  /// Reads the 40 bytes; nil where they make no sense, or contradict
  /// `plaintextByteCount`, the whole record's length.
  package init?(decoding header: UnsafeRawBufferPointer, plaintextByteCount: Int) {
    guard header.count >= DataRecord.headerByteCount else { return nil }
    inode = InodeNumber(
      UInt64(littleEndian: unsafe header.loadUnaligned(fromByteOffset: 0, as: UInt64.self)))
    offset = Int64(littleEndian: unsafe header.loadUnaligned(fromByteOffset: 8, as: Int64.self))
    length = UInt32(littleEndian: unsafe header.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
    sequence = UInt64(
      littleEndian: unsafe header.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
    fileLength = Int64(
      littleEndian: unsafe header.loadUnaligned(fromByteOffset: 32, as: Int64.self))
    guard Int(length) + DataRecord.headerByteCount == plaintextByteCount, length > 0, offset >= 0,
      offset <= .max - Int64(length), fileLength >= 0,
      1...NumberLimits.inode ~= inode.rawValue, sequence <= NumberLimits.inode
    else { return nil }
  }
}
