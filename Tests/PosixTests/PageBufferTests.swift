import AlbumModel
import AlbumTestSupport
import Posix
import Testing

/// Pages that are written past the kernel's cache.
@Suite struct PageBufferTests {
  @Test func whatWasAddedIsWrittenWhereItBelongsAndNothingElse() throws {
    let directory = TemporaryDirectory()
    let folder = try Folder(directory.path)
    let file = try folder.openForDirectWrites(try FileName("photo"))
    let bytes = (0..<(3 << 12)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let buffer = PageBuffer(capacity: 2 << 12)
    buffer.append(bytes[..<5])
    buffer.append(bytes[5..<(2 << 12)])
    #expect(buffer.room == 0 && buffer.count == 2 << 12)
    try file.write(buffer, at: 0)
    buffer.clear()
    #expect(buffer.room == 2 << 12)
    buffer.append(bytes[(2 << 12)...])
    try file.write(buffer, at: 2 << 12)
    #expect(try folder.open(try FileName("photo")).bytes(4 << 12, at: 0) == bytes)
  }
}
