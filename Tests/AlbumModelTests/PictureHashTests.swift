import AlbumModel
import Testing

/// Pictures that look alike have perceptual hashes that differ little.
struct PictureHashTests {
  @Test func itSaysWhereTheNextSquareIsBrighter() throws {
    let rising = (0..<81).map { UInt8($0 % 9 * 20) }
    let hash = try #require(PictureHash(squares: rising))
    #expect(hash.rows == .max && hash.columns == 0)
    let falling = (0..<81).map { UInt8(200 - $0 / 9 * 20) }
    #expect(PictureHash(squares: falling) == nil, "nothing rises")
    var one = [UInt8](repeating: 100, count: 81)
    one[0] = 99
    #expect(PictureHash(squares: one) == PictureHash(rows: 1 << 63, columns: 1 << 63))
    #expect(PictureHash(squares: [1, 2]) == nil)
  }

  @Test func itsTextHasAllBits() throws {
    let hash = try #require(PictureHash(rows: 5, columns: 0xFFFF_0000_0000_0000))
    #expect(hash.text == "0000000000000005ffff000000000000")
    #expect(PictureHash(Array(hash.text.utf8)) == hash)
    for wrong in [
      "", "5", hash.text + "0", hash.text.uppercased(), String(repeating: "0", count: 32),
    ] {
      #expect(PictureHash(Array(wrong.utf8)) == nil, "\(wrong)")
    }
  }

  @Test func itsDistanceCountsBits() throws {
    let one = try #require(PictureHash(rows: 0b111, columns: 0))
    let other = try #require(PictureHash(rows: 0b001, columns: 0b1))
    #expect(one.distance(to: other) == 3 && one.distance(to: one) == 0)
  }
}
