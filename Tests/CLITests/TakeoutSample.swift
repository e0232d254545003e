import AlbumTestSupport
import Foundation

/// A made Google Takeout, in parts, with what Google's export is known to do to names, folders and JSON files.
struct TakeoutSample {
  /// What a photo should be in an album.
  struct Wanted {
    /// Below the album of the import.
    var path: String
    /// Seconds since 1970; nil if nothing states them.
    var seconds: Int?
    /// True if the file itself states its date.
    var isStated = false
    var notes: [String: String] = [:]
  }

  private(set) var wanted: [Wanted] = []
  private let scratch: ImportScratch
  /// The parts that files come into by turns, so that a photo and its JSON are apart.
  private let parts: Int
  private var count = 0
  private static let first = 1_557_058_394

  init(in scratch: ImportScratch, parts: Int, photosOfEachKind: Int) throws {
    (self.scratch, self.parts) = (scratch, parts)
    for round in 0..<photosOfEachKind {
      try plainNames(round)
      try numberedNames(round)
      try cutNames(round)
      try twins(round)
      try dates(round)
      try notes(round)
      try albums(round)
      try damage(round)
    }
    try put("archive_browser.html", "<html>".utf8)
    try put("Google Photos/print-subscriptions.json", "{}".utf8)
  }

  func part(_ number: Int) -> String { "part\(number)" }

  var partNames: [String] { (0..<parts).map(part) }

  // MARK: Files

  private mutating func put(_ path: String, _ content: some Sequence<UInt8>) throws {
    count += 1
    // The day of the export.
    try scratch.put("\(part(count % parts))/Takeout/\(path)", content, modified: 1_700_000_000)
  }

  private func seconds(_ photo: Int) -> Int { TakeoutSample.first + photo * 90_000 }

  private func year(_ seconds: Int) -> String {
    "Photos from \(1970 + seconds / 31_556_952)"
  }

  private static let nothing =
    "\"description\": \"\", \"geoData\": {\"latitude\": 0.0, \"longitude\": 0.0, \"altitude\": 0.0}"

  private static func json(
    _ title: String, _ seconds: String, _ more: String = nothing
  ) -> String {
    """
    {"title": "\(title)", "imageViews": "3", \(more),
     "creationTime": {"timestamp": "1700000000", "formatted": "14 Nov 2023, 22:13:20 UTC"},
     "photoTakenTime": {"timestamp": "\(seconds)", "formatted": "some words"}}
    """
  }

  /// A photo and its JSON in the folder of a year. Returns its content.
  @discardableResult
  private mutating func photo(
    _ name: String, json: String, title: String? = nil, at seconds: Int, more: String = nothing,
    notes: [String: String] = [:], content: [UInt8]? = nil, isStated: Bool = false
  ) throws -> [UInt8] {
    let content = content ?? Array("\(name) of \(seconds) \(count)".utf8)
    try put("Google Photos/\(year(seconds))/\(name)", content)
    try put(
      "Google Photos/\(year(seconds))/\(json)",
      TakeoutSample.json(title ?? name, "\(seconds)", more).utf8)
    wanted.append(
      Wanted(
        path: "\(year(seconds))/Photo/\(name)", seconds: seconds, isStated: isStated, notes: notes))
    return content
  }

  // MARK: Names

  private mutating func plainNames(_ round: Int) throws {
    let time = seconds(round)
    try photo("IMG_\(round)a.jpg", json: "IMG_\(round)a.jpg.json", at: time)
    try photo("IMG_\(round)b.JPG", json: "IMG_\(round)b.JPG.supplemental-metadata.json", at: time)
    try photo("IMG_\(round)c.png", json: "IMG_\(round)c.json", at: time)
    try photo(
      "Gärten & Höfe \(round)_.jpg", json: "Gärten & Höfe \(round)_.jpg.json",
      title: "Gärten & Höfe \(round)?.jpg", at: time)
  }

  private mutating func numberedNames(_ round: Int) throws {
    let (one, two) = (seconds(round), seconds(round) + 60)
    try photo("DSC_\(round)a.jpg", json: "DSC_\(round)a.jpg.json", at: one)
    try photo(
      "DSC_\(round)a(1).jpg", json: "DSC_\(round)a.jpg(1).json", title: "DSC_\(round)a.jpg", at: two
    )
    try photo("DSC_\(round)b.jpg", json: "DSC_\(round)b.jpg.supplemental-metadata.json", at: one)
    try photo(
      "DSC_\(round)b(1).jpg", json: "DSC_\(round)b.jpg.supplemental-metadata(1).json",
      title: "DSC_\(round)b.jpg", at: two)
  }

  private mutating func cutNames(_ round: Int) throws {
    let time = seconds(round)
    let long = "\(100 + round) Ein Bild mit einem sehr langen Namen im Garten"
    try photo("\(long).jpg", json: "\(String(long.prefix(46))).json", at: time)
    let middle = "Ein Bild mit langem Namen \(100 + round).jpg"
    let whole = "\(middle).supplemental-metadata"
    try photo(middle, json: "\(String(whole.prefix(46))).json", at: time)
    let film = "\(1000 + round) Eine Aufnahme mit bewegtem Bild aus Rom"
    try photo("\(film).HEIC", json: "\(String("\(film).HEIC".prefix(46))).json", at: time)
    try put("Google Photos/\(year(time))/\(film).MP4", "film \(round)".utf8)
    wanted.append(Wanted(path: "\(year(time))/Photo/\(film).MP4", seconds: time))
  }

