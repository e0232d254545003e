import AlbumTestSupport
import FileKinds
import Foundation
import Testing
import ThumbnailProtocol
import Thumbnails

/// The rules for thumbnails, tested pixel by pixel with the real program.
@Suite(.serialized)
struct ThumbnailRuleTests {
  @Test("A photo is upright in all eight orientations", arguments: 1...8)
  func orientation(_ orientation: Int) throws {
    let worker = try TestWorker()
    let (kind, bytes) = try worker.thumbnail(of: TestPictures.jpeg(orientation: orientation))
    let pixels = try TestPictures.decode(bytes)
    #expect(kind == .jpeg)
    #expect((pixels.width, pixels.height) == (512, 320))
    #expect(pixels.isUpright, "\(pixels.quarters)")
  }

  @Test(
    "Every kind of picture gets a thumbnail of its format",
    arguments: [
      ("jpg", ImageKind.jpeg), ("png", .jpeg), ("webp", .webp), ("gif", .jpeg), ("tif", .jpeg),
      ("tif[bigtiff,compression=deflate]", .jpeg), ("heic", .jpeg), ("avif", .jpeg), ("jxl", .jpeg),
      ("jpg[interlace]", .jpeg), ("png[interlace]", .jpeg), ("jp2", .jpeg),
    ])
  func formats(_ format: String, _ expected: ImageKind) throws {
    let worker = try TestWorker()
    let (kind, bytes) = try worker.thumbnail(
      of: TestPictures.encode(TestPictures.pixels(), as: format))
    #expect(kind == expected)
    #expect(ImageKind(sniffing: bytes) == expected)
    let pixels = try TestPictures.decode(bytes)
    #expect((pixels.width, pixels.height) == (512, 320))
    #expect(pixels.isUpright, "\(pixels.quarters)")
  }

  @Test("The long edge is what the space asks for, upright or lying", arguments: [64, 100, 1024])
  func edge(_ edge: UInt32) throws {
    let worker = try TestWorker()
    let lying = TestPictures.pixels(width: 1600, height: 400)
    let standing = TestPictures.pixels(width: 400, height: 1600)
    for (picture, isLying) in [(lying, true), (standing, false)] {
      let (_, bytes) = try worker.thumbnail(
        of: TestPictures.encode(picture, as: "jpg"), edge: edge)
      let pixels = try TestPictures.decode(bytes)
      #expect((isLying ? pixels.width : pixels.height) == Int(edge))
      #expect((isLying ? pixels.height : pixels.width) == Int(edge) / 4)
    }
  }

  @Test("A small picture is not enlarged")
  func small() throws {
    let worker = try TestWorker()
    let picture = TestPictures.pixels(width: 40, height: 30)
    for format in ["png", "jpg", "webp"] {
      let (_, bytes) = try worker.thumbnail(of: TestPictures.encode(picture, as: format))
      let pixels = try TestPictures.decode(bytes)
      #expect((pixels.width, pixels.height) == (40, 30))
    }
  }

  @Test("Nothing of the metadata is left: no place, no camera, no profile")
  func metadata() throws {
    let worker = try TestWorker()
    let jpeg = try TestPictures.jpeg(orientation: 6)
    #expect(try TestPictures.tags(of: jpeg).contains("GPS:GPSLatitude"))
    let pictures = try ["jpg", "webp", "png", "tif"].map { format in
      try TestPictures.tag(
        TestPictures.encode(TestPictures.pixels(), as: format), format,
        "-Orientation#=1", "-GPSLatitude=48.1", "-GPSLatitudeRef=N", "-XMP:Creator=Somebody")
    }
    for picture in [jpeg] + pictures {
      let (_, bytes) = try worker.thumbnail(of: picture)
      let groups = Set(
        try TestPictures.tags(of: bytes).map { String($0.prefix { $0 != ":" }) })
      let harmless: Set = ["ExifTool", "System", "File", "Composite", "RIFF", "PNG", "JFIF"]
      #expect(groups.subtracting(harmless) == [], "\(groups)")
      for word in ["Exif", "GPS", "ICC_PROFILE", "http://ns.adobe.com", "Somebody", "secret"] {
        #expect(Data(bytes).range(of: Data(word.utf8)) == nil, "\(word)")
      }
    }
  }

