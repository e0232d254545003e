import AlbumTestSupport
import PictureMetadata
import Testing

/// The shape of a HEIC is known before it is decoded.
struct HEIFSizeTests {
  private func size(_ bytes: [UInt8]) -> [Int]? {
    HEIFSize.upright(size: Int64(bytes.count)) { count, offset in
      offset < bytes.count ? Array(bytes[Int(offset)...].prefix(count)) : []
    }.map { [$0.width, $0.height] }
  }

  private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let length = UInt32(content.count + 8)
    return (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) } + Array(type.utf8)
      + content
  }

  private func extent(_ width: Int, _ height: Int) -> [UInt8] {
    let numbers = [0, width, height].flatMap { number in
      (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
    return box("ispe", numbers)
  }

  private func heic(_ properties: [UInt8]) -> [UInt8] {
    box("ftyp", Array("heic".utf8) + [0, 0, 0, 0] + Array("mif1heic".utf8))
      + box("meta", [0, 0, 0, 0] + box("iprp", box("ipco", properties)))
  }

  @Test(arguments: ["heic", "avif"]) func whatLibheifWritesIsRead(kind: String) throws {
    #expect(size(try TestPictures.make(TestPictures.pixels(), as: kind)) == [640, 400])
  }

  @Test func ofTilesAndASmallPictureTheWholeCountsAndItIsUpright() {
    let parts = extent(512, 512) + extent(4032, 3024) + extent(320, 240)
    #expect(size(heic(parts)) == [4032, 3024])
    #expect(size(heic(parts + box("irot", [3]))) == [3024, 4032])
    #expect(size(heic(parts + box("irot", [2]))) == [4032, 3024])
  }

  @Test func whatDoesNotSayHasNone() {
    #expect(size(heic(box("irot", [1]))) == nil && size(heic(extent(0, 5))) == nil)
    #expect(size(heic(extent(1 << 31, 1 << 31))) == nil && size(heic(box("ispe", [0]))) == nil)
    #expect(size([]) == nil && size(Array("no picture".utf8)) == nil)
    let whole = heic(extent(4032, 3024))
    for length in 0..<whole.count { #expect(size(Array(whole.prefix(length))) == nil) }
  }
}
