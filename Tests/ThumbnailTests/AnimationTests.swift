import AlbumTestSupport
import Foundation
import Testing
import ThumbnailProtocol
import Thumbnails

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
