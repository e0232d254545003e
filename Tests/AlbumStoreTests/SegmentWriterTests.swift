import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Foundation
import Posix
import Testing

@testable import AlbumStore

// Every record that is sealed into a segment is written to its file, in whatever order threads come.

struct SegmentWriterTests {
  /// Two threads hold the writer. The segment is full for the record of one. The smaller record of the other
  /// would still fit when the segment is ended.
  @Test func anEndedSegmentTakesNoRecordThatNobodyWouldWrite() throws {
    let place = try StorePlace()
    let files = SegmentFiles(
      directory: place.store.directory, keys: place.keys, segmentSize: StorePlace.segmentSize)
    let id = SegmentID(kind: .data, number: SegmentNumber(1000))
    let writer = SegmentWriter(id, files: files)
    #expect(append(1000, to: writer) == SegmentSeal.reservedByteCount)
    try writer.finish()
    #expect(append(1000, to: writer) == nil)
  }

  /// The thread that prepares the tail may be anywhere when the first records are written: the file is the same.
  @Test func theFirstWriteLeavesTheWholeSegmentHoweverMuchOfItsTailWasPrepared() throws {
    let place = try StorePlace()
    let size = 2 << 20
    let files = SegmentFiles(
      directory: place.store.directory, keys: place.keys, segmentSize: size)
    var random = SeededRandom()
    for number in 0..<15 {
      let id = SegmentID(kind: .data, number: SegmentNumber(UInt32(2000 + number)))
      let preparation = TailPreparation(
        of: files.name(id), place.keys.cipher, images: files.images, hasThread: number % 3 > 0)
      let writer = SegmentWriter(id, files: files, preparation: preparation)
      let records = [1, 1, 3, 12, 30].randomElement(using: &random)!
      for _ in 0..<records { _ = append(60_000, to: writer) }
      let end = writer.used
      try writer.flush()
      var expected = [UInt8](repeating: 0, count: size - end)
      unsafe expected.withUnsafeMutableBytes {
        unsafe place.keys.cipher.fillTail($0, of: writer.name, from: end)
      }
      let content = try place.store.directory.contents(of: files.path(id), limit: size)
      #expect(content.count == size)
      #expect(Data(content[end...]) == Data(expected), "seed \(random.seed), segment \(number)")
    }
  }

  /// The bytes are in the file, and its time cannot be set. Another thread flushes once more, before the content
  /// is written elsewhere.
  @Test(arguments: [false, true]) func aFlushThatFailedBehindItsWriteIsRepeated(isBorn: Bool) throws
  {
    let place = try StorePlace()
    let disk = FaultyDisk(place.store.directory)
    let files = SegmentFiles(
      directory: disk, keys: place.keys, segmentSize: StorePlace.segmentSize)
    let id = SegmentID(kind: .data, number: SegmentNumber(3000))
    let writer = SegmentWriter(id, files: files)
    _ = append(1000, to: writer)
    if isBorn {
      try writer.flush()
      _ = append(1000, to: writer)
    }
    for more in [0, 1, 0] {
      for _ in 0..<more { _ = append(1000, to: writer) }
      disk.fail(.setTime, with: .io)
      #expect(throws: StoreError.self) { try writer.flush() }
    }
    try writer.flush()
    let path = files.path(id)
    let content = try place.store.directory.contents(of: path, limit: StorePlace.segmentSize)
    let time = try disk.open(path, .read).modificationTime()
    #expect(time == SegmentChecksum.time(ofSegment: content))
    _ = append(1000, to: writer)
    try writer.finish()
  }

  private func append(_ count: Int, to writer: SegmentWriter) -> Int? {
    let bytes = [UInt8](repeating: 7, count: count)
    return unsafe bytes.withUnsafeBytes { unsafe writer.append($0, kind: .data) }
  }
}
