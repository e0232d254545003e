import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumFormat

// The journal's structures: encoded values are decoded again, byte for byte as documented. No bytes, however
// wrong, do more harm than an error.

struct JournalFormatTests {
  static let items: [JournalItem] = [
    .inode(
      {
        var state = InodeState(number: InodeNumber(42), kind: .regular, permissions: 0o644)
        state.size = 1 << 40
        state.modified = Timestamp(seconds: 1_700_000_000, nanoseconds: 5)
        state.thumbnail = InodeNumber(43)
        state.contentVersion = 9
        state.contentStatements = 11
        state.links = 2
        state.thumbnailState = .made
        return state
      }()),
    .inodeGone(InodeNumber(7)),
    .extents(
      InodeNumber(42), from: 0, to: .max,
      [
        Extent(offset: 0, length: 70_000, segment: SegmentNumber(3), grid: 1, skip: 0),
        Extent(offset: 80_000, length: 1, segment: SegmentNumber(4), grid: 9, skip: 65_535),
      ]),
    .entry(directory: .root, name: FileName(literal: "Trip"), inode: InodeNumber(42)),
    .entry(directory: .root, name: FileName(known: [255, 1]), inode: nil),
    .symlink(InodeNumber(44), target: Array("../x".utf8)),
    .attribute(InodeNumber(42), name: Array("user.a".utf8), value: []),
    .attribute(InodeNumber(42), name: Array("user.a".utf8), value: nil),
    .segment(
      .data, SegmentNumber(3), SegmentBirth(0xFFFF_FFFF_FFFF), .retired,
      retiredAt: StoreTime(milliseconds: 1_700_000_000_000)),
    .session(
      SegmentBirth(9), SessionStart(journal: SegmentNumber(7), checkpoint: SegmentNumber(8))),
    .session(SegmentBirth(9), .gone),
    .loss(JournalLoss(firstInode: 7, inodeEnd: 9, sequenceEnd: 12, isEndOfCopy: true)),
    .loss(nil),
    .counters(SpaceCounters()),
    .barrier(FrameNumber(12)),
    .property(.thumbnailEdge, 512),
    .former(
      InodeNumber(42),
      FormerPlace(
        .replaced, FileName(literal: "a.jpg"), in: InodeNumber(5),
        ended: StoreTime(milliseconds: 1_700_000_000_000),
        removed: Timestamp(seconds: 1_700_000_000, nanoseconds: 5))),
    .former(
      InodeNumber(43),
      FormerPlace(
        .overwritten, nil, in: InodeNumber(42), ended: .none, removed: Timestamp(nanoseconds: -1))),
    .former(InodeNumber(42), nil),
  ]

  func encode(_ items: [JournalItem]) -> [UInt8] {
    var writer = ByteWriter()
    for item in items { item.encode(into: &writer) }
    return writer.bytes
  }

  @Test func everyItemIsReadBackAsItWasWritten() throws {
    var found: [JournalItem] = []
    try decodeItems(encode(JournalFormatTests.items)) { found.append($0) }
    #expect(found == JournalFormatTests.items)
  }