  @Test("A picture that may be transparent becomes PNG, a transparent WebP stays WebP")
  func transparency() throws {
    let worker = try TestWorker()
    for (format, expected) in [
      ("png", ImageKind.png), ("webp", .webp), ("tif", .png), ("gif", .png),
    ] {
      let picture = try Workshop.open { shop in
        try shop.write(TestPictures.pixels(), "in.ppm")
        try shop.run("vips", "bandjoin_const", "in.ppm", "alpha.png", "100")
        // A GIF pixel is either visible or not.
        if format == "gif" { try shop.run("vips", "bandjoin_const", "in.ppm", "alpha.png", "0") }
        try shop.run("vips", "copy", "alpha.png", "out." + format)
        return try shop.read("out." + format)
      }
      let (kind, bytes) = try worker.thumbnail(of: picture)
      #expect(kind == expected, "\(format)")
      let pixels = try TestPictures.decode(bytes)
      #expect(pixels.bands == 4)
      #expect(pixels[100, 100][3] == (format == "gif" ? 0 : 100))
    }
  }

  @Test("Colours are those of sRGB whatever the picture's own space is")
  func colours() throws {
    let worker = try TestWorker()
    // Converted from sRGB by a profile: its own, grey, of 16 bits, and for print.
    for (operation, format, distance) in [
      (["icc_transform", "in.ppm", "x.tif", "p3", "--input-profile", "srgb"], "jpg", 40),
      (["colourspace", "in.ppm", "x.tif", "rgb16"], "png", 40),
      (["colourspace", "in.ppm", "x.tif", "lab"], "tif", 40),
      (["colourspace", "in.ppm", "x.tif", "cmyk"], "jpg", 110),
    ] {
      let picture = try Workshop.open { shop in
        try shop.write(TestPictures.pixels(), "in.ppm")
        try shop.run("vips", operation)
        try shop.run("vips", "copy", "x.tif", "out." + format)
        return try shop.read("out." + format)
      }
      let (kind, bytes) = try worker.thumbnail(of: picture)
      let pixels = try TestPictures.decode(bytes)
      #expect(kind == .jpeg)
      #expect(pixels.bands == 3)
      let wanted = [
        TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white,
      ]
      for (got, want) in zip(pixels.quarters, wanted) {
        #expect(Pixels.isClose(got, want, by: distance), "\(operation) \(got) \(want)")
      }
    }
  }

  @Test("Transparency that hides nothing, as in screenshots, costs no PNG")
  func opaque() throws {
    let worker = try TestWorker()
    for format in ["png", "tif"] {
      let picture = try Workshop.open { shop in
        try shop.write(TestPictures.pixels(), "in.ppm")
        try shop.run("vips", "bandjoin_const", "in.ppm", "out." + format, "255")
        return try shop.read("out." + format)
      }
      let (kind, bytes) = try worker.thumbnail(of: picture)
      let pixels = try TestPictures.decode(bytes)
      #expect(kind == .jpeg && pixels.bands == 3 && pixels.isUpright)
    }
    // A screen full of details, of which a PNG of 512 pixels takes some 500 KB.
    let screen = try Workshop.open { shop in
      let pixels = TestPictures.lively(seed: 1, width: 1280, height: 800, brightness: 80)
      try shop.write(pixels, "in.ppm")
      try shop.run("vips", "bandjoin_const", "in.ppm", "out.png", "255")
      return try shop.read("out.png")
    }
    let (kind, bytes) = try worker.thumbnail(of: screen)
    #expect(kind == .jpeg)
    #expect(bytes.count < 60_000, "\(bytes.count) bytes")
    let asPNG = try Workshop.open { shop in
      try shop.write(Data(bytes), "in.jpg")
      try shop.run("vips", "copy", "in.jpg", "out.png")
      return try shop.read("out.png")
    }
    #expect(bytes.count * 5 < asPNG.count, "\(bytes.count) bytes, as PNG \(asPNG.count)")
  }

