import AlbumTestSupport
import FileKinds
import Foundation
import Testing
import ThumbnailProtocol

/// The content of a file shows its kind.
struct ImageKindTests {
  @Test(
    "Each kind is recognised",
    arguments: [
      ("jpg", ImageKind.jpeg), ("png", .png), ("webp", .webp), ("gif", .gif), ("tif", .tiff),
      ("tif[bigtiff]", .tiff), ("heic", .heif), ("avif", .avif), ("jxl", .jpegXL),
      ("jp2", .jpeg2000),
    ])
  func told(_ format: String, _ kind: ImageKind) throws {
    let picture = try TestPictures.encode(TestPictures.pixels(width: 64, height: 48), as: format)
    #expect(ImageKind(sniffing: picture) == kind)
    #expect(ImageKind(sniffing: Array(picture.prefix(ImageKind.sniffByteCount))) == kind)
  }

  @Test("A generic brand is read with the compatible ones")
  func brands() {
    func box(_ brands: String...) -> [UInt8] {
      let body = Array((["ftyp", brands[0], "\0\0\0\0"] + brands.dropFirst()).joined().utf8)
      return [0, 0, 0, UInt8(body.count + 4)] + body
    }
    #expect(ImageKind(sniffing: box("mif1", "miaf", "avif")) == .avif)
    #expect(ImageKind(sniffing: box("mif1", "heic")) == .heif)
    #expect(ImageKind(sniffing: box("heic", "mif1")) == .heif)
    #expect(ImageKind(sniffing: box("isom", "iso2", "avc1", "mp41")) == .mp4)
    #expect(ImageKind(sniffing: box("qt  ")) == .mp4)
    #expect(ImageKind(sniffing: box("M4A ")) == nil)
  }

  @Test("Raw files that say so are distinguished from TIFFs and films")
  func raw() {
    for picture in [
      RawSamples.cr2(preview: [], orientation: 1), RawSamples.rw2(preview: [], orientation: 1),
      RawSamples.orf(preview: [], orientation: 1), RawSamples.cr3(preview: [], orientation: 1),
      RawSamples.raf(preview: []),
    ] {
      #expect(ImageKind(sniffing: picture) == .raw)
    }
    #expect(ImageKind(sniffing: RawSamples.tiff(preview: [], orientation: 1)) == .tiff)
  }

  @Test("Anything may be sniffed, of any length")
  func total() {
    let seed = SeededRandom().seed
    var random = Seeded(state: seed)
    let starts: [[UInt8]] = [
      [], [0xff], [0xff, 0xd8], Array("RIFF".utf8), Array("RIFF1234WEB".utf8),
      [0, 0, 0, 0] + Array("ftyp".utf8), [0xff, 0xff, 0xff, 0xff] + Array("ftypmif1".utf8),
      [0, 0, 0, 0] + Array("ftypmif1".utf8),
    ]
    for start in starts {
      for length in 0..<40 {
        let rest = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
        _ = ImageKind(sniffing: start + rest)
      }
    }
    for text in [
      "", "x", "GIF", "BM", "BM, a letter to somebody, of some length", "%PDF-1.4", "<svg>",
      "\u{0}\u{0}",
    ] {
      #expect(ImageKind(sniffing: Array(text.utf8)) == nil)
    }
    print("sniffing: seed \(seed)")
  }
}
