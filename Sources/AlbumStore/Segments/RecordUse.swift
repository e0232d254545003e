package import AlbumFormat
package import AlbumModel

/// A range of a file and the records that it needs, which a check decrypts.
///
/// The check does not compare the inode and offset in a record with the file: copy_file_range shares records
/// within a file and between files, and the file that they were written for may be gone. The associated data
/// bind a record to its place in its segment.
package struct RecordUse: Sendable {
  package var inode: InodeNumber
  package var extent: Extent

  package init(inode: InodeNumber, extent: Extent) {
    self.inode = inode
    self.extent = extent
  }

  /// The places of the records in the segment, in bytes.
  package var offsets: StrideTo<Int> {
    let start = Int(extent.grid) * RecordLayout.grid
    let stride = Int(DataRecord.fullGridCount) * RecordLayout.grid
    let last = (Int64(extent.skip) + extent.length - 1) / DataRecord.contentLimit
    return Swift.stride(from: start, to: start + (Int(last) + 1) * stride, by: stride)
  }

  /// The stretch of the file that lies in the record at `place` among them.
  func range(ofRecord place: Int) -> Range<Int64> {
    let start = Int64(place) * DataRecord.contentLimit - Int64(extent.skip)
    let end = start + DataRecord.contentLimit
    return extent.offset + max(0, start)..<extent.offset + min(extent.length, end)
  }

  /// How much content the record at `place` must have, in bytes.
  func neededByteCount(ofRecord place: Int) -> Int64 {
    let end = Int64(extent.skip) + extent.length - Int64(place) * DataRecord.contentLimit
    return min(end, DataRecord.contentLimit)
  }
}
