package import AlbumModel

/// The bytes that are authenticated with each record but not stored: the record's place and kind. They
/// prevent moving a record, using it as one of another kind, and truncating it.
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

  // The fields follow the table and the byte order of the disk, so the memory of this struct is the
  // associated data. The hot path builds it on the stack and copies nothing.
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
