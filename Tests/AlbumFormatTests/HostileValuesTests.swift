import AlbumModel
import Testing

@testable import AlbumFormat

// Values that are sealed with the right keys and yet make no sense. Damage cannot produce them, but a user
// with the keys can. A fuzzer found each of them, or one of its kind. Decoding refuses each, so that users of
// decoded values need not check them.

struct HostileValuesTests {
  private func decode(_ item: JournalItem) throws(FormatError) {
    var writer = ByteWriter()
    item.encode(into: &writer)
    try decodeItems(writer.bytes) { _ in }
  }

  private func refuses(_ item: JournalItem) {
    #expect(throws: FormatError.self, "\(item)") { try decode(item) }
  }

  @Test func anExtentThatNoSegmentCouldHoldIsRefused() throws {
    func item(length: Int64, grid: UInt32, skip: UInt32 = 0, segment: UInt32 = 1) -> JournalItem {
      let extent = Extent(
        offset: 0, length: length, segment: SegmentNumber(segment), grid: grid, skip: skip)
      return .extents(InodeNumber(2), from: 0, to: .max, [extent])
    }
    let cells = UInt32(SegmentLayout.maximumByteCount / RecordLayout.grid)
    try decode(item(length: 65_536, grid: cells - DataRecord.fullGridCount))
    try decode(item(length: 1, grid: cells - 1))
    refuses(item(length: .max, grid: 0))
    refuses(item(length: Int64(SegmentLayout.maximumByteCount), grid: 1))
    refuses(item(length: 1, grid: cells))
    refuses(item(length: 1, grid: .max))
    refuses(item(length: 65_537, grid: cells - DataRecord.fullGridCount))
    refuses(item(length: 2, grid: cells - 1, skip: 65_535))
    refuses(item(length: 1, grid: 0, segment: .max))
    // Lost content is counted in records too, although no segment holds it.
    try decode(item(length: Extent.lostLimit, grid: 0, segment: 0))
    refuses(item(length: Extent.lostLimit + 1, grid: 0, segment: 0))
    refuses(item(length: 1, grid: .max, segment: 0))
    refuses(item(length: Extent.lostLimit, grid: 1 << 31, segment: 0))
    refuses(item(length: 1, grid: 0, skip: .max, segment: 0))
  }

  @Test func inodesHaveNumbersThatCanBeCountedOnFrom() {
    for number in [0, NumberLimits.inode + 1, .max] {
      let inode = InodeNumber(number)
      refuses(.inode(InodeState(number: inode, kind: .regular, permissions: 0)))
      refuses(.inodeGone(inode))
      refuses(.extents(inode, from: 0, to: 0, []))
      refuses(.entry(directory: inode, name: .photo, inode: .root))
      refuses(.symlink(inode, target: [65]))
      refuses(.attribute(inode, name: [65], value: nil))
    }
    refuses(.entry(directory: .root, name: .photo, inode: InodeNumber(.max)))
    var state = InodeState(number: .root, kind: .directory, permissions: 0)
    state.thumbnail = InodeNumber(.max)
    refuses(.inode(state))
    state.thumbnail = InodeNumber(0)
    state.contentVersion = .max
    refuses(.inode(state))
    state.contentVersion = 0
    state.contentStatements = .max
    refuses(.inode(state))
  }

  @Test func theRootIsADirectory() throws {
    try decode(.inode(InodeState(number: .root, kind: .directory, permissions: 0o755)))
    refuses(.inode(InodeState(number: .root, kind: .regular, permissions: 0o755)))
    refuses(.inode(InodeState(number: .root, kind: .symlink, permissions: 0o755)))
  }

  @Test(arguments: ["", ".", "..", "a/b", "/", "a\0b"]) func aNameThatNobodyCanAskForIsRefused(
    _ name: String
  ) {
    #expect(throws: FormatError.self) { try decodeItems(entry(name)) { _ in } }
    #expect(throws: Never.self) { try decodeItems(entry("ab")) { _ in } }
  }

