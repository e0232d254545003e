package import AlbumModel

/// One record of a checkpoint, decrypted: the plaintext of a record of kind `checkpoint`.
///
/// | bytes | what |
/// |---|---|
/// | 0..<4 | first segment of the checkpoint that it belongs to |
/// | 4..<8 | its place in that checkpoint, from 0 |
/// | 8 | 1: items go on in the next record; 2: this is the last record; 0: neither |
/// | 9..<16 | zero |
/// | 16... | items, see `JournalItem` |
///
/// Operations continue while a checkpoint is written. Each item states what was true when the writer took
/// its slice, and the frames after `CheckpointReference.lastFrame` complete it.
package struct CheckpointRecord: Equatable, Sendable {
  package static let headerByteCount = 16
  package static let itemByteLimit = 65_536

  package enum Continuation: UInt8, Sendable { case none = 0, continues = 1, last = 2 }

  package var checkpoint: SegmentNumber
  package var place: UInt32
  package var continuation: Continuation
  package var items: [UInt8]

  package init(
    checkpoint: SegmentNumber, place: UInt32, continuation: Continuation, items: [UInt8]
  ) {
    self.checkpoint = checkpoint
    self.place = place
    self.continuation = continuation
    self.items = items
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter(reserving: CheckpointRecord.headerByteCount + items.count)
    writer.write(checkpoint.rawValue)
    writer.write(place)
    writer.write(continuation.rawValue)
    writer.write([0, 0, 0, 0, 0, 0, 0])
    writer.write(items)
    return writer.bytes
  }

  package init(decoding plaintext: [UInt8]) throws(FormatError) {
    var reader = ByteReader(plaintext)
    checkpoint = try reader.readSegment()
    place = try reader.read()
    let flags: UInt8 = try reader.read()
    guard let known = Continuation(rawValue: flags) else {
      throw FormatError("checkpoint record with unknown flags: written by a newer albumfs")
    }
    continuation = known
    _ = try reader.read(count: 7)
    items = try reader.read(count: reader.remaining)
  }
}
