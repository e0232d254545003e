import AlbumModel
import Testing

/// The one attribute that has everything that a mount knows of a photo.
struct KnownFactsTests {
  @Test func itHasEveryValueAndNothingElse() throws {
    let values = [
      "taken": "2019-06-05T12:33:10", "dimensions": "4000x3000", "duration": "12.480",
      "camera": "Apple iPhone 15 Pro", "lens": "EF 24-70", "caption": "a=b\nc", "favourite": "1",
      "rating": "-1", "tags": "one\ntwo", "people": "Anna", "place": "48.1,11.5",
      "dhash": "00000000000000018000000000000002",
    ]
    let bytes = try #require(KnownFacts.value { values[$0].map { Array($0.utf8) } })
    let facts = KnownFacts(bytes)
    #expect(facts.taken?.text == values["taken"] && facts.dimensions?.text == "4000x3000")
    #expect(facts.duration?.milliseconds == 12_480 && facts.camera == values["camera"])
    #expect(facts.lens == "EF 24-70" && facts.caption == "a=b\nc" && facts.isFavourite)
    #expect(facts.rating == -1 && facts.tags == ["one", "two"] && facts.people == ["Anna"])
    #expect(facts.place == GeographicPlace("48.1,11.5"))
    #expect(facts.hash == PictureHash(rows: 1, columns: 1 << 63 | 2))
    #expect(KnownFacts.value { _ in nil } == nil)
    #expect(KnownFacts(Array("nonsense\0unknown=1\0rating=many\0".utf8)) == KnownFacts())
  }

  @Test func itFitsIntoWhatTheKernelPasses() throws {
    let long = [UInt8](repeating: 0x61, count: 60_000)
    let bytes = try #require(
      KnownFacts.value { ["caption", "tags", "people", "place"].contains($0) ? long : nil })
    #expect(bytes.count < 32 << 10)
  }

  @Test func theNameOfACameraIsOneVisibleLine() {
    for good in ["NIKON D850", "ソニー", "X"] { #expect(CameraName(good) != nil, "\(good)") }
    for bad in [
      "", " X", "X ", "a  b", "a\nb", "\u{1b}[2J", "a\u{202e}b", String(repeating: "x", count: 121),
    ] {
      #expect(CameraName(bad) == nil, "\(bad)")
    }
    #expect(CameraName([0xFF]) == nil)
  }
}
