import AlbumModel
import Testing

/// What people say of a photo has a form that other programs can rely on.
@Suite struct PhotoNoteTests {
  private func accepts(_ note: PhotoNote, _ text: String) -> Bool { note.accepts(Array(text.utf8)) }

  @Test func valuesThatSaySomethingAreAccepted() {
    for (note, text) in [
      (PhotoNote.caption, "Grüße\naus Rom"), (.favourite, "1"), (.rating, "5"), (.rating, "-1"),
      (.tags, "a\nb c"), (.people, "Anna"), (.place, "48.137154,11.576124"),
      (.place, "-90,180,-12"), (.place, "+0.5,.5"),
    ] { #expect(accepts(note, text), "\(note) \(text)") }
  }

  @Test func othersAreRefused() {
    for (note, text) in [
      (PhotoNote.caption, ""), (.caption, "a\0b"), (.favourite, "yes"), (.favourite, "0"),
      (.rating, "0"), (.rating, "6"), (.rating, "05"), (.tags, "a\n\nb"), (.tags, "\n"),
      (.place, "48.1"), (.place, "91,0"), (.place, "0,181"), (.place, "1e1,2"), (.place, "a,b"),
      (.place, "1,2,3,4"), (.place, "nan,0"), (.place, "1,2,"),
    ] { #expect(!accepts(note, text), "\(note) \(text)") }
    #expect(!PhotoNote.caption.accepts([0xFF]))
  }

  @Test func aPlaceHasSixDigits() {
    for (latitude, longitude, altitude, text) in [
      (48.13715412, -11.5761239, 519.4 as Double?, "48.137154,-11.576124,519"),
      (-0.0000001, 0.1, nil, "0.000000,0.100000"), (-90, 180, -430.6, "-90.000000,180.000000,-431"),
    ] {
      let place = GeographicPlace(latitude: latitude, longitude: longitude, altitude: altitude)
      #expect(place?.text == text)
      #expect(place.flatMap { GeographicPlace($0.text) } != nil)
    }
    #expect(GeographicPlace(latitude: .nan, longitude: 0) == nil)
  }

  @Test func eachHasItsAttribute() {
    for note in PhotoNote.allCases {
      #expect(PhotoNote(attribute: Array("user.albumfs.\(note.rawValue)".utf8)) == note)
    }
    #expect(PhotoNote(attribute: Array("user.albumfs.taken".utf8)) == nil)
  }
}
