package import AlbumModel

/// The place of a checkpoint and of the frames after it: first segment u32, number of segments u32, birth of
/// all its segments u64, last frame u64, first journal segment u32, time i64: 36 bytes. All zero: there is
/// none.
package struct CheckpointReference: Equatable, Sendable {
  /// The first segment; the numbers of the others follow.
  package var firstSegment = SegmentNumber(0)
  package var segmentCount: UInt32 = 0
  /// The birth of all its segments.
  package var birth = SegmentBirth.none
  /// Replay starts after this frame, …
  package var lastFrame = FrameNumber.none
  /// … which is in this journal segment or a later one.
  package var firstJournal = SegmentNumber(0)

  /// When it was finished. Data that only earlier checkpoints refer to is unneeded since then.
  package var takenAt = StoreTime.none

  package init() {}
  package var exists: Bool { segmentCount > 0 }

  func encode(into writer: inout ByteWriter) {
    writer.write(firstSegment.rawValue)
    writer.write(segmentCount)
    writer.write(birth.rawValue)
    writer.write(lastFrame.rawValue)
    writer.write(firstJournal.rawValue)
    writer.write(takenAt.milliseconds)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    firstSegment = try reader.readSegment()
    segmentCount = try reader.read()
    birth = try reader.readBirth()
    lastFrame = try reader.readFrame()
    firstJournal = try reader.readSegment()
    takenAt = try reader.readTime()
    if segmentCount > NumberLimits.segment - firstSegment.rawValue {
      throw FormatError("checkpoint of \(segmentCount) segments")
    }
  }
}

