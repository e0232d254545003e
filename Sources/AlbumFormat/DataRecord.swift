package import AlbumModel

/// The plaintext of a data record:
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
/// If the catalog is lost, the first 40 bytes identify the file of the content. All numbers are
/// little-endian.
package struct DataRecord: Equatable, Sendable {
  package static let headerByteCount = 40
  /// The greatest content of one record, in bytes.
  package static let contentLimit: Int64 = 65_536
  /// Grid units from the start of a full record to the start of the next.
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

  /// Writes the header of 40 bytes.
  package func encode(into header: UnsafeMutableRawBufferPointer) {
    precondition(header.count >= DataRecord.headerByteCount)
    unsafe header.storeBytes(of: inode.rawValue.littleEndian, toByteOffset: 0, as: UInt64.self)
    unsafe header.storeBytes(of: offset.littleEndian, toByteOffset: 8, as: Int64.self)
    unsafe header.storeBytes(of: length.littleEndian, toByteOffset: 16, as: UInt32.self)
    unsafe header.storeBytes(of: 0, toByteOffset: 20, as: UInt32.self)
    unsafe header.storeBytes(of: sequence.littleEndian, toByteOffset: 24, as: UInt64.self)
    unsafe header.storeBytes(of: fileLength.littleEndian, toByteOffset: 32, as: Int64.self)
  }

  /// Reads the header of 40 bytes; nil if a value is impossible, or contradicts `plaintextByteCount`, the
  /// length of the whole record.
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