  /// Edited twins and films have no JSON of their own.
  private mutating func twins(_ round: Int) throws {
    let time = seconds(round)
    for (twin, number) in [
      ("IMG_\(round)t-edited.jpg", ""), ("IMG_\(round)t-edited(1).jpg", "(1)"),
    ] {
      try photo(
        "IMG_\(round)t\(number).jpg", json: "IMG_\(round)t.jpg\(number).json",
        title: "IMG_\(round)t.jpg", at: time)
      try put("Google Photos/\(year(time))/\(twin)", "edited \(round)\(number)".utf8)
      wanted.append(Wanted(path: "\(year(time))/Photo/\(twin)", seconds: time))
    }
    try photo("IMG_\(round)l.HEIC", json: "IMG_\(round)l.HEIC.supplemental-metadata.json", at: time)
    try put("Google Photos/\(year(time))/IMG_\(round)l.MOV", "live film \(round)".utf8)
    wanted.append(Wanted(path: "\(year(time))/Photo/IMG_\(round)l.MOV", seconds: time))
  }

  // MARK: Facts

  private mutating func dates(_ round: Int) throws {
    let time = seconds(round)
    func exif(_ seconds: Int) -> [UInt8] {
      let format = DateFormatter()
      format.locale = Locale(identifier: "en_US_POSIX")
      format.timeZone = TimeZone(secondsFromGMT: 7200)
      format.dateFormat = "yyyy:MM:dd HH:mm:ss"
      return ExifSamples.jpeg(format.string(from: Date(timeIntervalSince1970: Double(seconds))))
        + Array("\(round)".utf8)
    }
    try photo(
      "IMG_\(round)x.jpg", json: "IMG_\(round)x.jpg.json", at: time, content: exif(time),
      isStated: true)
    // Its date was corrected in Google Photos.
    try photo(
      "IMG_\(round)y.jpg", json: "IMG_\(round)y.jpg.json", at: time,
      content: exif(time + 86_400 * 400))
    try photo("IMG_\(round)z.jpg", json: "IMG_\(round)z.jpg.json", at: -90_000_000 - round)
  }

  private mutating func notes(_ round: Int) throws {
    try photo(
      "IMG_\(round)n.jpg", json: "IMG_\(round)n.jpg.json", at: seconds(round),
      more: """
        "description": "Grüße aus\\n\\"München\\" \(round)", "favorited": true,
        "geoData": {"latitude": 48.1371540, "longitude": -11.5761240, "altitude": 519.4},
        "people": [{"name": "Anna"}, {"name": "Björn K."}, {"name": ""}, 7]
        """,
      notes: [
        "caption": "Grüße aus\n\"München\" \(round)", "favourite": "1",
        "place": "48.137154,-11.576124,519", "people": "Anna\nBjörn K.",
      ])
  }

  // MARK: Folders

  /// An album with the photo and no JSON, one with the JSON and no photo, one with both.
  private mutating func albums(_ round: Int) throws {
    let time = seconds(round)
    let title = "A long title of an album that Google cuts: Rome, Naples/Capri \(round)"
    let folder = "Google Photos/A long title of an album that Google cuts_ Rom_\(round)"
    try put(
      "\(folder)/metadata.json",
      Array(
        """
        {"title": "\(title)", "description": "", "access": "protected",
         "date": {"timestamp": "1557058394", "formatted": "5 May 2019"}}
        """.utf8))
    let album = title.replacing("/", with: "_")
    for name in ["ALB_\(round)p.jpg", "ALB_\(round)j.jpg", "ALB_\(round)b.jpg"] {
      let content = try photo(name, json: "\(name).json", at: time)
      if !name.hasSuffix("j.jpg") { try put("\(folder)/\(name)", content) }
      if !name.hasSuffix("p.jpg") {
        try put("\(folder)/\(name).json", TakeoutSample.json(name, "\(time)").utf8)
      }
      wanted.append(Wanted(path: "\(album)/Photo/\(name)", seconds: time))
    }
  }

  // MARK: Damage

  private mutating func damage(_ round: Int) throws {
    let folder = "Google Photos/Photos from 2019"
    for (name, json) in [
      ("BAD_\(round)a.jpg", "{"), ("BAD_\(round)b.jpg", "[1]"),
      ("BAD_\(round)c.jpg", TakeoutSample.json("x", "99999999999999999999")),
      ("BAD_\(round)d.jpg", TakeoutSample.json("x", "-9223372036854775808")),
      (
        "BAD_\(round)e.jpg",
        "{\"photoTakenTime\": {\"timestamp\": []}, \"people\": {}, \"title\": 7}"
      ),
    ] {
      try put("\(folder)/\(name)", "bad \(name)".utf8)
      try put("\(folder)/\(name).json", json.utf8)
      wanted.append(Wanted(path: "Photos from 2019/Photo/\(name)", seconds: nil))
    }
    try put("\(folder)/NONE_\(round).jpg", "no json \(round)".utf8)
    wanted.append(Wanted(path: "Photos from 2019/Photo/NONE_\(round).jpg", seconds: nil))
  }
}
