import AlbumTestSupport
import Foundation
import Testing
import ThumbnailProtocol
import Thumbnails

/// HEICs of telephones: a grid of tiles, with a small picture beside it.
@Suite(.serialized)
struct GridTests {
  private static func heic(_ colour: TestPictures.Colour, _ width: Int, _ height: Int) throws
    -> [UInt8]
  {
    let pixels =
      Data("P6\n\(width) \(height)\n255\n".utf8)
      + Data((0..<width * height).flatMap { _ in colour })
    return try TestPictures.encode(pixels, as: "heic[Q=80]")
  }

  private static func grid(hasThumbnail: Bool) throws -> HEIFGrid {
    let colours = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
    var grid = HEIFGrid(
      tiles: try colours.map { try heic($0, 256, 256) }, columns: 2, tileSize: (256, 256))
    if hasThumbnail {
      let small = try TestPictures.encode(
        TestPictures.pixels(width: 160, height: 160), as: "heic[Q=80]")
      grid.thumbnail = (small, 160, 160)
    }
    return grid
  }

  @Test("A grid is shown whole, from its tiles and not from its small picture")
  func whole() throws {
    let worker = try TestWorker()
    let file = try Self.grid(hasThumbnail: true).file()
    #expect(ImageKind(sniffing: file) == .heif)
    let pixels = try TestPictures.decode(worker.thumbnail(of: file).1)
    #expect((pixels.width, pixels.height) == (512, 512))
    #expect(pixels.isUpright, "\(pixels.quarters)")
  }

  @Test(
    "Where a tile is damaged or missing, the small picture is shown, or the tiles that are there",
    arguments: [HEIFGrid.Tile.blank, .outside, .empty])
  func damaged(_ state: HEIFGrid.Tile) throws {
    let worker = try TestWorker()
    let file = try Self.grid(hasThumbnail: true).file { $0 == 3 ? state : .whole }
    let pixels = try TestPictures.decode(worker.thumbnail(of: file).1)
    let wanted = [TestPictures.red, TestPictures.green, TestPictures.blue]
    for (found, colour) in zip(pixels.quarters, wanted) {
      #expect(Pixels.isClose(found, colour), "\(state): \(pixels.width), \(pixels.quarters)")
    }
    if pixels.width == 160 { #expect(pixels.isUpright) }
  }

  @Test(
    "A grid without a small picture that is cut short shows its tiles or fails, and never crashes")
  func cut() throws {
    let worker = try TestWorker()
    let file = try Self.grid(hasThumbnail: false).file()
    for tenth in 5...9 {
      let part = Array(file.prefix(file.count * tenth / 10))
      switch try worker.ask(part) {
      case .thumbnail(let format, let bytes, _):
        try ThumbnailInspection.inspect(bytes, format: format, original: .heif, edge: 512)
      case .failure(let failure, _): #expect(failure == .damaged)
      default: Issue.record("no answer")
      }
    }
    #expect(try worker.ask(file).isThumbnail)
  }
}

/// Animations show their first frame.
@Suite(.serialized)
struct AnimationTests {
  /// The first frame is the four quarters, all others are grey.
  private static func animation(_ name: String, _ options: [String]) throws -> [UInt8] {
    try Workshop.open { shop in
      try shop.write(TestPictures.pixels(width: 320, height: 200), "1.ppm")
      let grey = Data("P6\n320 200\n255\n".utf8) + Data(repeating: 128, count: 320 * 200 * 3)
      for number in 2...4 { try shop.write(grey, "\(number).ppm") }
      try shop.run(
        "ffmpeg",
        ["-v", "error", "-y", "-framerate", "2", "-i", "%d.ppm"] + options + ["out." + name])
      return try shop.read("out." + name)
    }
  }

  @Test("An animated GIF and an animated WebP show their first frame")
  func firstFrame() throws {
    let worker = try TestWorker()
    let animations = [
      ("gif", []), ("webp", ["-c:v", "libwebp_anim", "-lossless", "1"]),
    ]
    for (name, options) in animations {
      let file = try Self.animation(name, options)
      let pixels = try TestPictures.decode(worker.thumbnail(of: file).1)
      #expect((pixels.width, pixels.height) == (320, 200), "\(name)")
      #expect(pixels.isUpright, "\(name): \(pixels.quarters)")
      let cut = try worker.ask(Array(file.prefix(file.count * 9 / 10)))
      if name == "gif" { #expect(cut.isThumbnail, "the first frame is there") }
    }
  }
}
