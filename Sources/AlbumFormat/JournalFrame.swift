package import AlbumModel

/// One frame of the journal, decrypted: the plaintext of a record of kind `frame`.
///
/// | bytes | what |
/// |---|---|
/// | 0..<8 | number of the frame |
/// | 8..<40 | BLAKE2b-256 of the plaintext of the frame before it, zeros before the first |
/// | 40 | bits: 1: the items continue in the next frame, and both count only together; 2: the items continue those of the frame before |
/// | 41..<48 | when it was appended, in milliseconds of `StoreTime` |
/// | 48... | items, see `JournalItem` |
///
/// A frame holds at most 65,536 bytes of items. Longer ones are cut anywhere, even within an item, and
/// continue in the next frames. A worked example: the frame of an unlink states one removed inode (14 bytes),
/// one entry (22 and the name) and its directory (102). With its header of 48 bytes and the record's 48 that
/// is 242 bytes, one cell of the grid if the name has 8 bytes.
package struct JournalFrame: Equatable, Sendable {
  package static let headerByteCount = 48
  package static let itemByteLimit = 65_536
  package static let hashByteCount = 32

  package var number: FrameNumber
  package var previousHash: [UInt8]
  package var continues: Bool
  package var isContinuation: Bool
  package var time: StoreTime
  package var items: [UInt8]

  package init(
    number: FrameNumber, previousHash: [UInt8], continues: Bool, isContinuation: Bool,
    time: StoreTime = .none, items: [UInt8]
  ) {
    self.number = number
    self.previousHash = previousHash
    self.continues = continues
    self.isContinuation = isContinuation
    self.time = time
    self.items = items
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter(reserving: JournalFrame.headerByteCount + items.count)
    writer.write(number.rawValue)
    writer.write(previousHash)
    writer.write(UInt8((continues ? 1 : 0) | (isContinuation ? 2 : 0)))
    let time = UInt64(min(max(time.milliseconds, 0), StoreTime.limit - 1))
    for byte in 0..<7 { writer.write(UInt8(truncatingIfNeeded: time >> (8 * byte))) }
    writer.write(items)
    return writer.bytes
  }

  package init(decoding plaintext: [UInt8]) throws(FormatError) {
    var reader = ByteReader(plaintext)
    number = try reader.readFrame()
    if number == .none { throw FormatError("frame without a number") }
    previousHash = try reader.read(count: JournalFrame.hashByteCount)
    let flags: UInt8 = try reader.read()
    if flags > 3 { throw FormatError("frame with unknown flags: written by a newer albumfs") }
    continues = flags & 1 != 0
    isContinuation = flags & 2 != 0
    let stamp = try reader.read(count: 7)
    time = StoreTime(
      milliseconds: stamp.reversed().reduce(0) { $0 << 8 | Int64($1) })
    items = try reader.read(count: reader.remaining)
  }
}

/// Decodes every item in the joined bytes of a frame and the frames that continue it.
package func decodeItems(_ bytes: [UInt8], _ body: (JournalItem) -> Void) throws(FormatError) {
  var reader = ByteReader(bytes)
  while !reader.isAtEnd { body(try JournalItem(from: &reader)) }
}
