import AlbumModel
import AlbumTestSupport
import Foundation
import Posix
import Testing

@testable import albumfs

/// Photos come out of a Google Takeout with their dates, captions, places and albums.
@Suite struct TakeoutTests {
  private let scratch: ImportScratch

  init() throws { scratch = try ImportScratch() }

  private func attribute(_ name: String, of path: String) -> String? {
    ExtendedAttribute.value("user.albumfs.\(name)", of: scratch.path(path))
      .map { String(decoding: $0, as: UTF8.self) }
  }

  private func requireAll(_ sample: TakeoutSample) throws {
    for wanted in sample.wanted {
      let path = "album/\(wanted.path)"
      let entry = try #require(try? PlainEntry(scratch.path(path)), "\(path) is missing")
      let taken = attribute("taken", of: path)
      if let seconds = wanted.seconds {
        #expect(entry.modified.seconds == Int64(seconds), "\(path)")
        let clock = SystemClock.localTime(seconds: Int64(seconds)).replacing(" ", with: "T")
        #expect(
          wanted.isStated ? taken == nil : taken?.hasPrefix(clock) ?? false,
          "\(path) \(taken ?? "")")
      } else {
        #expect(taken == nil && entry.modified.seconds == 1_700_000_000, "\(path)")
      }
      for note in PhotoNote.allCases {
        #expect(
          attribute(note.rawValue, of: path) == wanted.notes[note.rawValue], "\(path) \(note)")
      }
    }
  }

  @Test("Several parts are one source", arguments: [false, true])
  func partsAreOne(isZip: Bool) throws {
    let sample = try TakeoutSample(in: scratch, parts: 3, photosOfEachKind: 4)
    if isZip { for part in sample.partNames { try scratch.zip(part) } }
    let sources = sample.partNames.map { isZip ? "\($0).zip" : $0 }
    let options = Importer.Options(topIsAlbum: false)
    let report = scratch.run(sources, options)
    #expect(report.errors == [] && report.complete)
    try requireAll(sample)
    let found = scratch.files("album")
    #expect(found.filter { !$0.hasSuffix(".json") }.count == sample.wanted.count)
    #expect(found.contains { $0.hasSuffix("DSC_0a.jpg(1).json") }, "JSON stays beside its photo")
    let again = scratch.run(sources, options)
    #expect(again.imported == 0 && again.errors == [] && scratch.files("album") == found)
  }

  @Test func jsonIsReadAndLeftOut() throws {
    let sample = try TakeoutSample(in: scratch, parts: 2, photosOfEachKind: 2)
    let report = scratch.run(
      sample.partNames, Importer.Options(topIsAlbum: false, leavesOutJSON: true))
    try requireAll(sample)
    // What is no JSON of Google, or damaged, is a file that somebody keeps.
    let left = scratch.files("album").filter { $0.hasSuffix(".json") }
    #expect(left.allSatisfy { $0.contains("BAD_") } && left.count == 2 * 2, "\(left)")
    #expect(report.leftOut.filter { $0.pattern == "--without-json" }.count > 40)
  }

  @Test func daysAreThoseOfTheJSON() throws {
    let sample = try TakeoutSample(in: scratch, parts: 2, photosOfEachKind: 3)
    scratch.run(
      sample.partNames, Importer.Options(byDate: true, topIsAlbum: false, leavesOutJSON: true))
    let found = Set(scratch.files("album"))
    for wanted in sample.wanted where wanted.seconds != nil && !wanted.isStated {
      let day = SystemClock.localDay(seconds: Int64(wanted.seconds!))
      let name = (wanted.path as NSString).lastPathComponent
      #expect(found.contains("\(day)/Photo/\(name)"), "\(day) \(name)")
    }
  }

  @Test func aMoveEmptiesTheParts() throws {
    let sample = try TakeoutSample(in: scratch, parts: 2, photosOfEachKind: 2)
    let options = Importer.Options(isMove: true, topIsAlbum: false)
    var steps = 400
    scratch.run(sample.partNames, options) {
      steps -= 1
      return steps < 0
    }
    let report = scratch.run(sample.partNames, options)
    #expect(report.errors == [] && report.complete)
    let left = sample.partNames.flatMap { scratch.files($0) }
    #expect(
      left.allSatisfy {
        $0.hasSuffix("archive_browser.html") || $0.hasSuffix("print-subscriptions.json")
      })
  }

  /// What a person set goes first, and so does what an earlier copy brought along.
  @Test func aDateThatAPersonSetStays() throws {
    try scratch.put("card/a.jpg", "a")
    try scratch.put("card/a.jpg.json", "{\"photoTakenTime\": {\"timestamp\": \"1557058394\"}}")
    try ExtendedAttribute.set(
      "user.albumfs.taken", to: Array("1999-12-31T12:00:00".utf8), of: scratch.path("card/a.jpg"))
    scratch.run(["card"])
    #expect(attribute("taken", of: "album/Photo/a.jpg") == "1999-12-31T12:00:00")
  }

  /// Raw pictures of one camera have one size, and its counter begins again.
  @Test func aPhotoWithoutJSONGetsNoOtherPhotosFacts() throws {
    for (year, seconds) in [(2018, 1_530_000_000), (2019, 1_557_058_394)] {
      let folder = "part/Takeout/Google Photos/Photos from \(year)"
      try scratch.put("\(folder)/IMG_1.CR2", "photo of \(year)")
      try scratch.put(
        "\(folder)/IMG_1.CR2.json",
        "{\"title\": \"IMG_1.CR2\", \"photoTakenTime\": {\"timestamp\": \"\(seconds)\"}}")
    }
    try scratch.put("part/Takeout/Google Photos/Trip/IMG_1.CR2", "photo of 2019")
    scratch.run(["part"], Importer.Options(topIsAlbum: false))
    #expect(attribute("taken", of: "album/Photos from 2019/Photo/IMG_1.CR2") != nil)
    #expect(attribute("taken", of: "album/Trip/Photo/IMG_1.CR2") == nil)
  }

  @Test func hostileJSONIsNone() {
    let deep = [UInt8](repeating: UInt8(ascii: "["), count: 500_000)
    let inner = "{\"photoTakenTime\": " + String(repeating: "{\"a\":", count: 50_000)
    for bytes in [
      deep, Array(inner.utf8), Array("{\"photoTakenTime\": 5}".utf8), [0xFF, 0xFE], [],
    ] {
      #expect(GoogleJSON.facts(bytes) == nil && GoogleJSON.albumTitle(bytes) == nil)
    }
    let long = String(repeating: "ä", count: 100_000)
    let text = "{\"photoTakenTime\": {}, \"description\": \"\(long)\"}"
    #expect(GoogleJSON.facts(Array(text.utf8))?.notes[.caption]?.utf8.count ?? 0 <= 60 << 10)
    let places = "\"geoData\": {\"latitude\": 1e300, \"longitude\": 5}"
    #expect(GoogleJSON.facts(Array("{\"photoTakenTime\": {}, \(places)}".utf8))?.notes == [:])
  }

  @Test(
    "An album's title is a name",
    arguments: [
      ("Rome/Naples", "Rome_Naples"), (" A \n B ", "A B"), (".hidden", "_hidden"), ("", nil),
      ("Photo", nil), ("..", "_."),
    ])
  func titles(title: String, name: String?) { #expect(Takeout.albumName(title)?.text == name) }
}
