package import AlbumModel

/// The bytes that are authenticated with each record but not stored: where it is and what it is. So
/// a record cannot be moved, taken for one of another kind, or cut.
///
/// | bytes | what |
/// |---|---|
/// | 0..<2 | format, 1, as u16 little-endian |
/// | 2 | kind of the record |
/// | 3 | zero |
/// | 4..<8 | length of the plaintext, as u32 little-endian |
/// | 8..<24 | name of the segment, and so its kind, number and birth: the 16 bytes whose hexadecimal digits are the file's name |
/// | 24..<32 | offset of the record's nonce in the segment, as u64 little-endian |
package struct AssociatedData: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 32

  // Stored in the order of the table and in the byte order of the disk: the memory of this struct
  // is what is authenticated, so that the hot path builds it on the stack and copies nothing.
  private let formatKindLength: UInt64
  private let nameHigh: UInt64
  private let nameLow: UInt64
  private let offset: UInt64

  package init(kind: RecordKind, segment: SegmentName, offset: Int64, byteCount: Int) {
    let format: UInt64 = 1
    formatKindLength =
      (format | UInt64(kind.rawValue) << 16 | UInt64(UInt32(byteCount)) << 32).littleEndian
    nameHigh = segment.high.bigEndian
    nameLow = segment.low.bigEndian
    self.offset = UInt64(offset).littleEndian
  }
}