  @Test("A picture for print that has transparency keeps its colours")
  func printWithTransparency() throws {
    let worker = try TestWorker()
    for alpha in ["255", "100"] {
      let picture = try Workshop.open { shop in
        try shop.write(TestPictures.pixels(), "in.ppm")
        try shop.run(
          "vips", "icc_transform", "in.ppm", "print.tif", "cmyk", "--input-profile", "srgb")
        try shop.run("vips", "bandjoin_const", "print.tif", "out.tif", alpha)
        return try shop.read("out.tif")
      }
      let (kind, bytes) = try worker.thumbnail(of: picture)
      #expect(kind == (alpha == "255" ? .jpeg : .png))
      let pixels = try TestPictures.decode(bytes)
      let wanted = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
      for (got, want) in zip(pixels.quarters, wanted) {
        #expect(Pixels.isClose(got, want, by: 110), "\(got) \(want)")
      }
    }
  }

  @Test("A JPEG 2000 for print shows its colours")
  func printAsJPEG2000() throws {
    let worker = try TestWorker()
    for bits in [8, 16] {
      var picture = try Workshop.open { shop in
        try shop.write(TestPictures.pixels(), "in.ppm")
        try shop.run(
          "vips", "icc_transform", "in.ppm", "print.tif", "cmyk", "--input-profile", "srgb")
        try shop.run("vips", "linear", "print.tif", "wide.v", bits == 8 ? "1" : "257", "0")
        try shop.run("vips", "cast", "wide.v", "cast.v", bits == 8 ? "uchar" : "ushort")
        try shop.run("vips", "copy", "cast.v", "out.jp2[lossless]")
        return try shop.read("out.jp2")
      }
      // OpenJPEG does not write the number of the colour space CMYK.
      let box = try #require(picture.firstRange(of: Data("colr".utf8)))
      picture[box.upperBound] = 1
      picture.replaceSubrange(box.upperBound + 3..<box.upperBound + 7, with: [0, 0, 0, 12])
      let (kind, bytes) = try worker.thumbnail(of: picture)
      #expect(kind == .jpeg)
      let pixels = try TestPictures.decode(bytes)
      let wanted = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
      for (got, want) in zip(pixels.quarters, wanted) {
        #expect(Pixels.isClose(got, want, by: 110), "\(bits) bits: \(got) \(want)")
      }
    }
  }

