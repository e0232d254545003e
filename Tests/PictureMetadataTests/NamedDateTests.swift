import AlbumModel
import AlbumTestSupport
import PictureMetadata
import Testing

/// Phones, messengers and programs for screenshots write the date into the name. It counts where the content
/// states none.
@Suite struct NamedDateTests {
  private func date(_ name: String) -> String? { NamedDate.find(in: Array(name.utf8))?.text }

  @Test(
    "A name with date and time",
    arguments: [
      "IMG_20190505_121314.jpg", "VID_20190505_121314.mp4", "IMG_20190505_121314_1.jpg",
      "20190505_121314.jpg", "20190505_121314(0).jpg", "IMG20190505121314.jpg",
      "Screenshot_2019-05-05-12-13-14.png", "Screenshot_2019-05-05-12-13-14-123_com.app.jpg",
      "Screenshot_20190505-121314.png", "Screenshot_20190505_121314_Maps.jpg",
      "Screenshot 2019-05-05 at 12.13.14.png", "Screen Shot 2019-05-05 at 12.13.14 PM.png",
      "Screenshot 2019-05-05 at 12.13.14\u{202F}PM.png", "Screenshot from 2019-05-05 12-13-14.png",
      "Screenshot 2019-05-05 121314.png", "Bildschirmfoto 2019-05-05 um 12.13.14.png",
      "Capture d’écran 2019-05-05 à 12.13.14.png", "signal-2019-05-05-121314.jpg",
      "signal-2019-05-05-12-13-14-123.jpg", "photo_2019-05-05_12-13-14.jpg",
      "2019-05-05 12.13.14.jpg", "2019-05-05 12.13.14-2.jpg", "20190505T121314.heic",
      "WhatsApp Image 2019-05-05 at 12.13.14.jpeg", "WP_20190505_12_13_14_Pro.jpg",
      "00100lPORTRAIT_00100_BURST20190505121314123_COVER.jpg", "MVIMG_20190505_121314.jpg",
      "PANO_20190505_121314.vr.jpg", "lv_0_20190505121314.mp4", "DJI_20190505121314_0001_D.JPG",
      "C360_2019-05-05-12-13-14-123.jpg", "IMG_20190505_121314123_HDR.jpg",
    ])
  func dateAndTime(name: String) { #expect(date(name) == "2019-05-05T12:13:14") }

  @Test(
    "A name with the date alone",
    arguments: [
      "IMG-20190505-WA0001.jpg", "VID-20190505-WA0012.mp4", "WP_20190505_001.jpg",
      "2019-05-05 Garden.jpg", "Garden 2019-05-05.png", "20190505_garden.jpg", "2019_05_05.jpg",
      "Screenshot 2019-05-05 at 25.13.14.png",
    ])
  func dateAlone(name: String) { #expect(date(name) == "2019-05-05T00:00:00") }

  @Test func aTimeInUTCIsKnownAsSuch() {
    #expect(date("PXL_20190505_121314123.jpg") == "2019-05-05T12:13:14+00:00")
    #expect(date("PXL_20190505_121314123.MP.jpg") == "2019-05-05T12:13:14+00:00")
    #expect(date("FB_IMG_1557058394123.jpg") == "2019-05-05T12:13:14+00:00")
    #expect(date("mmexport1557058394123.jpg") == "2019-05-05T12:13:14+00:00")
    let found = FileDate(in: Array("PXL_20190505_233000123.jpg".utf8))
    #expect(found?.isWorldTime == true)
    #expect(found?.local(offset: 120).text == "2019-05-06T01:30:00+02:00")
  }

  @Test func theAfternoonOfAClockWithTwelveHours() {
    #expect(date("Screen Shot 2019-05-05 at 1.02.03 PM.png") == "2019-05-05T00:00:00")
    #expect(date("Screen Shot 2019-05-05 at 01.02.03 PM.png") == "2019-05-05T13:02:03")
    #expect(date("Screen Shot 2019-05-05 at 12.02.03 am.png") == "2019-05-05T00:02:03")
  }

  @Test(
    "What is no date never counts",
    arguments: [
      "IMG_1234.jpg", "IMG_20191305_121314.jpg", "IMG_20190230_121314.jpg",
      "IMG-20190500-WA0001.jpg", "IMG-20190505.jpg", "DSC20190505.jpg", "00000000.jpg",
      "12345678901234567890.jpg", "120190505_121314.jpg", "IMG_20190505_1213145678.jpg",
      "Screenshot 2019-15-05 at 12.13.14.png", "2019-05-055.jpg", "20195_0505.jpg", "",
      "FB_IMG_155705839412.jpg", "IMG_20190505_256199.jpg", "10205052123456_n.jpg", "1.2.3",
      "Report 17000101.pdf", "99999999_999999.jpg",
    ])
  func noDate(name: String) { #expect(date(name) == nil) }

  /// Whatever a name is, its date is one that a calendar has.
  @Test func anyNameHasADateOrNone() {
    var random = SystemRandomNumberGenerator()
    let pieces = [
      "2019", "05", "31", "-", "_", "12", "99", "PM", "PXL_", "WP_", "FB_IMG_", "-WA", " at ",
    ]
    for _ in 0..<5000 {
      let name = (0..<10).map { _ in pieces.randomElement(using: &random)! }.joined()
      if let found = NamedDate.find(in: Array(name.utf8)) {
        #expect(CaptureTime(Array(found.text.utf8)) == found, "\(name)")
      }
    }
  }

  @Test func theContentGoesFirst() {
    let picture = ExifSamples.jpeg()
    let found = FileDate(size: Int64(picture.count)) { count, offset in
      Array(picture.dropFirst(Int(offset)).prefix(count))
    }
    #expect(found?.time.text == "2024-07-03T12:34:56" && found?.isWorldTime == false)
  }

  @Test func theNameOfAFilmTellsTheLocalClockOfItsUTC() throws {
    let stated = FileDate(
      stated: try #require(CaptureTime(Array("2019-05-05T21:30:00+00:00".utf8))), isFilm: true)
    #expect(stated.isWorldTime)
    func day(_ name: String) -> String {
      stated.refined(by: Array(name.utf8)).day(beside: KnownOffsets(of: [])) { _ in "machine's" }
    }
    #expect(day("VID_20190506_003000.mp4") == "2019-05-06")
    #expect(day("VID_20190509_003000.mp4") == "machine's")
    #expect(day("MVI_1234.mp4") == "machine's")
  }

  @Test func theNearestPhotoTellsTheZoneOfAFilm() throws {
    func date(_ text: String, isFilm: Bool = false) throws -> FileDate {
      FileDate(stated: try #require(CaptureTime(Array(text.utf8))), isFilm: isFilm)
    }
    let film = try date("2019-05-05T23:30:00+00:00", isFilm: true)
    let berlin = try date("2019-05-05T20:00:00+02:00")
    let tokyo = try date("2019-05-06T08:00:00+09:00")
    let honolulu = try date("2019-05-01T08:00:00-10:00")
    let unknown = try date("2019-05-05T23:30:00")
    func day(_ photos: FileDate...) -> String {
      film.day(beside: KnownOffsets(of: photos)) { "machine's at \($0)" }
    }
    #expect(day(berlin, honolulu) == "2019-05-06")
    #expect(day(try date("2019-05-05T19:00:00-03:00"), tokyo) == "2019-05-06")
    #expect(
      day(try date("2019-05-05T20:20:00-03:00"), try date("2019-05-05T01:00:00+09:00"))
        == "2019-05-05")
    #expect(day(honolulu, unknown, film) == "machine's at 1557099000")
  }
}
