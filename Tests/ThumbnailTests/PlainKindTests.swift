import AlbumTestSupport
import FileKinds
import Foundation
import PictureDecoders
import Testing
import ThumbnailProtocol
import Thumbnails

/// BMP, TGA, PCX, ICO and PSD, by decoders of our own.
@Suite(.serialized)
struct PlainKindTests {
  /// Each as its name and bytes.
  private static func samples() throws -> [(name: String, bytes: [UInt8])] {
    var samples: [(name: String, bytes: [UInt8])] = []
    for (name, options) in PlainSamples.made {
      samples.append(("\(name) \(options)", try PlainSamples.make(name, options)))
    }
    samples.append(("runs", PlainSamples.bmpInRuns()))
    samples.append(("OS/2", PlainSamples.bmpOfOS2()))
    for mode in PlainSamples.PhotoshopMode.allCases {
      samples.append(("PSD \(mode)", PlainSamples.psd(mode)))
    }
    samples.append(("PSD 16", PlainSamples.psd(.colour, depth: 16)))
    samples.append(("PSD plain", PlainSamples.psd(.colour, isPacked: false)))
    samples.append(("PSB", PlainSamples.psd(.colour, isLarge: true)))
    return samples
  }

  @Test("Every variety shows its colours where they are")
  func varieties() throws {
    let worker = try TestWorker()
    for (name, bytes) in try Self.samples() {
      let kind = try #require(
        ImageKind(sniffing: Array(bytes.prefix(ImageKind.sniffByteCount))), "\(name)")
      let (format, made) = try worker.thumbnail(of: bytes)
      try ThumbnailInspection.inspect(made, format: format, original: kind, edge: 512)
      let pixels = try TestPictures.decode(made)
      let long = name == "runs" || name == "OS/2" ? 200 : 240
      #expect(pixels.width == long, "\(name)")
      // Few levels and built-in inks are coarse.
      let distance = name.contains("rgb4") || name.contains("inks") ? 110 : 50
      let wanted = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
      for (found, colour) in zip(pixels.quarters, wanted) {
        #expect(Pixels.isClose(found, colour, by: distance), "\(name): \(pixels.quarters)")
      }
    }
  }

  @Test("One that is cut short shows what is there")
  func cut() throws {
    let worker = try TestWorker()
    for (name, bytes) in try Self.samples() where !name.hasPrefix("ico") {
      // The channels of a PSD follow each other.
      let part = Array(bytes.prefix(bytes.count * 6 / 10))
      _ = try worker.thumbnail(of: part)
      #expect(throws: PictureFailure.self, "\(name)") {
        try worker.thumbnail(of: Array(bytes.prefix(18)))
      }
    }
  }

  @Test("Damaged ones show the same to a process that has decoded others before")
  func freshMemory() throws {
    var random = SeededRandom()
    let used = try TestWorker()
    let fresh = try TestWorker()
    for (name, bytes) in try Self.samples() {
      _ = try used.thumbnail(of: bytes)
      var damaged = bytes
      for place in bytes.count * 4 / 10..<bytes.count * 6 / 10 { damaged[place] = 0 }
      var pocked = bytes
      for _ in 0..<12 {
        pocked[Int.random(in: 60..<bytes.count, using: &random)] ^= UInt8.random(
          in: 1...255, using: &random)
      }
      for picture in [damaged, pocked, Array(bytes.prefix(bytes.count / 2))] {
        #expect(
          try used.ask(picture) == fresh.ask(picture), "\(name), seed \(random.seed)")
      }
    }
  }

  @Test("A transparent icon is a transparent thumbnail")
  func transparency() throws {
    let icon = try Workshop.open { shop in
      try shop.write(TestPictures.pixels(width: 64, height: 64), "in.ppm")
      let filter = "format=rgba,colorchannelmixer=aa=0.5"
      try shop.run(
        "ffmpeg",
        [
          "-v", "error", "-y", "-i", "in.ppm", "-vf", filter, "-c:v", "bmp", "-pix_fmt", "bgra",
          "out.ico",
        ])
      return try shop.read("out.ico")
    }
    let (format, made) = try TestWorker().thumbnail(of: icon)
    #expect(format == .png)
    let pixels = try TestPictures.decode(made)
    #expect(pixels.bands == 4)
    #expect((100...155).contains(pixels[10, 10][3]))
  }

  @Test("No bytes make a decoder fail but by saying so, or keep it long")
  func total() throws {
    var random = SeededRandom()
    let rounds = ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] == nil ? 15 : 2000
    for (_, bytes) in try Self.samples() {
      for _ in 0..<rounds {
        var mutated = Array(bytes.prefix(4096 + Int.random(in: 0...bytes.count, using: &random)))
        for _ in 0..<Int.random(in: 1...12, using: &random) {
          let place = Int.random(in: 0..<min(mutated.count, 200), using: &random)
          mutated[place] = UInt8.random(in: 0...255, using: &random)
        }
        let file = mutated.span
        _ = try? Bitmap.decode(file, edge: 64)
        _ = try? Icon.decode(file, edge: 64)
        _ = try? Targa.decode(file, edge: 64)
        _ = try? Paintbrush.decode(file, edge: 64)
        _ = try? Photoshop.decode(file, edge: 64)
      }
    }
    print("decoders: seed \(random.seed)")
  }

  @Test("A PCX file whose pixels have no bits is refused")
  func pixelsWithoutBits() {
    var file = [UInt8](repeating: 0, count: 256)
    (file[0], file[1], file[2], file[65]) = (0x0a, 5, 1, 1)
    #expect(throws: DecodingFault.unknown) { try Paintbrush.decode(file.span, edge: 64) }
  }

  @Test(
    "A PCX with a plane of alpha, and a TGA whose map has alpha, are transparent where they say so")
  func transparentColours() throws {
    // Two pixels: an opaque red one, and a transparent one.
    var pcx = [UInt8](repeating: 0, count: 128)
    (pcx[0], pcx[1], pcx[2], pcx[3], pcx[8], pcx[65], pcx[66]) = (0x0a, 5, 1, 8, 1, 4, 2)
    let planes: [UInt8] = [0xc1, 255, 0, 0, 0xc1, 255, 0, 0, 0xc1, 255, 0]
    let drawn = try Paintbrush.decode((pcx + planes).span, edge: 64)
    #expect(drawn.bands == .colourAndAlpha && drawn.isComplete)
    #expect(Array(drawn.bytes.prefix(4)) == [255, 0, 0, 255] && drawn.bytes[7] == 0)
    let map: [UInt8] = [0, 0, 255, 255, 0, 255, 0, 0]
    let head: [UInt8] = [0, 1, 1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 2, 0, 1, 0, 8, 8]
    let mapped = try Targa.decode((head + map + [0, 1]).span, edge: 64)
    #expect(mapped.bands == .colourAndAlpha && mapped.isComplete)
    #expect(Array(mapped.bytes.prefix(4)) == [255, 0, 0, 255] && mapped.bytes[7] == 0)
  }

  private static func little(_ numbers: (value: Int, count: Int)...) -> [UInt8] {
    numbers.flatMap { number in
      (0..<number.count).map { UInt8(truncatingIfNeeded: number.value >> ($0 * 8)) }
    }
  }

  @Test("An icon whose pixels are packed is refused, because its mask has no place")
  func packedIcon() {
    for (compression, depth) in [(1, 8), (2, 4)] {
      // A directory of one icon, and a bitmap of 4 by 8: 4 rows of colours and 4 of the mask.
      let directory = Self.little((1 << 16, 4), (1, 2), (0x0404, 4), (1, 2), (depth, 2))
      let place = Self.little((1200, 4), (22, 4))
      let bitmap = Self.little((40, 4), (4, 4), (8, 4), (1, 2), (depth, 2), (compression, 4))
      let rest = [UInt8](repeating: 0, count: 20 + 1024) + [4, 1, 0, 0]
      let file = directory + place + bitmap + rest
      #expect(throws: DecodingFault.unknown) { try Icon.decode(file.span, edge: 64) }
    }
  }

  @Test("A picture whose rows go to the left or begin at the top is upright")
  func mirrored() throws {
    // A red and a green pixel, and below them a blue and a white one. Each is a run of its own.
    let pixels: [UInt8] = [
      0x80, 0, 0, 255, 0x80, 0, 255, 0, 0x80, 255, 0, 0, 0x80, 255, 255, 255,
    ]
    let start = [0, 0, 10] + [UInt8](repeating: 0, count: 9) + [2, 0, 2, 0, 24]
    let rows: [(descriptor: UInt8, pixels: [UInt8])] = [
      (0x20, [255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]),
      (0x30, [0, 255, 0, 255, 0, 0, 255, 255, 255, 0, 0, 255]),
      (0x00, [0, 0, 255, 255, 255, 255, 255, 0, 0, 0, 255, 0]),
    ]
    for (descriptor, wanted) in rows {
      let picture = try Targa.decode((start + [descriptor] + pixels).span, edge: 64)
      #expect(picture.bytes == wanted && picture.isComplete)
    }
    // A run goes on in the next row.
    let run = try Targa.decode((start + [0x30, 0x83, 1, 2, 3]).span, edge: 64)
    #expect(run.bytes == [3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1] && run.isComplete)
  }

  @Test("The largest picture that a browser wants of a large one fits into the cell")
  func bounded() throws {
    // 4097 by 4097 pixels in runs, of which there is one row.
    let head = Array("BM".utf8) + Self.little((0, 8), (54 + 1024, 4), (40, 4), (4097, 4), (4097, 4))
    let more = Self.little((1, 2), (8, 2), (1, 4), (0, 20)) + [UInt8](repeating: 0, count: 1024)
    let picture = try Bitmap.decode((head + more + [0, 0, 0, 1]).span, edge: 4096)
    #expect((picture.width, picture.height) == (2049, 2049))
    #expect((picture.fullWidth, picture.fullHeight) == (4097, 4097))
  }

  @Test("A picture is averaged as it is decoded, and its transparent pixels lend no colour")
  func shrinking() throws {
    let photo = try Photoshop.decode(PlainSamples.psd(.colour).span, edge: 50)
    #expect((photo.fullWidth, photo.fullHeight) == (240, 150))
    #expect((photo.width, photo.height) == (60, 38))
    let middle = Array(photo.bytes[(18 * 60 + 29) * 3..<(18 * 60 + 29) * 3 + 3])
    #expect(middle == [173, 33, 78], "three rows of red and one of blue")
    // Two pixels: red that is opaque, green that is transparent.
    let targa: [UInt8] =
      [0, 0, 2] + [UInt8](repeating: 0, count: 9) + [2, 0, 1, 0, 32, 8] + [0, 0, 255, 255]
      + [0, 255, 0, 0]
    let mixed = try Targa.decode(targa.span, edge: 1)
    #expect(mixed.bytes == [255, 0, 0, 128])
  }
}
