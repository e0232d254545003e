import AlbumModel
import AlbumTestSupport
import Foundation
import Testing

@testable import albumfs

/// Python's zipfile judges the records, also those of Zip64.
@Suite struct ZipFormatTests {
  /// A sparse file of 5 GiB: a file of more than 4 GiB, and a second one that begins behind 4 GiB.
  @Test func filesAndPlacesBeyondFourGibibytesAreRead() throws {
    let scratch = try ScratchDirectory()
    let large = ZipFormat.Entry(
      name: Array("large.mp4".utf8), modified: Timestamp(seconds: 1_000_000_000),
      permissions: 0o640, offset: 0,
      size: 5 << 30)
    let head = ZipFormat.head(of: large)
    let content = Array("small".utf8)
    var small = ZipFormat.Entry(
      name: Array("small.txt".utf8), modified: Timestamp(seconds: 1_000_000_000),
      permissions: 0o600,
      offset: Int64(head.count) + large.size, size: Int64(content.count))
    var sum = CRC32()
    sum.add(content[...])
    small.checksum = sum.value
    let path = try scratch.write("a.zip", "")
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.write(contentsOf: Data(head))
    try file.seek(toOffset: UInt64(small.offset))
    try file.write(contentsOf: Data(ZipFormat.head(of: small) + content))
    let start = Int64(try file.offset())
    try file.write(
      contentsOf: Data(ZipFormat.directoryEntry(of: large) + ZipFormat.directoryEntry(of: small)))
    let end = Int64(try file.offset())
    try file.write(contentsOf: Data(ZipFormat.end(count: 2, directory: start..<end)))
    try file.close()
    let program = """
      import zipfile
      with zipfile.ZipFile(r"\(path)") as archive:
          assert archive.getinfo("large.mp4").file_size == 5 << 30
          assert archive.read("small.txt") == b"small"
          with archive.open("large.mp4") as part: assert part.read(10) == bytes(10)
      """
    let outcome = try Command("/usr/bin/env", ["python3", "-c", program]).run()
    #expect(outcome.code == 0, "\(outcome)")
  }
}
