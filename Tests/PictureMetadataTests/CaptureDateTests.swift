import AlbumModel
import AlbumTestSupport
import PictureMetadata
import Testing

/// The date of capture comes from EXIF data in the containers of cameras and phones. Damaged and hostile
/// pictures have none.
@Suite struct CaptureDateTests {
  private func date(_ bytes: [UInt8]) -> String? { time(bytes)?.day }

  private func time(_ bytes: [UInt8]) -> CaptureTime? {
    CaptureDate.find(size: Int64(bytes.count)) { count, offset in
      offset < bytes.count ? Array(bytes[Int(offset)...].prefix(count)) : []
    }
  }

  @Test func eachContainerHasItsDate() {
    #expect(date(ExifSamples.tiff()) == "2024-07-03")
    #expect(date(ExifSamples.tiff(isBigEndian: true)) == "2024-07-03")
    #expect(date(ExifSamples.jpeg()) == "2024-07-03")
    #expect(date(ExifSamples.heic()) == "2024-07-03")
    for picture in [
      ExifSamples.png(), ExifSamples.webp(), ExifSamples.jpegXL(), ExifSamples.jpeg2000(),
      ExifSamples.cr3(), ExifSamples.fujifilm(),
    ] {
      #expect(time(picture)?.text == "2024-07-03T12:34:56")
      #expect(CaptureDate.find(in: picture.span) == time(picture))
    }
  }

  @Test(arguments: [
    ("exif:DateTimeOriginal=\"2023-05-04T12:33:10.25+02:00\"", "2023-05-04T12:33:10+02:00"),
    ("photoshop:DateCreated = '2023-05-04T12:33'", "2023-05-04T12:33:00"),
    ("xmp:CreateDate=\"2023-05-04\"", "2023-05-04T00:00:00"),
    ("><xmp:CreateDate>2023-05-04T12:33:10Z</xmp:CreateDate><x", "2023-05-04T12:33:10+00:00"),
    (
      "xmp:CreateDate=\"2020-01-01\" exif:DateTimeOriginal=\"2019-01-01T10:00:00-03:30\"",
      "2019-01-01T10:00:00-03:30"
    ),
  ])
  func xmpTellsWhereEXIFDoesNot(property: String, text: String) {
    for picture in [
      ExifSamples.jpeg(xmp: ExifSamples.xmp(property)),
      ExifSamples.png(xmp: ExifSamples.xmp(property)),
    ] {
      #expect(time(picture)?.text == text)
    }
  }

  @Test(arguments: [
    "xmp:CreateDate=\"2023-13-04\"", "xmp:CreateDate=\"2023-02-30T10:00:00\"",
    "xmp:CreateDate=\"\"",
    "xmp:CreateDate", "xmp:CreateDate=2023-05-04", "xmp:ModifyDate=\"2023-05-04\"",
    "xmp:CreateDate=\"2023-05-04Tnoon\"",
  ])
  func whatIsNoDateOfXMPIsNone(property: String) {
    #expect(time(ExifSamples.jpeg(xmp: ExifSamples.xmp(property))) == nil)
  }

  /// The output of ExifTool, and libvips' HEIC and AVIF.
  @Test(arguments: ["jpg", "tif", "heic", "avif"])
  func otherProgramsDatesAreFound(format: String) throws {
    let plain = try TestPictures.encode(TestPictures.pixels(), as: format)
    #expect(date(plain) == nil)
    let tagged = try TestPictures.tag(plain, format, "-DateTimeOriginal=2019:12:31 23:59:59")
    #expect(date(tagged) == "2019-12-31")
    let zoned = try TestPictures.tag(
      tagged, format, "-OffsetTimeOriginal=+02:00", "-XMP:DateTimeOriginal=2001:01:01 00:00:00")
    #expect(time(zoned)?.text == "2019-12-31T23:59:59+02:00", "EXIF goes first")
  }

  @Test(arguments: ["jpg", "png", "webp", "tif", "heic", "avif"])
  func xmpOfOtherProgramsIsFound(format: String) throws {
    let plain = try TestPictures.encode(TestPictures.pixels(), as: format)
    let tagged = try TestPictures.tag(
      plain, format, "-XMP-photoshop:DateCreated=2019:12:31 23:59:59")
    #expect(time(tagged)?.text == "2019-12-31T23:59:59")
  }

  @Test(arguments: [
    "0000:00:00 00:00:00", "    :  :     :  :  ", "2024:13:01 00:00:00", "2024:00:10 00:00:00",
    "2024-07-03 12:34:56", "20a4:07:03 12:34:56",
  ])
  func aClockThatWasNeverSetIsNoDate(text: String) {
    #expect(date(ExifSamples.jpeg(text)) == nil)
  }

  @Test func damagedPicturesAreRead() {
    for picture in [
      ExifSamples.tiff(), ExifSamples.jpeg(), ExifSamples.heic(), ExifSamples.png(),
      ExifSamples.webp(), ExifSamples.jpegXL(), ExifSamples.cr3(), ExifSamples.fujifilm(),
      ExifSamples.jpeg(xmp: ExifSamples.xmp()),
    ] {
      for length in 0..<picture.count { _ = date(Array(picture.prefix(length))) }
      for place in picture.indices {
        for value: UInt8 in [0, 1, 0x7F, 0xFF] {
          var damaged = picture
          damaged[place] = value
          _ = date(damaged)
        }
      }
    }
  }

  /// Four thousand million stretches in 400 KB: this ends only because they are skipped at once.
  @Test func stretchesWithoutBytesTakeNoTime() {
    #expect(date(ExifSamples.heicOfEmptyStretches()) == nil)
  }
}
