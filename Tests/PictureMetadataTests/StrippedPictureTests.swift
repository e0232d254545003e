import AlbumModel
import AlbumTestSupport
import Foundation
import PictureMetadata
import Testing

/// A picture without its metadata has the same pixels, turned the same way, with the same colours, and
/// nothing else. What cannot be followed is refused.
@Suite struct StrippedPictureTests {
  private func plan(_ bytes: [UInt8]) throws(StrippedPicture.Fault) -> StrippedPicture {
    try Stripping.plan(bytes)
  }

  private func stripped(_ bytes: [UInt8]) throws(StrippedPicture.Fault) -> [UInt8] {
    try Stripping.stripped(bytes)
  }

  private func holds(_ bytes: [UInt8], _ text: String) -> Bool {
    Data(bytes).range(of: Data(text.utf8)) != nil
  }

  /// What a container needs, or what is only about the file.
  private func isHarmless(_ tag: String) -> Bool {
    [
      "ExifTool:", "System:", "File:", "JFIF:", "PNG:", "PNG-pHYs:", "RIFF:", "GIF:", "Meta:",
      "QuickTime:",
      "ItemList:", "ICC", "Composite:", "Adobe:",
    ].contains { tag.hasPrefix($0) }
      || ["IFD0:Orientation"].contains(tag)
  }

  @Test(
    arguments: ["jpg[Q=90]", "jpg[Q=90,interlace]", "png", "png[interlace]", "webp", "gif"], [1, 6])
  func onlyThePixelsAndTheOrientationStay(format: String, orientation: Int) throws {
    let kind = String(format.prefix { $0 != "[" })
    let pixels = TestPictures.pixels(storedFor: orientation)
    var tags = ["-XMP:Creator=Somebody", "-Comment=secret"]
    if kind != "gif" {
      tags += [
        "-Orientation#=\(orientation)", "-GPSLatitude=48.1", "-GPSLatitudeRef=N", "-Model=secret",
        "-DateTimeOriginal=2024:07:03 12:34:56",
      ]
    }
    if kind == "jpg" { tags += ["-IPTC:Keywords=secret"] }
    if kind == "png" { tags += ["-PNG:Author=secret"] }
    let plain = try TestPictures.encode(pixels, as: format)
    let picture = try TestPictures.tag(plain, kind, tags)
    #expect(holds(picture, "Somebody"))
    let bare = try stripped(picture)
    #expect(!holds(bare, "Somebody") && !holds(bare, "secret") && !holds(bare, "2024"))
    #expect(try TestPictures.tags(of: bare).filter { !isHarmless($0) } == [])
    let (before, after) = (try TestPictures.decode(picture), try TestPictures.decode(bare))
    #expect(before.bytes == after.bytes && before.width == after.width)
    // With GIF, the orientation cannot be stated.
    if kind != "gif" {
      let turned = try TestPictures.tags(of: bare).contains("IFD0:Orientation")
      #expect(turned == (orientation > 1), "\(format)")
    }
    // A second run changes nothing.
    #expect(try stripped(bare) == bare)
  }

  @Test(arguments: ["heic", "avif"])
  func aHEICKeepsItsPictureAndItsPlace(kind: String) throws {
    let plain = try TestPictures.make(TestPictures.pixels(), as: kind)
    let picture = try TestPictures.tag(
      plain, kind,
      ["-GPSLatitude=48.1", "-GPSLatitudeRef=N", "-Model=secret", "-XMP:Creator=Somebody"])
    #expect(holds(picture, "secret") && holds(picture, "Somebody"))
    let bare = try stripped(picture)
    #expect(!holds(bare, "secret") && !holds(bare, "Somebody"))
    #expect(try TestPictures.decode(bare).bytes == TestPictures.decode(plain).bytes)
    #expect(try stripped(bare) == bare)
    // What makers append goes as well: a film, for instance.
    let film = box("mpvd", Array("secret film".utf8))
    #expect(try stripped(picture + film) == bare)
  }

  /// The size of the small picture in a HEIC or AVIF; that of the main one if it has none.
  private func smallPicture(of picture: [UInt8], _ kind: String) throws -> String {
    try Workshop.open { shop in
      try shop.write(Data(picture), "in." + kind)
      try shop.run("vips", "heifload", "in." + kind, "out.png", "--thumbnail")
      return try shop.run("vipsheader", "-f", "width", "out.png")
    }
  }