  /// Brightness and two differences of colours, in place of red, green and blue.
  private static func differences(_ pixels: Data) -> Data {
    let head = Data("P6\n640 400\n255\n".utf8)
    var bytes = [UInt8](pixels.dropFirst(head.count))
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let (r, g, b) = (Double(bytes[start]), Double(bytes[start + 1]), Double(bytes[start + 2]))
      bytes[start] = UInt8(clamping: Int(0.299 * r + 0.587 * g + 0.114 * b))
      bytes[start + 1] = UInt8(clamping: Int(128 - 0.168736 * r - 0.331264 * g + 0.5 * b))
      bytes[start + 2] = UInt8(clamping: Int(128 + 0.5 * r - 0.418688 * g - 0.081312 * b))
    }
    return head + bytes
  }

  @Test(
    "A JPEG 2000 of brightness and differences of colours shows its colours", arguments: [18, 24])
  func differencesAsJPEG2000(_ number: UInt8) throws {
    let worker = try TestWorker()
    var fine = try TestPictures.encode(
      Self.differences(TestPictures.pixels()), as: "jp2[lossless]")
    let coarse = try TestPictures.encode(TestPictures.pixels(), as: "jp2[subsample-mode=on]")
    let box = try #require(Data(fine).firstRange(of: Data("colr".utf8)))
    fine.replaceSubrange(box.upperBound + 3..<box.upperBound + 7, with: [0, 0, 0, number])
    for picture in [fine, coarse] {
      let pixels = try TestPictures.decode(worker.thumbnail(of: picture).1)
      #expect(pixels.isUpright, "\(pixels)")
    }
  }

  @Test("A channel of a JPEG 2000 is no opacity unless the file says so")
  func channelsOfJPEG2000() throws {
    let worker = try TestWorker()
    let picture = try Workshop.open { shop in
      try shop.write(TestPictures.pixels(), "in.ppm")
      try shop.run("vips", "bandjoin_const", "in.ppm", "four.v", "100")
      try shop.run("vips", "copy", "four.v", "out.jp2[lossless]")
      return try shop.read("out.jp2")
    }
    #expect(try worker.thumbnail(of: picture).0 == .png)
    // Number, type and colour of the last of four channels. A type of 65,535 is not specified.
    let box = try #require(Data(picture).firstRange(of: Data("cdef".utf8)))
    var undescribed = picture
    let type = box.upperBound + 2 + 3 * 6 + 2
    #expect(picture[type..<type + 2].elementsEqual([0, 1]))
    undescribed.replaceSubrange(type..<type + 2, with: [255, 255])
    let (kind, bytes) = try worker.thumbnail(of: undescribed)
    #expect(kind == .jpeg)
    #expect(try TestPictures.decode(bytes).isUpright)
  }

  @Test(
    "A small picture is not smeared: it becomes PNG, or lossless WebP",
    arguments: ["jpg[Q=95]", "png", "tif", "webp[lossless]"])
  func smallPicture(_ format: String) throws {
    let worker = try TestWorker()
    let small = try TestPictures.encode(TestPictures.pixels(width: 64, height: 40), as: format)
    let (kind, bytes) = try worker.thumbnail(of: small)
    #expect(kind == (format == "webp[lossless]" ? .webp : .png))
    let pixels = try TestPictures.decode(bytes)
    // The edge between two colours stays sharp.
    #expect(Pixels.isClose(pixels[30, 10], TestPictures.red, by: 8))
    #expect(Pixels.isClose(pixels[33, 10], TestPictures.green, by: 8))
  }

  @Test(
    "Measurements are spread over all levels and not cut off: 12 bits in 16, numbers of any scale")
  func measurements() throws {
    let worker = try TestWorker()
    for (factor, offset, type, interpretation) in [
      ("16", "0", "ushort", "rgb16"), ("4", "0", "ushort", "rgb16"), ("1", "0", "ushort", "rgb16"),
      ("1000", "70000", "int", "srgb"),
    ] {
      let picture = try Workshop.open { shop in
        try shop.write(TestPictures.pixels(), "in.ppm")
        try shop.run("vips", "linear", "in.ppm", "a.v", factor, offset)
        try shop.run("vips", "cast", "a.v", "b.v", type)
        try shop.run("vips", "copy", "b.v", "out.tif", "--interpretation", interpretation)
        return try shop.read("out.tif")
      }
      let (kind, bytes) = try worker.thumbnail(of: picture)
      let pixels = try TestPictures.decode(bytes)
      #expect(kind == .jpeg && (pixels.width, pixels.height) == (512, 320))
      #expect(pixels.isUpright, "\(factor) \(type): \(pixels.quarters)")
    }
  }

  @Test("Numbers with a point are spread too")
  func floatingPoint() throws {
    let worker = try TestWorker()
    let picture = try Workshop.open { shop in
      try shop.write(TestPictures.pixels(), "in.ppm")
      try shop.run("vips", "extract_band", "in.ppm", "grey.v", "1")
      try shop.run("vips", "linear", "grey.v", "a.v", "0.001", "7")
      try shop.run("vips", "cast", "a.v", "b.v", "float")
      try shop.run("vips", "copy", "b.v", "out.tif", "--interpretation", "b-w")
      return try shop.read("out.tif")
    }
    let pixels = try TestPictures.decode(try worker.thumbnail(of: picture).1)
    // From 30, 200, 40 and 240 in green.
    for (got, want) in zip(pixels.quarters, [0, 206, 12, 255]) {
      #expect(abs(Int(got[0]) - want) < 8, "\(pixels.quarters)")
    }
  }

  @Test("A picture of 16 bits that uses them stays as dark as it is")
  func darkPicture() throws {
    let worker = try TestWorker()
    let picture = try Workshop.open { shop in
      try shop.write(TestPictures.pixels(), "in.ppm")
      try shop.run("vips", "linear", "in.ppm", "a.v", "64", "0")
      try shop.run("vips", "cast", "a.v", "b.v", "ushort")
      try shop.run("vips", "copy", "b.v", "out.png", "--interpretation", "rgb16")
      return try shop.read("out.png")
    }
    let pixels = try TestPictures.decode(try worker.thumbnail(of: picture).1)
    #expect(Pixels.isClose(pixels.quarters[3], [60, 60, 60], by: 10), "\(pixels.quarters)")
  }

  @Test(
    "A raw picture shows its preview, with the rotation of the raw file",
    arguments: ["tiff", "cr2", "rw2", "orf", "cr3", "raf"])
  func raw(_ form: String) throws {
    let worker = try TestWorker()
    let small = try TestPictures.encode(
      TestPictures.pixels(storedFor: 6, width: 320, height: 200), as: "jpg")
    let large = try TestPictures.encode(TestPictures.pixels(storedFor: 6), as: "jpg[Q=90]")
    // The preview of some cameras says that it is upright, and is not.
    let lying = try TestPictures.tag(large, "jpg", "-Orientation#=1")
    for preview in [large, lying] {
      let previews =
        form == "raf"
        ? try TestPictures.tag(preview, "jpg", "-Orientation#=6") : small + preview
      let picture = TestPictures.raw(form, of: previews, orientation: 6)
      let (kind, bytes) = try worker.thumbnail(of: picture)
      let pixels = try TestPictures.decode(bytes)
      #expect(kind == .jpeg && (pixels.width, pixels.height) == (512, 320))
      #expect(pixels.isUpright, "\(pixels.quarters)")
    }
  }

  @Test("A JPEG that is narrower than the decoder's smallest step keeps a pixel of it")
  func narrow() throws {
    let worker = try TestWorker()
    for (width, height) in [(3, 9000), (9000, 1)] {
      let picture = try TestPictures.encode(
        TestPictures.pixels(width: width, height: height), as: "jpg")
      let pixels = try TestPictures.decode(try worker.thumbnail(of: picture).1)
      #expect((pixels.width, pixels.height) == (width == 3 ? (1, 512) : (512, 1)))
    }
  }

  @Test("A raw picture that was cut short shows its small preview, which is whole")
  func cutRaw() throws {
    let worker = try TestWorker()
    let small = try TestPictures.encode(TestPictures.pixels(width: 320, height: 200), as: "jpg")
    let large = try TestPictures.encode(TestPictures.pixels(), as: "jpg[Q=90]")
    let whole = TestPictures.raw("cr3", of: small + large, orientation: 1)
    let cut = Array(whole.dropLast(large.count * 3 / 4))
    let pixels = try TestPictures.decode(try worker.thumbnail(of: cut).1)
    #expect((pixels.width, pixels.height) == (320, 200))
    #expect(pixels.isUpright, "\(pixels.quarters)")
  }

  @Test("A TIFF that no camera wrote shows its first page, whatever else it holds")
  func pages() throws {
    let worker = try TestWorker()
    let other = try TestPictures.encode(TestPictures.pixels(), as: "jpg")
    let picture = RawSamples.tiff(preview: other, orientation: 1, maker: nil)
    let pixels = try TestPictures.decode(try worker.thumbnail(of: picture).1)
    #expect((pixels.width, pixels.height) == (2, 2))
  }

  @Test("A raw file without a preview is an error")
  func rawWithoutPreview() throws {
    let worker = try TestWorker()
    let noise = [UInt8](repeating: 0xFF, count: 100_000)
    #expect(throws: PictureFailure.damaged) {
      try worker.thumbnail(of: RawSamples.cr3(preview: noise, orientation: 1))
    }
    // A lossless frame holds the raw picture itself.
    var lossless = try TestPictures.encode(TestPictures.pixels(), as: "jpg")
    let frame = try #require(
      lossless.indices.dropLast().first {
        lossless[$0] == 0xFF && lossless[$0 + 1] == 0xC0
      })
    lossless[frame + 1] = 0xC3
    #expect(throws: PictureFailure.damaged) {
      try worker.thumbnail(of: RawSamples.cr3(preview: lossless, orientation: 1))
    }
  }

  @Test("A damaged picture shows the part that can be decoded")
  func damaged() throws {
    let worker = try TestWorker()
    for format in ["jpg", "png", "jpg[interlace]", "gif", "webp", "tif"] {
      let whole = try TestPictures.encode(noise(), as: format)
      let half = Array(whole.prefix(whole.count * 6 / 10))
      if ["webp", "gif", "tif"].contains(format) {
        // These formats give all or nothing, and a TIFF has its head at its end: any answer is right.
        _ = try worker.ask(half)
        continue
      }
      let (_, bytes) = try worker.thumbnail(of: half)
      let pixels = try TestPictures.decode(bytes)
      #expect(Pixels.isClose(pixels.quarters[0], TestPictures.red, by: 60), "\(format)")
    }
  }

  @Test("A panorama may have more pixels than other pictures, if it is a baseline JPEG")
  func panorama() throws {
    let worker = try TestWorker()
    for (options, isShown) in [("", true), ("[interlace]", false)] {
      let picture = try Workshop.open { shop in
        try shop.run("vips", "grey", "row.v", "60000", "1")
        try shop.run("vips", "linear", "row.v", "wide.v", "255", "0")
        try shop.run("vips", "cast", "wide.v", "bytes.v", "uchar")
        try shop.run("vips", "replicate", "bytes.v", "out.jpg" + options, "1", "9000")
        return try shop.read("out.jpg")
      }
      if !isShown {
        #expect(throws: PictureFailure.tooLarge) { try worker.thumbnail(of: picture) }
        continue
      }
      let pixels = try TestPictures.decode(try worker.thumbnail(of: picture).1)
      #expect((pixels.width, pixels.height) == (512, 77))
      #expect(pixels[400, 40][0] > pixels[100, 40][0])
    }
  }

  @Test("A picture with garbage all over does no harm to the next")
  func garbage() throws {
    let seed = SeededRandom().seed
    var random = Seeded(state: seed)
    let worker = try TestWorker()
    let good = try TestPictures.encode(TestPictures.pixels(), as: "jpg")
    for format in ["jpg", "png", "webp", "gif", "tif", "heic", "jxl"] {
      var picture = try TestPictures.encode(noise(), as: format)
      for _ in 0..<200 {
        picture[Int.random(in: 64..<picture.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      _ = try worker.ask(picture)
      _ = try worker.thumbnail(of: good)
    }
    print("garbage: seed \(seed)")
  }

  @Test(
    "A header with nothing behind it is an error, not a grey picture",
    arguments: [
      "jpg", "png", "webp", "gif", "tif", "heic", "jxl",
    ])
  func headerOnly(_ format: String) throws {
    let worker = try TestWorker()
    let whole = try TestPictures.encode(noise(), as: format)
    for length in [12, 32, 60] {
      let content = try worker.ask(Array(whole.prefix(length)))
      guard case .failure(let failure, _) = content else {
        Issue.record("\(format), \(length) bytes: a thumbnail")
        continue
      }
      #expect(failure == .damaged || failure == .notAPicture)
    }
  }

  @Test("Only pictures of the kinds named are decoded: no text, SVG, PDF, PPM or film")
  func refused() throws {
    let worker = try TestWorker()
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'><rect/></svg>"
    let film: [UInt8] = [0, 0, 0, 0x18] + Array("ftypisom".utf8) + [UInt8](repeating: 0, count: 99)
    let others: [[UInt8]] = [
      Array("Just a text.".utf8), Array(svg.utf8), Array("%PDF-1.4\n%%EOF".utf8),
      Array(TestPictures.pixels()), film, [0], [UInt8](repeating: 0, count: 5000),
    ]
    for other in others {
      guard case .failure(.notAPicture, _) = try worker.ask(other) else {
        Issue.record("not refused: \(other.prefix(12))")
        continue
      }
    }
  }

  @Test("A picture of a billion pixels is refused as too large")
  func tooLarge() throws {
    let worker = try TestWorker()
    let picture = try Workshop.open { shop in
      try shop.run("vips", "black", "out.png[compression=9]", "30000", "30000")
      return try shop.read("out.png")
    }
    #expect(throws: PictureFailure.tooLarge) { try worker.thumbnail(of: picture) }
  }

  @Test(
    "A picture that needs more memory than the cell has is refused, and the next works",
    .disabled(if: Sanitizer.isOn))
  func memory() throws {
    var launch = TestWorker.launch
    launch.memory = 700 << 20
    let worker = try TestWorker(launch)
    let large = try Workshop.open { shop in
      try shop.run(
        "vips", "black", "out.png[interlace,compression=9]", "14000", "14000", "--bands", "3")
      return try shop.read("out.png")
    }
    #expect(throws: PictureFailure.tooLarge) { try worker.thumbnail(of: large) }
    _ = try worker.thumbnail(of: TestPictures.encode(TestPictures.pixels(), as: "png"))
  }
}

/// The test picture with a fine pattern over it, so that its encoded forms are not tiny.
func noise() -> Data {
  var random = Seeded(state: 7)
  var pixels = TestPictures.pixels(width: 320, height: 200)
  for index in 15..<pixels.count {
    pixels[index] = UInt8(
      clamping: Int(pixels[index]) + Int.random(in: -20...20, using: &random))
  }
  return pixels
}

/// SplitMix64.
struct Seeded: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
