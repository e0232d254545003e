import AlbumFormat
import AlbumModel
import AlbumSecrets
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

  private func append(_ count: Int, to writer: SegmentWriter) -> Int? {
    let bytes = [UInt8](repeating: 7, count: count)
    return unsafe bytes.withUnsafeBytes { unsafe writer.append($0, kind: .data) }
  }
}
