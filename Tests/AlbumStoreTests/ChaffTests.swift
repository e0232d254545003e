import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Glibc
import Posix
import Testing

@testable import AlbumStore

// Chaff is what any segment may be said to be: of their size, at their places, random, and of the
// time that all segments at rest have.

@Suite struct ChaffTests {
  private let size = SegmentLayout.minimumByteCount

  @Test func `chaff is asked for in bytes and made in whole segments`() throws {
    #expect(try segments(PasswordPlace("one", chaff: 0)).isEmpty)
    #expect(try segments(PasswordPlace("one", chaff: 1)).count == 1)
    #expect(try segments(PasswordPlace("one", chaff: Int64(size))).count == 1)
    #expect(try segments(PasswordPlace("one", chaff: Int64(size) + 1)).count == 2)
  }

  @Test func `more can be added at any time without a password`() throws {
    let place = try PasswordPlace("one", chaff: 0)
    let store = try place.open()
    try Chaff.add(bytes: Int64(3 * size), to: store)
    try Chaff.add(bytes: 0, to: store)
    #expect(try segments(place).count == 3)
  }

  @Test func `it looks like every other segment`() throws {
    let place = try PasswordPlace("one", chaff: Int64(4 * size))
    var counts = [Double](repeating: 0, count: 256)
    for path in try segments(place) {
      let parts = path.split(separator: "/")
      let name = try #require(SegmentName(text: String(parts[2])))
      #expect(SegmentPath.path(of: name) == path)
      let bytes = try place.read(path)
      #expect(bytes.count == size)
      for byte in bytes { counts[Int(byte)] += 1 }
      var status = stat()
      #expect(unsafe lstat("\(place.directory.path)/\(path)", &status) == 0)
      let checksum = unsafe bytes.withUnsafeBytes { unsafe SegmentChecksum($0) }
      #expect(status.st_mtim.tv_sec == Int(checksum.time) && status.st_mtim.tv_nsec == 0)
      #expect(SegmentChecksum.isPossible(time: checksum.time))
    }
    let expected = Double(4 * size) / 256
    let chiSquare = counts.reduce(0) { $0 + ($1 - expected) * ($1 - expected) / expected }
    #expect(chiSquare < 450)
  }

  /// Geometric with mean 6 has a deviation of 6.5: the mean of 1000 lies within 1.5 of it but once
  /// in a million million.
  @Test func `a store is born with a random amount`() {
    let amounts = (0..<1000).map { _ in Chaff.randomByteCount(segmentSize: 1) }
    let mean = Double(amounts.reduce(0, +)) / 1000
    #expect(mean > 4.5 && mean < 7.5)
    #expect(Set(amounts).count > 10)
  }

  private func segments(_ place: PasswordPlace) throws -> [String] {
    let storage = try place.storage()
    return try storage.list("segments").flatMap { folder in
      try storage.list("segments/\(folder)").map { "segments/\(folder)/\($0)" }
    }
  }
}