/// The head of a journal segment, decrypted: the plaintext of its first two records, which are of kind
/// `journalHead` and equal.
///
/// | bytes | what |
/// |---|---|
/// | 0..<4 | number of this journal segment |
/// | 4..<8 | number of its predecessor, 0: this is the first |
/// | 8..<16 | birth of the predecessor: the chain continues only with that one |
/// | 16..<24 | end of the predecessor: number of its last believed frame |
/// | 24..<32 | offset in the predecessor at which the next frame would begin |
/// | 32..<64 | BLAKE2b-256 of the plaintext of the predecessor's last believed frame |
/// | 64..<72 | when this segment was begun, in milliseconds of `StoreTime` |
/// | 72..<88 | `BootIdentity` of the machine that wrote it |
/// | 88..<124 | the checkpoint to start from |
/// | 124..<160 | the checkpoint before that, in case it is damaged |
/// | 160..<200 | two segments before the predecessor, the newest first, in case it is lost: number u32, birth u64 and last believed frame u64 each; number 0: none |
/// | 200..<208 | the `JournalLoss` that no repair has cleared: 4 x its first inode + its cause; 0: none |
/// | 208..<448 | twelve segments before those two, in the same form |
///
/// The first stores of format 1 have heads of 208 bytes, which name no more than two of these segments.
///
/// When a head is written, all frames up to the cut are on disk, with everything that they refer to. Frames
/// after the cut, in the predecessor and in segments between the two, never count again.
package struct JournalHead: Equatable, Sendable {
  package static let byteCount = 448
  /// The size of a head in the first stores of format 1.
  static let formerByteCount = 208
  /// The number of segments before its predecessor that a head lists.
  package static let ancestorLimit = 14
  /// The number of them that lie before the loss.
  private static let nearAncestorCount = 2

  /// The part of a `JournalLoss` that a head records.
  package struct LossMark: Equatable, Sendable, BitwiseCopyable {
    package var firstInode: UInt64
    package var isEndOfCopy: Bool

    package init(_ loss: JournalLoss) {
      (firstInode, isEndOfCopy) = (loss.firstInode, loss.isEndOfCopy)
    }

    fileprivate init?(_ bits: UInt64) throws(FormatError) {
      if bits == 0 { return nil }
      firstInode = bits >> 2
      isEndOfCopy = bits & 3 == 2
      if firstInode == 0 || firstInode > NumberLimits.inode || ![1, 2].contains(bits & 3) {
        throw FormatError("journal head with a loss that is none")
      }
    }

    fileprivate var bits: UInt64 { firstInode << 2 | (isEndOfCopy ? 2 : 1) }
  }

  /// A journal segment of the same timeline.
  package struct Ancestor: Equatable, Sendable {
    package var number: SegmentNumber
    package var birth: SegmentBirth
    /// Its last believed frame; later frames in it never count.
    package var cutFrame: FrameNumber

    init(number: SegmentNumber, birth: SegmentBirth, cutFrame: FrameNumber) {
      self.number = number
      self.birth = birth
      self.cutFrame = cutFrame
    }
  }

  package var number: SegmentNumber
  package var predecessor = SegmentNumber(0)
  package var predecessorBirth = SegmentBirth.none
  package var cutFrame = FrameNumber.none
  package var cutOffset: UInt64 = 0
  package var cutHash = [UInt8](repeating: 0, count: JournalFrame.hashByteCount)
  package var time = StoreTime.none
  package var boot = BootIdentity.unknown
  package var checkpoint = CheckpointReference()
  package var formerCheckpoint = CheckpointReference()
  /// The loss that the space knew when it began this segment. A frame records the loss in full. The head
  /// records it at once, because its cut hides the loss.
  package var loss: LossMark?
  /// At most `ancestorLimit`, the newest first.
  package var ancestors: [Ancestor] = []

  /// The segments before this one, the newest first: the predecessor, and the others in case it is lost.
  package var lineage: [Ancestor] {
    if predecessor.rawValue == 0 { return [] }
    return [Ancestor(number: predecessor, birth: predecessorBirth, cutFrame: cutFrame)] + ancestors
  }

  /// The end of an earlier segment; nil if this head does not list it.
  package func cut(of number: SegmentNumber) -> FrameNumber? {
    lineage.first { $0.number == number }?.cutFrame
  }

  package init(number: SegmentNumber) { self.number = number }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter(reserving: JournalHead.byteCount)
    writer.write(number.rawValue)
    writer.write(predecessor.rawValue)
    writer.write(predecessorBirth.rawValue)
    writer.write(cutFrame.rawValue)
    writer.write(cutOffset)
    writer.write(cutHash)
    writer.write(time.milliseconds)
    writer.write(boot.bytes)
    checkpoint.encode(into: &writer)
    formerCheckpoint.encode(into: &writer)
    encodeAncestors(0..<JournalHead.nearAncestorCount, into: &writer)
    writer.write(loss?.bits ?? 0)
    encodeAncestors(JournalHead.nearAncestorCount..<JournalHead.ancestorLimit, into: &writer)
    return writer.bytes
  }

  private func encodeAncestors(_ places: Range<Int>, into writer: inout ByteWriter) {
    for place in places {
      let ancestor = place < ancestors.count ? ancestors[place] : nil
      writer.write(ancestor?.number.rawValue ?? 0)
      writer.write(ancestor?.birth.rawValue ?? 0)
      writer.write(ancestor?.cutFrame.rawValue ?? 0)
    }
  }

  package init(decoding plaintext: [UInt8]) throws(FormatError) {
    if ![JournalHead.byteCount, JournalHead.formerByteCount].contains(plaintext.count) {
      throw FormatError("journal head of \(plaintext.count) bytes")
    }
    var reader = ByteReader(plaintext)
    number = try reader.readSegment()
    predecessor = try reader.readSegment()
    predecessorBirth = try reader.readBirth()
    cutFrame = try reader.readFrame()
    cutOffset = try reader.read()
    cutHash = try reader.read(count: JournalFrame.hashByteCount)
    time = try reader.readTime()
    boot = BootIdentity(bytes: try reader.read(count: BootIdentity.byteCount))
    checkpoint = try CheckpointReference(from: &reader)
    formerCheckpoint = try CheckpointReference(from: &reader)
    if predecessor >= number { throw FormatError("journal head that follows itself") }
    var former = predecessor
    try decodeAncestors(JournalHead.nearAncestorCount, from: &reader, before: &former)
    loss = try LossMark(try reader.read())
    if plaintext.count == JournalHead.formerByteCount { return }
    let rest = JournalHead.ancestorLimit - JournalHead.nearAncestorCount
    try decodeAncestors(rest, from: &reader, before: &former)
  }

  /// `former` is the number of the segment behind the next one, or 0 if none follows.
  private mutating func decodeAncestors(
    _ count: Int, from reader: inout ByteReader, before former: inout SegmentNumber
  ) throws(FormatError) {
    for _ in 0..<count {
      let ancestor = Ancestor(
        number: try reader.readSegment(), birth: try reader.readBirth(),
        cutFrame: try reader.readFrame())
      // None follows the last one.
      if ancestor == Ancestor(number: SegmentNumber(0), birth: .none, cutFrame: .none) {
        former = SegmentNumber(0)
        continue
      }
      if ancestor.number.rawValue == 0 || ancestor.number >= former {
        throw FormatError("journal head whose ancestors do not fall")
      }
      former = ancestor.number
      ancestors.append(ancestor)
    }
  }
}

/// Identifies one start of a machine: 16 bytes of a hash. A power cut can have lost written data only if the
/// machine has been restarted since the write.
package struct BootIdentity: Hashable, Sendable {
  package static let byteCount = 16
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) {
    precondition(bytes.count == BootIdentity.byteCount)
    self.bytes = bytes
  }

  /// For a machine that has no such identity. It equals none, itself included.
  package static let unknown = BootIdentity(bytes: [UInt8](repeating: 0, count: byteCount))

  /// True if no machine was restarted between the two. Then everything written is still there.
  package func isSame(as other: BootIdentity) -> Bool { self == other && self != .unknown }
}