  @Test func anItemLiesOnDiskAsDocumented() {
    let bytes = encode([
      .entry(directory: .root, name: FileName(literal: "A"), inode: InodeNumber(0x0102))
    ])
    #expect(
      bytes == [4, 0, 17, 0, 0, 0] + [1, 0, 0, 0, 0, 0, 0, 0] + [2, 1, 0, 0, 0, 0, 0, 0] + [0x41])
    #expect(encode([JournalFormatTests.items[0]]).count == 6 + InodeState.byteCount)
  }

  @Test func everyTruncationIsRefused() {
    for item in JournalFormatTests.items {
      let bytes = encode([item])
      for count in 1..<bytes.count {
        #expect(throws: FormatError.self) { try decodeItems(Array(bytes[..<count])) { _ in } }
      }
    }
  }

  @Test func anItemThatMustBeUnderstoodAndIsNotIsRefusedByName() {
    var writer = ByteWriter()
    writer.write(UInt16(77))
    writer.write(UInt32(0))
    #expect {
      try decodeItems(writer.bytes) { _ in }
    } throws: { "\($0)".contains("newer albumfs") }
  }

  @Test func anItemThatMayBeIgnoredIsStepped() throws {
    var writer = ByteWriter()
    writer.write(UInt16(0x8123))
    writer.write(UInt32(3))
    writer.write([1, 2, 3])
    JournalItem.barrier(FrameNumber(1)).encode(into: &writer)
    var found: [JournalItem] = []
    try decodeItems(writer.bytes) { found.append($0) }
    #expect(found == [.ignorable, .barrier(FrameNumber(1))])
  }

  @Test func randomBytesDoNoHarm() {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for _ in 0..<20_000 {
      var bytes = encode([JournalFormatTests.items.randomElement(using: &random)!])
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      try? decodeItems(bytes) { _ in }
      _ = try? JournalFrame(decoding: bytes)
      _ = try? JournalHead(decoding: random.bytes(JournalHead.byteCount))
      _ = try? CheckpointRecord(decoding: bytes)
    }
  }

  @Test func framesHeadsAndCheckpointRecordsAreReadBack() throws {
    let frame = JournalFrame(
      number: FrameNumber(5), previousHash: Array(0..<32), continues: true, isContinuation: false,
      time: StoreTime(milliseconds: 0x01_0203_0405_0607), items: [1, 2, 3])
    #expect(Array(frame.encoded()[41..<48]) == [7, 6, 5, 4, 3, 2, 1])
    #expect(frame.encoded().count == JournalFrame.headerByteCount + 3)
    #expect(try JournalFrame(decoding: frame.encoded()) == frame)
    var head = JournalHead(number: SegmentNumber(9))
    head.predecessor = SegmentNumber(8)
    head.cutFrame = FrameNumber(77)
    head.cutOffset = 4096
    head.checkpoint.firstSegment = SegmentNumber(3)
    head.checkpoint.segmentCount = 2
    head.checkpoint.birth = SegmentBirth(5)
    head.checkpoint.takenAt = StoreTime(milliseconds: 1_700_000_000_000)
    head.predecessorBirth = SegmentBirth(6)
    head.time = StoreTime(milliseconds: 1_700_000_000_001)
    head.boot = BootIdentity(bytes: Array(1...16))
    head.loss = JournalHead.LossMark(
      JournalLoss(firstInode: 12, inodeEnd: 13, sequenceEnd: 14, isEndOfCopy: true))
    head.ancestors = [
      JournalHead.Ancestor(
        number: SegmentNumber(7), birth: SegmentBirth(6), cutFrame: FrameNumber(70)),
      JournalHead.Ancestor(
        number: SegmentNumber(4), birth: SegmentBirth(1), cutFrame: FrameNumber(33)),
    ]
    #expect(head.encoded().count == JournalHead.byteCount)
    #expect(try JournalHead(decoding: head.encoded()) == head)
    let former = Array(head.encoded().prefix(JournalHead.formerByteCount))
    #expect(try JournalHead(decoding: former) == head)
    head.ancestors = (0..<JournalHead.ancestorLimit).map {
      JournalHead.Ancestor(
        number: SegmentNumber(UInt32(20 - $0)), birth: SegmentBirth(6), cutFrame: FrameNumber(70))
    }
    head.number = SegmentNumber(30)
    head.predecessor = SegmentNumber(25)
    #expect(try JournalHead(decoding: head.encoded()) == head)
    for reason in [SegmentSeal.Reason.full, .endOfSession] {
      let seal = SegmentSeal(time: head.time, reason: reason)
      #expect(seal.encoded().count == SegmentSeal.byteCount)
      #expect(try SegmentSeal(decoding: seal.encoded()) == seal)
    }
    #expect(SegmentSeal.reservedByteCount == RecordLayout.grid)
    #expect(RecordLayout.paddedByteCount(plaintext: JournalHead.byteCount) == 2 * RecordLayout.grid)
    let record = CheckpointRecord(
      checkpoint: SegmentNumber(3), place: 4, continuation: .last, items: [9])
    #expect(record.encoded().count == CheckpointRecord.headerByteCount + 1)
    #expect(try CheckpointRecord(decoding: record.encoded()) == record)
  }
}
