import Testing

@testable import AlbumFileSystem

/// Which parts of a file are loaded before they are read, where each part is a request to a server.
@Suite struct ReadAheadTests {
  private static let page: Int64 = 128 << 10

  @Test func theHeadOfAPhotoLoadsNoMore() {
    var ahead = ReadAhead()
    #expect(ahead.read(0..<Self.page, size: 5 << 20) == nil)
    #expect(ahead.read(0..<Self.page, size: 5 << 20) == nil)
    // The directory of a TIFF is at its end.
    #expect(ahead.read((4 << 20)..<(4 << 20) + Self.page, size: 5 << 20) == nil)
  }

  @Test func whoReadsOnGetsTheWholePhoto() {
    var ahead = ReadAhead()
    let size: Int64 = 5 << 20
    #expect(ahead.read(0..<Self.page, size: size) == nil)
    #expect(ahead.read(Self.page..<2 * Self.page, size: size) == 2 * Self.page..<size)
    #expect(ahead.read(2 * Self.page..<3 * Self.page, size: size) == nil)
    #expect(ahead.read(size - 10..<size, size: size) == nil)
  }

  /// Of a video, what will be read next is loaded, each part once, and the file's end is the end.
  @Test func ofALongFileAWindowIsLoaded() {
    var ahead = ReadAhead()
    let size: Int64 = 100 << 20
    var loaded: [Range<Int64>] = []
    for start in stride(from: 0, to: size, by: Int(Self.page)) {
      let end = min(size, start + Self.page)
      guard let next = ahead.read(start..<end, size: size) else { continue }
      #expect(next.lowerBound == loaded.last?.upperBound ?? 2 * Self.page)
      #expect(next.upperBound <= min(size, end + ReadAhead.window))
      loaded.append(next)
    }
    #expect(loaded.last?.upperBound == size)
    #expect(loaded.count < 40)
    // Elsewhere, it begins anew.
    #expect(ahead.read(5000..<6000, size: size) == nil)
    #expect(ahead.read(6000..<7000, size: size) == 7000..<7000 + ReadAhead.window)
  }
}
