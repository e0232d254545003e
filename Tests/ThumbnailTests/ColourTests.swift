import AlbumTestSupport
import Foundation
import Testing

/// Colours that only a profile or a number in the file explains.
@Suite(.serialized)
struct ColourTests {
  /// Puts other colours in place of those of the test picture.
  private static func pixels(_ colours: [[UInt8]: [UInt8]]) -> Data {
    let head = Data("P6\n640 400\n255\n".utf8)
    let body = [UInt8](TestPictures.pixels().dropFirst(head.count))
    return head
      + Data(
        stride(from: 0, to: body.count, by: 3).flatMap { start -> [UInt8] in
          colours[Array(body[start..<start + 3])] ?? [0, 0, 0]
        })
  }

  /// The profile that libjxl's JPEG encoder writes in its XYB mode, without texts. Its one table is that of
  /// the intent "perceptual".
  private static let xyb = """
    AAABtGp4bCAEQAAAc2NuclJHQiBYWVogB+MADAABAAAAAAAAYWNzcEFQUEwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPbWAAEA
    AAAA0y1qeGwgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABQTJCMAAAAJAAAAEkbUFCIAAA
    AAADAwAAAAAAIAAAAPQAAACUAAAAUAAAACBwYXJhAAAAAAAAAAAAAQAAcGFyYQAAAAAAAAAAAAEAAHBhcmEAAAAAAAAAAAABAAAC
    AgIAAAAAAAAAAAAAAAAAAgAAAAAADIYAAAAADIZwyfN5//+PNvN5/////wyGAAAAAAyGAABwyf//83mPNv//83n//3BhcmEAAAAA
    AAMAAAADAAAAAOOIAAAj/AAAAAAAAAAAcGFyYQAAAAAAAwAAAAMAAAAA44gAACC7AAAAAAAAAABwYXJhAAAAAAADAAAAAwAAAAGC
    0///4NUAAAAAAAAUoQABhFv//uS7AAASVv//8zIAAJGA///7Tv/+nMEAAR1UAACvjP///4j///+E////mQ==
    """

  @Test("A JPEG whose profile has one table, as XYB has, shows its colours")
  func oneTable() throws {
    let worker = try TestWorker()
    let profile = try #require(Data(base64Encoded: Self.xyb, options: .ignoreUnknownCharacters))
    let picture = try Workshop.open { shop in
      try shop.write(
        Self.pixels([
          TestPictures.red: [230, 130, 101], TestPictures.green: [18, 173, 24],
          TestPictures.blue: [87, 81, 227], TestPictures.white: [90, 242, 106],
        ]), "in.ppm")
      try shop.write(profile, "xyb.icc")
      try shop.run("vips", "copy", "in.ppm", "out.jpg[Q=95,profile=\(shop.path("xyb.icc"))]")
      return try shop.read("out.jpg")
    }
    let pixels = try TestPictures.decode(try worker.thumbnail(of: picture).1)
    #expect(pixels.isUpright, "\(pixels)")
  }

  @Test("A picture of more light is as bright as a screen shows it", arguments: [16, 18])
  func moreLight(_ transfer: UInt8) throws {
    let worker = try TestWorker()
    // White of 203 cd/m² and grey of 23, in PQ and in HLG, of 255.
    let (white, grey): (UInt8, UInt8) = transfer == 16 ? (148, 94) : (191, 92)
    let colours: [[UInt8]: [UInt8]] = [
      TestPictures.red: [white, white, white], TestPictures.green: [grey, grey, grey],
    ]
    var picture = try TestPictures.encode(Self.pixels(colours), as: "avif[Q=95]")
    let numbers = try #require(Data(picture).firstRange(of: Data("colrnclx".utf8))).upperBound
    picture.replaceSubrange(numbers..<numbers + 4, with: [0, 9, 0, transfer])
    let quarters = try TestPictures.decode(try worker.thumbnail(of: picture).1).quarters
    #expect(Pixels.isClose(quarters[0], [237, 237, 237], by: 10), "\(quarters)")
    #expect(Pixels.isClose(quarters[1], [95, 95, 95], by: 10), "\(quarters)")
    #expect(Pixels.isClose(quarters[2], [0, 0, 0], by: 8), "\(quarters)")
  }
}
