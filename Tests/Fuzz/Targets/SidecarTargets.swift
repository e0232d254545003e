import AlbumModel
import PhotoGroups
import PictureMetadata

@testable import albumfs

/// A packet of XMP beside a photo.
enum XMPNotesTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let packets = [
      """
      <rdf:RDF><rdf:Description xmp:Rating="4" exif:DateTimeOriginal="2019-05-05T12:13:14"><dc:subject><rdf:Bag>\
      <rdf:li>Rome</rdf:li></rdf:Bag></dc:subject><dc:description><rdf:Alt><rdf:li xml:lang="x-default">\
      A &amp; B &#x41;</rdf:li></rdf:Alt></dc:description></rdf:Description></rdf:RDF>
      """,
      "<rdf:RDF><xmp:Rating>-1</xmp:Rating><lr:hierarchicalSubject><rdf:li>a|b</rdf:li></lr:hierarchicalSubject>",
    ]
    return packets.map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    guard let notes = XMPNotes(bytes) else { return }
    require(notes.tags.count <= 1000, "tags are bounded")
    for (note, text) in SidecarFacts(notes).notes {
      require(note.accepts(Array(text.utf8)), "a space accepts what a sidecar says")
    }
  }
}

/// The JSON of Google Takeout.
enum GoogleJSONTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let texts = [
      """
      {"title": "a.jpg", "description": "b", "photoTakenTime": {"timestamp": "1557058394"}, "favorited": true,
       "geoData": {"latitude": 48.1, "longitude": 11.5, "altitude": 5}, "people": [{"name": "Anna"}]}
      """,
      "{\"title\": \"Rome\", \"date\": {\"timestamp\": \"1\"}, \"access\": \"protected\"}",
    ]
    return texts.map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    if let title = GoogleJSON.albumTitle(bytes), let name = Takeout.albumName(title) {
      require(!name.isHidden, "an album is not hidden")
    }
    for (note, text) in GoogleJSON.facts(bytes)?.notes ?? [:] {
      require(note.accepts(Array(text.utf8)), "a space accepts what a sidecar says")
    }
  }
}

/// Names of files: the dates in them, and which belong together. One name a line.
enum FileNamesTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let lists = [
      "IMG_1234.HEIC\nIMG_1234.MOV\nIMG_E1234.HEIC\nIMG_O1234.AAE\nIMG_1234.HEIC.xmp",
      "IMG_1(1).jpg\nIMG_1.jpg(1).json\nIMG_1-edited(1).jpg\nIMG_1.jpg.supplemental-me.json",
      "IMG_20190505_121314.jpg\nScreenshot 2019-05-05 at 12.13.14 PM.png\nFB_IMG_1557058394123.jpg",
    ]
    return lists.map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    let names = bytes.split(separator: UInt8(ascii: "\n")).prefix(50)
      .compactMap { try? FileName(Array($0)) }
    for name in names {
      guard let date = NamedDate.find(in: name.bytes) else { continue }
      require(CaptureTime(Array(date.text.utf8)) == date, "a date has one spelling")
    }
    let groups = PhotoGrouping.groups(of: names)
    let places = groups.flatMap { $0.members.map(\.place) }
    require(places.sorted() == Array(names.indices), "every file is in one group")
    for member in groups.flatMap(\.members) {
      let numbered = member.name.numbered(7)
      require(1...FileName.maximumLength ~= numbered.bytes.count, "a numbered name is a name")
      _ = member.name.following(FileName(literal: "holiday.jpg"))
    }
  }
}
