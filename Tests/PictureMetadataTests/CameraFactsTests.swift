import AlbumModel
import AlbumTestSupport
import PictureMetadata
import Testing

/// Camera, lens and exposure come from EXIF data of any container. What is not stated, or is nonsense, is not
/// shown.
@Suite struct CameraFactsTests {
  private func facts(_ bytes: [UInt8]) -> CameraFacts {
    CameraFacts.find(size: Int64(bytes.count)) { count, offset in
      offset < bytes.count ? Array(bytes[Int(offset)...].prefix(count)) : []
    }
  }

  private func tagged(_ kind: String, _ tags: String...) throws -> CameraFacts {
    facts(try TestPictures.tag(TestPictures.make(TestPictures.pixels(), as: kind), kind, tags))
  }

  @Test(arguments: ["jpg", "png", "webp", "tif", "heic", "avif"])
  func eachContainerTells(kind: String) throws {
    let found = try tagged(
      kind, "-Make=NIKON CORPORATION", "-Model=NIKON Z 6", "-LensModel=NIKKOR Z 24-70mm f/4 S",
      "-ExposureTime=1/250", "-FNumber=5.6", "-ISO=200", "-FocalLength=35",
      "-FocalLengthIn35mmFormat=35", "-GPSLatitude=33.856784", "-GPSLatitudeRef=S",
      "-GPSLongitude=151.215297", "-GPSLongitudeRef=E")
    let place = try #require(found.place)
    #expect(abs(place.latitude + 33.856784) < 1e-5 && abs(place.longitude - 151.215297) < 1e-5)
    #expect(found.camera == "NIKON Z 6" && found.lens == "NIKKOR Z 24-70mm f/4 S")
    #expect(found.exposure == 1.0 / 250 && found.aperture == 5.6 && found.iso == 200)
    #expect(found.focalLength == 35 && found.focalLengthOn35mm == 35)
  }

  @Test func namesReadAsPeopleWriteThem() throws {
    #expect(try tagged("jpg", "-Make=Apple", "-Model=iPhone 15").camera == "Apple iPhone 15")
    #expect(try tagged("jpg", "-Make=Canon", "-Model=Canon EOS R5").camera == "Canon EOS R5")
    #expect(try tagged("jpg", "-Model=X-T5").camera == "X-T5")
    #expect(try tagged("jpg", "-Make=FUJIFILM").camera == "FUJIFILM")
    #expect(try tagged("jpg", "-Make=A  \u{7}B", "-Model= ").camera == "A B")
    #expect(
      try tagged("jpg", "-Make=\(String(repeating: "x", count: 5000))").camera?.utf8.count ?? 0
        <= 120)
  }

  @Test func aFilmSaysWhereItWasTakenAsPhonesWriteIt() {
    let name = "com.apple.quicktime.location.ISO6709"
    func apple(_ text: String) -> String? {
      facts(ExifSamples.film(stated: text, name: name)).place?.text
    }
    func android(_ text: String) -> String? {
      facts(ExifSamples.film(userPlace: text)).place?.text
    }
    for place in [apple, android] {
      #expect(place("+48.8584+002.2945+035.300/") == GeographicPlace("48.8584,2.2945,35.3")?.text)
      #expect(place("-33.8568+151.2153/") == GeographicPlace("-33.8568,151.2153")?.text)
      #expect(
        place("+27.5916+086.5640+8850CRSWGS_84/") == GeographicPlace("27.5916,86.564,8850")?.text)
      for wrong in [
        "", "/", "+48.8584", "+0+0/", "+00.0000+000.0000/", "48.8584+002.2945/", "+91+002/",
        "+4851.504+00217.670/", "+48.8.5+002/", "+48+2+3+4/", "+nan+inf/", "+-48+2/", "++/",
        "+1e2+1/",
      ] { #expect(place(wrong) == nil, "\(wrong)") }
    }
    // A length that is not the text's.
    var damaged = ExifSamples.film(userPlace: "+48.8584+002.2945/")
    let mark = damaged.indices.first { damaged[$0...].starts(with: Array("xyz".utf8)) } ?? 0
    for length: UInt8 in [0, 3, 255] {
      damaged[mark + 4] = length
      _ = facts(damaged)
    }
  }

  @Test func aPlaceIsOnTheEarthAndNotWhereCamerasWithoutOneAre() throws {
    func place(_ latitude: String, _ longitude: String) throws -> GeographicPlace? {
      try tagged(
        "jpg", "-GPSLatitude#=\(latitude)", "-GPSLatitudeRef=N", "-GPSLongitude#=\(longitude)",
        "-GPSLongitudeRef=W"
      ).place
    }
    #expect(try place("48.5", "11.25") == GeographicPlace("48.5,-11.25"))
    #expect(try place("0", "0") == nil && place("91", "11") == nil && place("48", "181") == nil)
    #expect(try tagged("jpg", "-GPSLatitude=48.1", "-GPSLatitudeRef=N").place == nil)
  }

  @Test func nonsenseIsNotShown() throws {
    let found = try tagged("jpg", "-ExposureTime=0", "-FNumber=0", "-FocalLength=0", "-ISO=0")
    #expect(found == CameraFacts())
    for picture in [ExifSamples.jpeg(), ExifSamples.heic(), [], Array("no picture".utf8)] {
      #expect(facts(picture) == CameraFacts())
    }
    let picture = try TestPictures.tag(
      TestPictures.encode(TestPictures.pixels(), as: "jpg"), "jpg", "-Make=Apple",
      "-ExposureTime=1/3")
    for length in stride(from: 0, to: min(picture.count, 400), by: 3) {
      _ = facts(Array(picture.prefix(length)))
    }
  }
}