  @Test(arguments: ["heic", "avif"])
  func theSmallPictureInAHEICGoes(kind: String) throws {
    let picture = try TestPictures.make(TestPictures.pixels(), as: "small:" + kind)
    #expect(try smallPicture(of: picture, kind) == "160")
    let bare = try stripped(picture)
    #expect(try smallPicture(of: bare, kind) == "640")
    #expect(bare.count == picture.count)
    #expect(try TestPictures.decode(bare).bytes == TestPictures.decode(picture).bytes)
    #expect(try stripped(bare) == bare)
    // The last stretch of the file was the small picture's.
    #expect(bare.suffix(100).allSatisfy { $0 == 0 })
  }

  @Test func theTilesOfAHEICStayAndItsSmallPictureGoes() throws {
    let grid = try GridSample.make()
    let bare = try stripped(grid.bytes)
    for tile in grid.tiles { #expect(bare[tile] == grid.bytes[tile]) }
    #expect(try TestPictures.decode(bare).bytes == TestPictures.decode(grid.bytes).bytes)
    #expect(try smallPicture(of: bare, "heic") == "640")
  }

  /// A picture whose left half can be seen through, and the kind of its auxiliary picture.
  private func transparent() throws -> (bytes: [UInt8], mark: [UInt8]) {
    let bytes = try Workshop.open { shop in
      try shop.write(TestPictures.pixels(), "in.ppm")
      try shop.run("vips", "bandjoin_const", "in.ppm", "in.png", "128")
      try shop.run("heif-enc", "-q", "80", "in.png", "-o", "out.heic")
      return try shop.read("out.heic")
    }
    return (bytes, Array("urn:mpeg:hevc:2015:auxid:1".utf8))
  }

  @Test func theTransparencyOfAHEICStaysAndOtherAuxiliaryPicturesGo() throws {
    let (picture, mark) = try transparent()
    let bare = try stripped(picture)
    #expect(try TestPictures.decode(bare).bytes == TestPictures.decode(picture).bytes)
    #expect(holds(bare, String(decoding: mark, as: UTF8.self)))
    let place = try #require(picture.indices.first { picture[$0...].starts(with: mark) })
    var gain = picture
    gain.replaceSubrange(place..<place + mark.count, with: "urn:com:maker:hdr:gainmapx".utf8)
    let plain = try stripped(gain)
    #expect(plain.count == gain.count)
    // What the transparency takes in one, zeros take in the other.
    let zeros = { (bytes: [UInt8]) in bytes.count { $0 == 0 } }
    #expect(zeros(plain) > zeros(bare) + 50)
    #expect(try stripped(plain) == plain)
  }

  private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let length = content.count + 8
    return [0, 0, UInt8(length >> 8), UInt8(length & 0xFF)] + Array(type.utf8) + content
  }

  /// A small picture and a gain map have metadata of their own. Readers refuse a picture that describes one
  /// which is not there.
  @Test func whatDescribesAnotherPictureOfAHEICGoesWithIt() throws {
    let plain = try TestPictures.make(TestPictures.pixels(), as: "small:heic")
    var picture = try TestPictures.tag(plain, "heic", ["-Model=secret"])
    func place(_ type: String) throws -> Int {
      try #require(picture.indices.first { picture[$0...].starts(with: type.utf8) }) + 4
    }
    // Of a reference: the item, how many others, and the first of them.
    let (small, described) = (try place("thmb"), try place("cdsc") + 4)
    picture.replaceSubrange(described..<described + 2, with: picture[small..<small + 2])
    let bare = try stripped(picture)
    #expect(!holds(bare, "cdsc") && !holds(bare, "thmb") && !holds(bare, "secret"))
    #expect(try TestPictures.decode(bare).bytes == TestPictures.decode(plain).bytes)
    #expect(try stripped(bare) == bare)
  }

