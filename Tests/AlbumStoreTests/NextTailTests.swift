import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

/// The tail of a segment is computed ahead where files are closed one after the other, and not at all for a large
/// file, whose segments are born full.
struct NextTailTests {
  private let place: StorePlace
  private let files: SegmentFiles
  private let content: ContentStore
  private static let recordByteCount = 60_000

  init() throws {
    place = try StorePlace()
    files = SegmentFiles(
      directory: place.store.directory, keys: place.keys, segmentSize: 1 << 20)
    content = ContentStore(files: files)
  }

  private func id(_ number: UInt32) -> SegmentID {
    SegmentID(kind: .data, number: SegmentNumber(number))
  }

  /// Seals records, as writes do. Returns the number of the last one's segment.
  @discardableResult
  private func write(_ count: Int) throws -> UInt32 {
    var last = SegmentNumber(0)
    for _ in 0..<count {
      let record = SegmentImage(byteCount: ReadHeadroom.byteCount + NextTailTests.recordByteCount)
      let target = unsafe UnsafeMutableRawBufferPointer(
        rebasing: record.bytes[ReadHeadroom.byteCount...])
      unsafe target.initializeMemory(as: UInt8.self, repeating: 7)
      let header = DataRecord(
        inode: InodeNumber(9), offset: 0, length: UInt32(target.count), sequence: 1,
        fileLength: Int64(target.count))
      let next = SegmentNumber(last.rawValue == 0 ? current + 1 : last.rawValue + 1)
      let extent = try unsafe content.append(
        target, header: header,
        begin: {
          _ = files.bear(SegmentID(kind: .data, number: next))
          return next
        }, finished: { _ in }, held: { _ in })
      last = extent.segment
    }
    return last.rawValue
  }

  private var current: UInt32 {
    content.tail.withLock { $0.current[.files]?.id.number.rawValue ?? 1000 }
  }

  /// What close(2) does.
  private func close() throws { try content.flush(finished: { _ in }) }

  private var nextTail: SegmentName? { content.tail.withLock { $0.nextTail?.name } }

  @Test func closedFilesHaveTheNextTailComputedAndTheNextSegmentTakesIt() throws {
    let first = try write(1)
    try close()
    #expect(nextTail == nil, "one small file is no stream of files")
    try write(5)
    try close()
    #expect(nextTail == files.name(id(first + 1), files.session))
    var last = first
    while last == first { last = try write(1) }
    #expect(last == first + 1)
    #expect(nextTail == nil, "the next segment has taken it")
    try close()
    let found = try place.store.directory.contents(of: files.path(id(last)), limit: 1 << 20)
    let end =
      SegmentSeal.reservedByteCount
      + RecordLayout.paddedByteCount(
        plaintext: DataRecord.headerByteCount + NextTailTests.recordByteCount)
    var tail = [UInt8](repeating: 0, count: (1 << 20) - end)
    unsafe tail.withUnsafeMutableBytes {
      unsafe place.keys.cipher.fillTail($0, of: files.name(id(last)), from: end)
    }
    #expect(found.suffix(tail.count).elementsEqual(tail))
    #expect(
      try place.store.directory.open(files.path(id(last)), .read).modificationTime()
        == SegmentChecksum.time(ofSegment: found))
  }

  @Test func aLargeFileHasNoTailComputed() throws {
    try write(6)
    try close()
    #expect(content.tail.withLock { $0.expectsTail })
    try write(60)
    #expect(!content.tail.withLock { $0.expectsTail })
    #expect(nextTail == nil)
  }

  @Test func nobodyKeepsATailAtRest() throws {
    try write(6)
    try close()
    #expect(nextTail != nil)
    content.rest()
    #expect(nextTail == nil)
  }
}
