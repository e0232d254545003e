/// Records that a part of the journal was missing when the space was mounted for writing. Data that this
/// part recorded may still be in the store, and its numbers identify it. albumfs removes nothing until a
/// repair has brought it back.
///
/// first inode u64 | inode end u64 | sequence end u64 | cause u8 (1 damage, 2 the end of a copy): 25 bytes.
/// All zeros: a repair has cleared the loss.
package struct JournalLoss: Equatable, Sendable, BitwiseCopyable {
  /// Inodes below this number are known, or known to be removed.
  package var firstInode: UInt64
  /// Inodes from this number on were made after the loss.
  package var inodeEnd: UInt64
  /// Records from this write sequence on were written after the loss.
  package var sequenceEnd: UInt64
  /// True if the missing part may not have been in the store yet when the store was copied.
  package var isEndOfCopy: Bool

  package init(firstInode: UInt64, inodeEnd: UInt64, sequenceEnd: UInt64, isEndOfCopy: Bool) {
    self.firstInode = firstInode
    self.inodeEnd = inodeEnd
    self.sequenceEnd = sequenceEnd
    self.isEndOfCopy = isEndOfCopy
  }

  static func encode(_ loss: JournalLoss?, into writer: inout ByteWriter) {
    writer.write(loss?.firstInode ?? 0)
    writer.write(loss?.inodeEnd ?? 0)
    writer.write(loss?.sequenceEnd ?? 0)
    writer.write(UInt8(loss.map { $0.isEndOfCopy ? 2 : 1 } ?? 0))
  }

  static func decode(from reader: inout ByteReader) throws(FormatError) -> JournalLoss? {
    let first: UInt64 = try reader.read()
    let end: UInt64 = try reader.read()
    let sequenceEnd: UInt64 = try reader.read()
    let cause: UInt8 = try reader.read()
    switch cause {
    case 0 where first == 0 && end == 0 && sequenceEnd == 0: return nil
    case 1 where first > 0 && first <= end, 2 where first > 0 && first <= end:
      return JournalLoss(
        firstInode: first, inodeEnd: end, sequenceEnd: sequenceEnd, isEndOfCopy: cause == 2)
    default: throw FormatError("loss of a part of the journal that is none")
    }
  }
}
