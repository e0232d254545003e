import AlbumTestSupport
import PictureMetadata
import Testing

/// The date of capture comes from EXIF data in the containers of cameras and phones. Damaged and hostile
/// pictures have none.
@Suite struct CaptureDateTests {
  private func date(_ bytes: [UInt8]) -> String? {
    CaptureDate.find(size: Int64(bytes.count)) { count, offset in
      offset < bytes.count ? Array(bytes[Int(offset)...].prefix(count)) : []
    }?.day
  }

  @Test func eachContainerHasItsDate() {
    #expect(date(ExifSamples.tiff()) == "2024-07-03")
    #expect(date(ExifSamples.tiff(isBigEndian: true)) == "2024-07-03")
    #expect(date(ExifSamples.jpeg()) == "2024-07-03")
    #expect(date(ExifSamples.heic()) == "2024-07-03")
  }

  /// The output of ExifTool, and libvips' HEIC and AVIF.
  @Test(arguments: ["jpg", "tif", "heic", "avif"])
  func otherProgramsDatesAreFound(format: String) throws {
    let plain = try TestPictures.encode(TestPictures.pixels(), as: format)
    #expect(date(plain) == nil)
    let tagged = try TestPictures.tag(plain, format, "-DateTimeOriginal=2019:12:31 23:59:59")
    #expect(date(tagged) == "2019-12-31")
  }

  @Test(arguments: [
    "0000:00:00 00:00:00", "    :  :     :  :  ", "2024:13:01 00:00:00", "2024:00:10 00:00:00",
    "2024-07-03 12:34:56", "20a4:07:03 12:34:56",
  ])
  func aClockThatWasNeverSetIsNoDate(text: String) {
    #expect(date(ExifSamples.jpeg(text)) == nil)
  }

  @Test func damagedPicturesAreRead() {
    for picture in [ExifSamples.tiff(), ExifSamples.jpeg(), ExifSamples.heic()] {
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
}