  /// Encodes an item with an unchecked name. `JournalItem` cannot have one, so its bytes replace those of
  /// another name.
  private func entry(_ name: String) -> [UInt8] {
    var writer = ByteWriter()
    JournalItem.entry(directory: .root, name: .photo, inode: .root).encode(into: &writer)
    writer.bytes.removeLast(FileName.photo.bytes.count)
    writer.write(Array(name.utf8))
    writer.patch(UInt32(writer.bytes.count - JournalItem.headerByteCount), at: 2)
    return writer.bytes
  }

  @Test func countersAndFramesLeaveRoomToCountOn() throws {
    var counters = SpaceCounters()
    counters.nextInode = NumberLimits.counter
    try decode(.counters(counters))
    counters.nextInode = .max
    refuses(.counters(counters))
    counters = SpaceCounters()
    counters.nextSequence = .max
    refuses(.counters(counters))
    counters = SpaceCounters()
    counters.nextDataSegment = .max
    refuses(.counters(counters))
    counters = SpaceCounters()
    counters.nextCheckpointSegment = .max
    refuses(.counters(counters))
    // The root's number, and numbers that mean none, are never assigned.
    for number in [0, 1] as [UInt64] {
      counters = SpaceCounters()
      counters.nextInode = number
      refuses(.counters(counters))
    }
    counters = SpaceCounters()
    counters.nextSequence = 0
    refuses(.counters(counters))
    counters = SpaceCounters()
    counters.nextDataSegment = 0
    refuses(.counters(counters))
    counters = SpaceCounters()
    counters.nextCheckpointSegment = 0
    refuses(.counters(counters))
    refuses(.barrier(FrameNumber(.max)))
    for number in [0, UInt64.max] {
      let frame = JournalFrame(
        number: FrameNumber(number), previousHash: [UInt8](repeating: 0, count: 32),
        continues: false, isContinuation: false, items: [])
      #expect(throws: FormatError.self) { try JournalFrame(decoding: frame.encoded()) }
    }
  }

  @Test func aHeadNamesSegmentsAndFramesThatCanExist() throws {
    var head = JournalHead(number: SegmentNumber(9))
    head.checkpoint.firstSegment = SegmentNumber(2)
    head.checkpoint.segmentCount = NumberLimits.segment - 2
    #expect(try JournalHead(decoding: head.encoded()) == head)
    head.checkpoint.segmentCount += 1
    #expect(throws: FormatError.self) { try JournalHead(decoding: head.encoded()) }
    head = JournalHead(number: SegmentNumber(9))
    head.formerCheckpoint.firstSegment = SegmentNumber(.max)
    #expect(throws: FormatError.self) { try JournalHead(decoding: head.encoded()) }
    head = JournalHead(number: SegmentNumber(9))
    head.cutFrame = FrameNumber(.max)
    #expect(throws: FormatError.self) { try JournalHead(decoding: head.encoded()) }
    head = JournalHead(number: SegmentNumber(9))
    head.predecessorBirth = SegmentBirth(SegmentBirth.limit)
    #expect(throws: FormatError.self) { try JournalHead(decoding: head.encoded()) }
    head = JournalHead(number: SegmentNumber(9))
    head.time = StoreTime(milliseconds: StoreTime.limit)
    #expect(throws: FormatError.self) { try JournalHead(decoding: head.encoded()) }
    head = JournalHead(number: SegmentNumber(.max))
    #expect(throws: FormatError.self) { try JournalHead(decoding: head.encoded()) }
  }

  @Test(arguments: [
    (1, 0, 1, true), (1, Int64.max - 1, 0, true), (1, .max, 0, false), (1, -1, 0, false),
    (0, 0, 0, false), (1, 0, -1, false),
  ]) func aDataRecordHoldsContentOfAPossibleFile(
    _ record: (length: UInt32, offset: Int64, fileLength: Int64, isAccepted: Bool)
  ) {
    let header = DataRecord(
      inode: InodeNumber(2), offset: record.offset, length: record.length, sequence: 1,
      fileLength: record.fileLength)
    var bytes = [UInt8](repeating: 0, count: DataRecord.headerByteCount + Int(record.length))
    unsafe bytes.withUnsafeMutableBytes { unsafe header.encode(into: $0) }
    let decoded = unsafe bytes.withUnsafeBytes {
      unsafe DataRecord(decoding: $0, plaintextByteCount: bytes.count)
    }
    #expect((decoded != nil) == record.isAccepted)
  }
}
