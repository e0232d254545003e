import AlbumTestSupport
import Foundation
import PictureMetadata
import Testing

/// A picture without its metadata has the same pixels, turned the same way, with the same colours, and
/// nothing else. What cannot be followed is refused.
@Suite struct StrippedPictureTests {
  private func plan(_ bytes: [UInt8]) throws(StrippedPicture.Fault) -> StrippedPicture {
    try StrippedPicture.plan(size: Int64(bytes.count)) { count, offset in
      offset < bytes.count ? Array(bytes[Int(offset)...].prefix(count)) : []
    }
  }

  private func stripped(_ bytes: [UInt8]) throws(StrippedPicture.Fault) -> [UInt8] {
    let plan = try plan(bytes)
    let result = plan.pieces.flatMap { piece -> [UInt8] in
      switch piece {
      case .part(let part): Array(bytes[Int(part.lowerBound)..<Int(part.upperBound)])
      case .bytes(let bytes): bytes
      case .zeros(let count): [UInt8](repeating: 0, count: Int(count))
      }
    }
    #expect(Int64(result.count) == plan.size)
    return result
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

  @Test func theColourProfileStays() throws {
    for kind in ["jpg", "png", "webp"] {
      let picture = try TestPictures.encode(TestPictures.pixels(), as: "\(kind)[profile=srgb]")
      let (before, after) = (
        try TestPictures.tags(of: picture), try TestPictures.tags(of: stripped(picture))
      )
      #expect(before.contains { $0.hasPrefix("ICC") }, "\(kind)")
      #expect(before.filter { $0.hasPrefix("ICC") } == after.filter { $0.hasPrefix("ICC") })
    }
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
