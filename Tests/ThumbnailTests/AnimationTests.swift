import AlbumTestSupport
import Foundation
import Testing
import ThumbnailProtocol
import Thumbnails

/// Animations show their first frame.
@Suite(.serialized)
struct AnimationTests {
  @Test("An animated GIF and an animated WebP show their first frame")
  func firstFrame() throws {
    let worker = try TestWorker()
    for name in ["gif", "webp"] {
      let file = try TestPictures.make(
        TestPictures.pixels(width: 320, height: 200), as: "animated:" + name)
      let pixels = try TestPictures.decode(worker.thumbnail(of: file).1)
      #expect((pixels.width, pixels.height) == (320, 200), "\(name)")
      #expect(pixels.isUpright, "\(name): \(pixels.quarters)")
      let cut = try worker.ask(Array(file.prefix(file.count * 9 / 10)))
      if name == "gif" { #expect(cut.isThumbnail, "the first frame is there") }
    }
  }

  @Test("An animated AVIF shows its still picture")
  func animatedAVIF() throws {
    let worker = try TestWorker()
    var file = try TestPictures.encode(TestPictures.pixels(), as: "avif")
    // The brand of an animation, which has a still picture beside its frames.
    #expect(file[8..<12].elementsEqual("avif".utf8))
    file[11] = UInt8(ascii: "s")
    #expect(try TestPictures.decode(worker.thumbnail(of: file).1).isUpright)
  }
}
