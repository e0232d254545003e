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
      ExifSamples.cr3(), ExifSamples.fujifilm(), ExifSamples.photoshop(),
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
    ("xap:CreateDate=\"2003-05-04T12:33:10Z\"", "2003-05-04T12:33:10+00:00"),
    (
      "xmp:CreateDate=\"2020-01-01\" exif:DateTimeOriginal=\"2019-01-01T10:00:00-03:30\"",
      "2019-01-01T10:00:00-03:30"
    ),
  ])
  func xmpTellsWhereEXIFDoesNot(property: String, text: String) {
    for picture in [
      ExifSamples.jpeg(xmp: ExifSamples.xmp(property)),
      ExifSamples.png(xmp: ExifSamples.xmp(property)),
      ExifSamples.photoshop(xmp: ExifSamples.xmp(property)),
      ExifSamples.gif(xmp: ExifSamples.xmp(property)),
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

  @Test(arguments: ["jpg", "png", "webp", "gif", "tif", "heic", "avif"])
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

  /// Photoshop's files as ImageMagick and ExifTool write them.
  @Test func photoshopFilesOfOtherProgramsHaveTheirDate() throws {
    let plain = try TestPictures.make(TestPictures.pixels(), as: "plain:psd")
    #expect(date(plain) == nil)
    let tagged = try TestPictures.tag(
      plain, "psd", "-XMP-photoshop:DateCreated=2019:12:31 23:59:59")
    #expect(time(tagged)?.text == "2019-12-31T23:59:59")
    let exif = try TestPictures.tag(tagged, "psd", "-EXIF:DateTimeOriginal=2018:01:02 03:04:05")
    #expect(time(exif)?.text == "2018-01-02T03:04:05", "EXIF goes first")
  }

  /// EXIF data in a PNG as ImageMagick wrote them before PNG had a chunk for them.
  @Test(arguments: [false, true])
  func aPNGsOldProfileHasItsDate(isPacked: Bool) {
    func big(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }
    let exif = Array("Exif\0\0".utf8) + ExifSamples.tiff()
    let digits = exif.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    var text = Array(
      "\nexif\n    \(exif.count)\n\(digits.prefix(72))\n\(digits.dropFirst(72))\n".utf8)
    if isPacked {
      // A single stretch that is stored as it is, and its checksum (RFC 1950 and 1951).
      let (low, high) = text.reduce((1, 0)) { sums, byte in
        let low = (sums.0 + Int(byte)) % 65521
        return (low, (sums.1 + low) % 65521)
      }
      let length = [UInt8(text.count & 0xFF), UInt8(text.count >> 8)]
      let head: [UInt8] = [0, 0x78, 0x01, 1] + length + length.map { ~$0 }
      text = head + text + big(high << 16 | low)
    }
    let content = Array("Raw profile type exif\0".utf8) + text
    let type = Array((isPacked ? "zTXt" : "tEXt").utf8)
    let picture =
      [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + big(content.count) + type + content
      + big(0)
    #expect(date(picture) == "2024-07-03")
    for length in 8..<picture.count { _ = date(Array(picture.prefix(length))) }
  }

  // MARK: Films

  @Test(arguments: [
    ("IDIT", "Wed Aug 17 11:42:43 2005\n", "2005-08-17T11:42:43"),
    ("IDIT", "a b c d e", nil), ("IDIT", "2005:08:17 11:42:43", "2005-08-17T11:42:43"),
    ("IDIT", "2005/08/17/ 11:42", "2005-08-17T11:42:00"),
    ("ICRD", "2005-08-17", "2005-08-17T00:00:00"),
    ("ICRD", "2005", nil), ("ISFT", "2005-08-17", nil),
  ])
  func anAVITellsItsDate(chunk: String, text: String, expected: String?) {
    let list = chunk == "IDIT" ? "hdrl" : "INFO"
    let content =
      Array(list.utf8) + self.chunk("avih", [1, 2, 3]) + self.chunk(chunk, Array(text.utf8))
    let other = self.chunk(
      "LIST", Array("movi".utf8) + self.chunk("IDIT", Array("2001-01-01".utf8)))
    let film = self.chunk("RIFF", Array("AVI ".utf8) + other + self.chunk("LIST", content))
    #expect(time(film)?.text == expected)
    for length in 0..<film.count { _ = time(Array(film.prefix(length))) }
  }

  /// A chunk of RIFF.
  private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let length = [UInt8(content.count & 0xFF), UInt8(content.count >> 8), 0, 0]
    return Array(type.utf8) + length + content + [UInt8](repeating: 0, count: content.count % 2)
  }

  @Test func filmsOfFFmpegHaveTheirDate() throws {
    let plain = try TestVideos.mp4()
    let apple = try TestVideos.copy(
      plain, "mov", "-movflags", "use_metadata_tags", "-metadata",
      "com.apple.quicktime.creationdate=2021-05-06T20:08:09+1300")
    #expect(time(apple)?.text == "2021-05-06T20:08:09+13:00")
    let matroska = try TestVideos.copy(
      plain, "mkv", "-metadata", "creation_time=2021-05-06T07:08:09Z")
    #expect(time(matroska)?.text == "2021-05-06T07:08:09+00:00")
    #expect(time(try TestVideos.copy(plain, "mkv")) == nil)
    let avi = try TestVideos.copy(plain, "avi", "-metadata", "date=2021-05-06")
    #expect(time(avi)?.text == "2021-05-06T00:00:00")
  }

  /// 2024-07-03 12:34:56 in UTC.
  private static let created: UInt64 = 1_720_010_096
  private static let from1904: UInt64 = 2_082_844_800

  @Test func aFilmTellsItsDate() {
    let counted = Self.created + Self.from1904
    #expect(time(ExifSamples.film(created: counted))?.text == "2024-07-03T12:34:56+00:00")
    #expect(
      time(ExifSamples.film(created: counted, isLong: true))?.text == "2024-07-03T12:34:56+00:00")
    // Some cameras count from 1970.
    #expect(time(ExifSamples.film(created: Self.created))?.text == "2024-07-03T12:34:56+00:00")
    for brand in ["qt  ", nil] {
      let film = ExifSamples.film(
        brand: brand, created: counted, stated: "2024-07-04T01:34:56+1300")
      #expect(time(film)?.text == "2024-07-04T01:34:56+13:00", "the local date goes first")
    }
  }

  @Test(arguments: [
    (951_782_400, "2000-02-29T00:00:00+00:00"), (951_868_800, "2000-03-01T00:00:00+00:00"),
    (1_704_067_199, "2023-12-31T23:59:59+00:00"), (1_709_251_199, "2024-02-29T23:59:59+00:00"),
    (1, "1970-01-01T00:00:01+00:00"),
  ])
  func theDaysOfAFilmAreThoseOfTheCalendar(seconds: Int, text: String) {
    let film = ExifSamples.film(created: UInt64(seconds) + Self.from1904)
    #expect(time(film)?.text == text)
  }

  @Test func aFilmWithoutADateHasNone() {
    #expect(time(ExifSamples.film()) == nil)
    #expect(time(ExifSamples.film(created: UInt64.max, isLong: true)) == nil)
    #expect(time(ExifSamples.film(stated: "yesterday")) == nil)
  }

  /// An animation's container says when it was encoded, which is not when the picture was taken.
  @Test(arguments: ["avis", "heic", "crx "])
  func aPicturesOwnFilmIsNoDate(brand: String) {
    #expect(time(ExifSamples.film(brand: brand, created: Self.created + Self.from1904)) == nil)
  }

  /// The words of containers, and FFmpeg's, and what they mean; nil for what is no date.
  @Test(arguments: [
    ("2021-05-06T07:08:09.000000Z", "2021-05-06T07:08:09+00:00"),
    ("2021-05-06T07:08:09+0200", "2021-05-06T07:08:09+02:00"),
    ("2021-05-06T07:08:09", "2021-05-06T07:08:09"),
    ("", nil), ("yesterday", nil), ("2021-05-06", nil), ("2021-13-06T07:08:09Z", nil),
  ])
  func datesOfContainers(_ tag: String, _ expected: String?) {
    #expect(CaptureTime(movie: Array(tag.utf8))?.text == expected)
  }

  @Test func filmsOfOtherProgramsHaveTheirDate() throws {
    for name in ["mp4", "mov", "3gp", "m4v"] {
      let options = try #require(TestVideos.kinds.first { $0.extension == name }).options
      let plain = try TestVideos.make(name, options)
      #expect(time(plain) == nil)
      let film = try TestVideos.copy(plain, name, "-metadata", "creation_time=2021-05-06T07:08:09Z")
      #expect(time(film)?.text == "2021-05-06T07:08:09+00:00")
      let apple = try TestPictures.tag(film, name, "-Keys:CreationDate=2021:05:06 20:08:09+13:00")
      #expect(time(apple)?.text == "2021-05-06T20:08:09+13:00")
      let tagged = try TestPictures.tag(
        film, name, "-XMP-exif:DateTimeOriginal=2019:12:31 23:59:59")
      #expect(time(tagged)?.text == "2019-12-31T23:59:59", "XMP goes first")
    }
  }

  @Test func damagedPicturesAreRead() {
    for picture in [
      ExifSamples.tiff(), ExifSamples.jpeg(), ExifSamples.heic(), ExifSamples.png(),
      ExifSamples.webp(), ExifSamples.jpegXL(), ExifSamples.cr3(), ExifSamples.fujifilm(),
      ExifSamples.jpeg(xmp: ExifSamples.xmp()), ExifSamples.photoshop(),
      ExifSamples.gif(xmp: ExifSamples.xmp()),
      ExifSamples.film(created: Self.created, stated: "2024-07-04T01:34:56+1300"),
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
