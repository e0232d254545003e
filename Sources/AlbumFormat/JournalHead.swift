package import AlbumModel

/// Where a checkpoint is and what follows it: first segment u32, number of segments u32, last frame
/// u64, first journal segment u32, time i64: 28 bytes. All zero: there is none.
package struct CheckpointReference: Equatable, Sendable {
  /// Its first segment; the others follow in number.
  package var firstSegment = SegmentNumber(0)
  package var segmentCount: UInt32 = 0
  /// Replay goes on with the frame behind this one, …
  package var lastFrame = FrameNumber.none
  /// … which is in this journal segment or a later one.
  package var firstJournal = SegmentNumber(0)

  /// When it was finished, in seconds since 1970: since then what only earlier ones need is unneeded.
  package var takenAt: Int64 = 0

  package init() {}
  package var exists: Bool { segmentCount > 0 }

  func encode(into writer: inout ByteWriter) {
    writer.write(firstSegment.rawValue)
    writer.write(segmentCount)
    writer.write(lastFrame.rawValue)
    writer.write(firstJournal.rawValue)
    writer.write(takenAt)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    firstSegment = try reader.readSegment()
    segmentCount = try reader.read()
    lastFrame = try reader.readFrame()
    firstJournal = try reader.readSegment()
    takenAt = try reader.read()
    if segmentCount > NumberLimits.segment - firstSegment.rawValue {
      throw FormatError("checkpoint of \(segmentCount) segments")
    }
  }
}

/// The head of a journal segment, in clear: the plaintext of its first two records, which are of
/// kind `journalHead` and say the same.
///
/// | bytes | what |
/// |---|---|
/// | 0..<4 | number of this journal segment |
/// | 4..<8 | number of the one before, 0: this is the first |
/// | 8..<16 | where that one ends: number of its last believed frame |
/// | 16..<24 | offset in it at which the next frame would begin |
/// | 24..<56 | BLAKE2b-256 of the plaintext of its last believed frame |
/// | 56..<84 | the checkpoint to start from |
/// | 84..<112 | the one before that, should it be damaged |
///
/// When a head is written all frames up to the cut are on disk, with all that they refer to. What
/// lies behind the cut in the segment before, and in segments between the two, is dead for ever.
package struct JournalHead: Equatable, Sendable {
  package static let byteCount = 112

  package var number: SegmentNumber
  package var predecessor = SegmentNumber(0)
  package var cutFrame = FrameNumber.none
  package var cutOffset: UInt64 = 0
  package var cutHash = [UInt8](repeating: 0, count: JournalFrame.hashByteCount)
  package var checkpoint = CheckpointReference()
  package var formerCheckpoint = CheckpointReference()

  package init(number: SegmentNumber) { self.number = number }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter(reserving: JournalHead.byteCount)
    writer.write(number.rawValue)
    writer.write(predecessor.rawValue)
    writer.write(cutFrame.rawValue)
    writer.write(cutOffset)
    writer.write(cutHash)
    checkpoint.encode(into: &writer)
    formerCheckpoint.encode(into: &writer)
    return writer.bytes
  }

  package init(decoding plaintext: [UInt8]) throws(FormatError) {
    if plaintext.count != JournalHead.byteCount {
      throw FormatError("journal head of \(plaintext.count) bytes")
    }
    var reader = unsafe ByteReader(plaintext.span.bytes)
    number = try reader.readSegment()
    predecessor = try reader.readSegment()
    cutFrame = try reader.readFrame()
    cutOffset = try reader.read()
    cutHash = try reader.read(count: JournalFrame.hashByteCount)
    checkpoint = try CheckpointReference(from: &reader)
    formerCheckpoint = try CheckpointReference(from: &reader)
    if predecessor >= number { throw FormatError("journal head that follows itself") }
  }
}