  /// Adds tags to a profile, as a display's has them.
  private func profile(_ plain: [UInt8], adding tags: [(String, [UInt8])]) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> (24 - 8 * $0) & 0xFF) } }
    func value(_ place: Int) -> Int { plain[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    let (count, more) = (value(128), 12 * tags.count)
    var (table, data) = ([UInt8](), Array(plain[(132 + 12 * count)...]))
    for place in stride(from: 132, to: 132 + 12 * count, by: 12) {
      table +=
        plain[place..<place + 4] + number(value(place + 4) + more) + plain[place + 8..<place + 12]
    }
    for (name, content) in tags {
      data += [UInt8](repeating: 0, count: -data.count & 3)
      table +=
        Array(name.utf8) + number(132 + 12 * count + more + data.count) + number(content.count)
      data += content
    }
    var result = plain[..<128] + number(count + tags.count) + table + data
    result.replaceSubrange(0..<4, with: number(result.count))
    return Array(result)
  }

  /// The tags of a picture's colour profile.
  private func profileTags(of picture: [UInt8], _ kind: String) throws -> [String: [UInt8]] {
    let profile = try Workshop.open { shop in
      try shop.write(Data(picture), "in." + kind)
      try shop.run("exiftool", "-q", "-b", "-ICC_Profile", "-w", "icc", "in." + kind)
      return try shop.read("in.icc")
    }
    func value(_ place: Int) -> Int { profile[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    var tags: [String: [UInt8]] = [:]
    for place in stride(from: 132, to: 132 + 12 * value(128), by: 12) {
      let data = profile[value(place + 4)..<value(place + 4) + value(place + 8)]
      tags[String(decoding: profile[place..<place + 4], as: UTF8.self)] = Array(data)
    }
    return tags
  }

  @Test(arguments: ["jpg", "png", "webp", "heic"])
  func theColoursOfAProfileStayAndWhatItSaysOfADisplayGoes(kind: String) throws {
    let display = Array("dtim\0\0\0\0SECRETSERIAL".utf8)
    // So long that a JPEG needs several segments.
    let long = [UInt8](repeating: 7, count: 150_000)
    let picture = try Workshop.open { shop -> [UInt8] in
      try shop.write(TestPictures.pixels(), "in.ppm")
      try shop.run("vips", "copy", "in.ppm", "plain.png[profile=srgb]")
      try shop.run("exiftool", "-q", "-b", "-ICC_Profile", "-w", "icc", "plain.png")
      let plain = try shop.read("plain.icc")
      let whole = profile(plain, adding: [("mmod", display), ("calt", display), ("priv", long)])
      try shop.write(Data(whole), "display.icc")
      let format = kind == "heic" ? "png" : kind
      try shop.run("vips", "copy", "in.ppm", "out.\(format)[profile=display.icc]")
      if kind == "heic" { try shop.run("heif-enc", "-q", "80", "out.png", "-o", "out.heic") }
      return try shop.read("out.\(kind)")
    }
    let bare = try stripped(picture)
    #expect(!holds(bare, "SECRET") && !holds(bare, "mmod"))
    let (before, after) = (try profileTags(of: picture, kind), try profileTags(of: bare, kind))
    #expect(
      Set(after.keys) == [
        "desc", "cprt", "wtpt", "rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC", "chrm",
      ])
    for (name, content) in after where !["desc", "cprt"].contains(name) {
      #expect(content == before[name], "\(name)")
    }
    #expect(try TestPictures.decode(bare).bytes == TestPictures.decode(picture).bytes)
    #expect(try stripped(bare) == bare)
  }

  @Test func whatOnlyHidesInAPictureGoes() throws {
    let jpeg = try TestPictures.encode(TestPictures.pixels(), as: "jpg")
    func segment(_ mark: UInt8, _ text: String) -> [UInt8] {
      [0xFF, mark, 0, UInt8(text.utf8.count + 2)] + Array(text.utf8)
    }
    func with(_ hidden: [UInt8]) -> [UInt8] { Array(jpeg[..<2] + hidden + jpeg[2...]) }
    let adobe = "Adobe\0d\0\0\0\0\u{1}"
    let bare = try stripped(with(segment(0xEE, adobe + "secret")))
    #expect(try bare == stripped(with(segment(0xEE, adobe))) && !holds(bare, "secret"))
    #expect(try stripped(with(segment(0xE2, "ICC_PROFILE\0\u{1}\u{1}secret"))) == stripped(jpeg))
    for mark: UInt8 in [0xC8, 0xDE, 0xDF] {
      #expect(throws: StrippedPicture.Fault.damaged) { try plan(with(segment(mark, "secret"))) }
    }
    let png = try TestPictures.encode(TestPictures.pixels(), as: "png")
    for (type, content) in [
      ("gAMA", "\0\0\u{1}\u{1}secret"), ("sRGB", "\0secret"), ("hIST", "secret"),
    ] {
      let body = Array(type.utf8) + Array(content.utf8)
      let sum = CRC32(body).value
      let chunk =
        [0, 0, 0, UInt8(content.utf8.count)] + body
        + (0..<4).map { UInt8(truncatingIfNeeded: sum >> UInt32(24 - 8 * $0)) }
      #expect(try stripped(Array(png[..<33] + chunk + png[33...])) == stripped(png), "\(type)")
    }
  }

  /// A chunk of a PNG.
  private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    func number(_ value: UInt32) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
    }
    let body = Array(type.utf8) + content
    return number(UInt32(content.count)) + body + number(CRC32(body).value)
  }

  /// Decoders turn a picture by any whole number, and so the copy is turned as the original is.
  @Test func anOrientationStaysWhateverKindOfNumberItIs() throws {
    let short: [UInt8] = [0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0]
    let plain = try TestPictures.encode(TestPictures.pixels(storedFor: 6), as: "jpg")
    let picture = try TestPictures.tag(plain, "jpg", "-Orientation#=6")
    let place = try #require(
      picture.indices.dropLast(12).first { picture[$0..<$0 + 12].elementsEqual(short) })
    let upright = try TestPictures.decode(picture)
    for kind: UInt8 in [1, 4, 6, 8, 9] {
      var odd = picture
      odd[place + 2] = kind
      #expect(try TestPictures.decode(odd).bytes == upright.bytes, "\(kind)")
      #expect(try TestPictures.decode(stripped(odd)).bytes == upright.bytes, "\(kind)")
    }
  }

  /// Not all decoders look at what follows the pixels of a PNG.
  @Test func theOrientationOfAPNGStaysWhereItIs() throws {
    let png = try TestPictures.encode(TestPictures.pixels(), as: "png")
    let bare = try stripped(png)
    let turn = chunk(
      "eXIf",
      [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0])
    let camera = chunk("tEXt", Array("Model\0secret".utf8))
    for place in [33, bare.count - 12] {
      let turned = Array(bare[..<place] + turn + bare[place...])
      #expect(try stripped(Array(bare[..<place] + camera + turn + bare[place...])) == turned)
      #expect(try TestPictures.decode(stripped(turned)).width == TestPictures.decode(turned).width)
    }
  }

  @Test func aGIFWithoutItsEndGetsOne() throws {
    let gif = try stripped(try TestPictures.encode(TestPictures.pixels(), as: "gif"))
    #expect(try stripped(Array(gif.dropLast())) == gif)
    #expect(try stripped(Array(gif.dropLast()) + [0, 0, 0x3B]) == gif)
    let pixels = try TestPictures.decode(gif).bytes
    #expect(try TestPictures.decode(Array(gif.dropLast())).bytes == pixels)
  }

  @Test func whatFollowsAJPEGGoes() throws {
    let picture = try TestPictures.encode(TestPictures.pixels(), as: "jpg")
    let second = try TestPictures.jpeg(orientation: 1)
    let bare = try stripped(picture)
    #expect(try stripped(picture + second) == bare)
    #expect(try stripped(picture + Array("MotionPhoto_Data secret".utf8)) == bare)
  }

  @Test func animationsKeepTheirFrames() throws {
    for kind in TestPictures.animatedKinds {
      let picture = try TestPictures.make(TestPictures.pixels(), as: kind)
      let bare = try stripped(picture)
      let frames = try TestPictures.tags(of: picture).filter { $0.hasSuffix("FrameCount") }
      #expect(try TestPictures.tags(of: bare).filter { $0.hasSuffix("FrameCount") } == frames)
      #expect(try TestPictures.decode(bare).bytes == TestPictures.decode(picture).bytes)
    }
  }

  @Test func whatCannotBeFollowedIsRefused() throws {
    for kind in ["jpg", "png", "webp", "gif", "heic"] {
      let picture = try TestPictures.make(TestPictures.pixels(), as: kind)
      for length in [13, 40, picture.count / 2, picture.count - 2] {
        #expect(throws: StrippedPicture.Fault.self, "\(kind) \(length)") {
          try plan(Array(picture.prefix(length)))
        }
      }
    }
    for kind in ["tif", "jxl"] {
      let picture = try TestPictures.make(TestPictures.pixels(), as: kind)
      #expect(throws: StrippedPicture.Fault.unknownKind) { try plan(picture) }
    }
    #expect(throws: StrippedPicture.Fault.unknownKind) { try plan(Array("no picture at all".utf8)) }
    #expect(throws: StrippedPicture.Fault.unknownKind) { try plan([]) }
    // A film beside the picture has tables and dates of its own.
    let heic = try TestPictures.make(TestPictures.pixels(), as: "heic")
    #expect(throws: StrippedPicture.Fault.damaged) { try plan(heic + box("moov", [])) }
  }
}
