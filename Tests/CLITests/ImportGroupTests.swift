import AlbumModel
import AlbumTestSupport
import ControlProtocol
import Foundation
import Posix
import Testing

@testable import albumfs

/// A folder of files, and a plain directory that stands for the album: the importer works through ordinary
/// file calls.
final class ImportScratch: Sendable {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  func path(_ name: String) -> String { scratch.path(name) }

  func put(_ path: String, _ content: some Sequence<UInt8>, modified: Int? = nil) throws {
    let whole = scratch.path(path)
    try FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(content).write(to: URL(fileURLWithPath: whole))
    if let modified {
      let date = Date(timeIntervalSince1970: Double(modified))
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: whole)
    }
  }

  func put(_ path: String, _ text: String) throws { try put(path, text.utf8) }

  func text(_ path: String) -> String? {
    (try? Data(contentsOf: URL(fileURLWithPath: scratch.path(path)))).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// All files below a folder, by their paths in it.
  func files(_ folder: String) -> [String] {
    let all = FileManager.default.enumerator(atPath: scratch.path(folder))
    return (all?.compactMap { $0 as? String } ?? []).sorted().filter { name in
      (try? PlainEntry(scratch.path("\(folder)/\(name)")).kind) == .file
    }
  }

  /// Puts a folder into a zip file beside it.
  func zip(_ folder: String) throws {
    let program = """
      import os, sys, zipfile
      os.chdir(sys.argv[1])
      with zipfile.ZipFile(sys.argv[1] + ".zip", "w") as z:
          for top, _, names in sorted(os.walk(".")):
              for name in sorted(names): z.write(os.path.join(top, name))
      """
    let outcome = try Command(
      "/usr/bin/env", ["python3", "-c", program, scratch.path(folder)]
    ).run()
    try #require(outcome.code == 0, "\(outcome)")
  }

  @discardableResult
  func run(
    _ sources: [String], _ options: Importer.Options = Importer.Options(),
    isStopped: @escaping () -> Bool = { false }, during sync: @escaping () -> Void = {}
  ) -> ImportReport {
    var importer = Importer(
      into: scratch.path("album"), options,
      Importer.Surroundings(synchronize: sync, isStopped: isStopped))
    try? importer.run(sources.map { PlainPath(scratch.path($0)) })
    return importer.report
  }
}

/// What belongs to a photo comes into the album with it, under a name that shows it.
@Suite struct ImportGroupTests {
  private let scratch: ImportScratch

  init() throws { scratch = try ImportScratch() }

  /// Wherever a move is interrupted, the next run ends as one that was not.
  @Test(arguments: [nil, "{date}_{counter}"]) func anInterruptedMoveTearsNoGroupApart(
    pattern: String?
  ) throws {
    var options = Importer.Options(isMove: true)
    options.byDate = pattern == nil
    options.template = try pattern.map { try NameTemplate($0) }
    func fill(_ scratch: ImportScratch) throws {
      for day in 1...3 {
        let name = "IMG_2019050\(day)_121314"
        for ending in ["jpg", "cr2", "xmp"] {
          try scratch.put("card/\(name).\(ending)", "\(ending) of day \(day)")
        }
      }
    }
    try fill(scratch)
    scratch.run(["card"], options)
    let whole = scratch.files("album")
    #expect(whole.count == 9 && scratch.files("card").isEmpty)
    var steps = 0
    var isInterrupted = true
    while isInterrupted {
      steps += 1
      let scratch = try ImportScratch()
      try fill(scratch)
      var left = steps
      isInterrupted = false
      scratch.run(
        ["card"], options,
        isStopped: {
          left -= 1
          isInterrupted = isInterrupted || left < 0
          return left < 0
        })
      scratch.run(["card"], options)
      #expect(scratch.files("album") == whole, "interrupted at step \(steps)")
      #expect(scratch.files("card").isEmpty, "interrupted at step \(steps)")
    }
    #expect(steps > 20)
  }

  private func fillCamera() throws {
    for (folder, content) in [("100APPLE", "first"), ("101APPLE", "second")] {
      try scratch.put("card/DCIM/\(folder)/IMG_1.HEIC", "\(content) photo")
      try scratch.put("card/DCIM/\(folder)/IMG_1.MOV", "\(content) film")
      try scratch.put("card/DCIM/\(folder)/IMG_1.AAE", "the same edit")
      try scratch.put("card/DCIM/\(folder)/IMG_1.HEIC.xmp", "\(content) text")
    }
  }

  private let both = [
    "Photo/IMG_1 (2).AAE", "Photo/IMG_1 (2).HEIC", "Photo/IMG_1 (2).HEIC.xmp",
    "Photo/IMG_1 (2).MOV", "Photo/IMG_1.AAE", "Photo/IMG_1.HEIC", "Photo/IMG_1.HEIC.xmp",
    "Photo/IMG_1.MOV",
  ]

  @Test("All files of a photo get one number", arguments: [false, true])
  func oneNumber(isZip: Bool) throws {
    try fillCamera()
    if isZip { try scratch.zip("card") }
    let source = isZip ? "card.zip" : "card"
    let plan = scratch.run([source], Importer.Options(isDryRun: true))
    #expect(scratch.run([source]).imported == 8)
    #expect(scratch.files("album") == both)
    let planned = plan.plan?.map { $0.target.components(separatedBy: "album/")[1] } ?? []
    #expect(planned.sorted() == both)
    for ending in ["HEIC", "MOV", "HEIC.xmp"] {
      #expect(scratch.text("album/Photo/IMG_1.\(ending)")?.hasPrefix("first") ?? false)
      #expect(scratch.text("album/Photo/IMG_1 (2).\(ending)")?.hasPrefix("second") ?? false)
    }
    let again = scratch.run([source])
    #expect(again.duplicates == 8 && again.imported == 0 && scratch.files("album") == both)
  }

  /// The name of one member is taken by somebody else's file.
  @Test func aTakenNameOfOneNumbersAll() throws {
    try scratch.put("album/Photo/IMG_1.MOV", "another film")
    try scratch.put("card/IMG_1.HEIC", "photo")
    try scratch.put("card/IMG_1.MOV", "film")
    #expect(scratch.run(["card"]).renamed.count == 2)
    #expect(
      scratch.files("album") == [
        "Photo/IMG_1 (2).HEIC", "Photo/IMG_1 (2).MOV", "Photo/IMG_1.MOV",
      ])
  }

  /// The edit of a photo is that of another one with the same name, which the album has.
  @Test func aSidecarOfAnotherPhotoDoesNotCount() throws {
    try scratch.put("old/IMG_1.HEIC", "old photo")
    try scratch.put("old/IMG_1.AAE", "the same edit")
    scratch.run(["old"])
    try scratch.put("card/IMG_1.HEIC", "new photo")
    try scratch.put("card/IMG_1.AAE", "the same edit")
    scratch.run(["card"])
    #expect(
      scratch.files("album") == [
        "Photo/IMG_1 (2).AAE", "Photo/IMG_1 (2).HEIC", "Photo/IMG_1.AAE", "Photo/IMG_1.HEIC",
      ])
  }

  @Test func whatCameLaterJoinsItsPhoto() throws {
    try scratch.put("album/Photo/IMG_1.JPG", "another photo")
    try scratch.put("card/IMG_1.JPG", "photo")
    scratch.run(["card"])
    try scratch.put("card/IMG_1.CR2", "raw")
    try scratch.put("card/IMG_1.xmp", "text")
    #expect(scratch.run(["card"]).duplicates == 1)
    #expect(
      scratch.files("album") == [
        "Photo/IMG_1 (2).CR2", "Photo/IMG_1 (2).JPG", "Photo/IMG_1 (2).xmp", "Photo/IMG_1.JPG",
      ])
  }

  @Test func whatBelongsToAPhotoThatWasRenamedFollowsIt() throws {
    try scratch.put("album/Photo/holiday.jpg", "photo")
    try scratch.put("card/IMG_1.jpg", "photo")
    try scratch.put("card/IMG_1.xmp", "text")
    try scratch.put("card/IMG_1.jpg.json", "facts")
    let wanted = ["Photo/holiday.jpg", "Photo/holiday.jpg.json", "Photo/holiday.xmp"]
    for imported in [2, 0] {
      #expect(scratch.run(["card"]).imported == imported)
      #expect(scratch.files("album") == wanted)
    }
  }

  @Test func aMoveTakesAGroupAsAWhole() throws {
    try fillCamera()
    let report = scratch.run(["card"], Importer.Options(isMove: true))
    #expect(report.removed == 8 && scratch.files("card") == [] && scratch.files("album") == both)
  }

  /// The film vanishes while the photo is looked at: it cannot be imported, so its photo stays.
  @Test func aMoveLeavesAGroupWhoseMemberFailed() throws {
    try fillCamera()
    let film = scratch.path("card/DCIM/100APPLE/IMG_1.MOV")
    var isReplaced = false
    let report = scratch.run(["card/DCIM/100APPLE"], Importer.Options(isMove: true)) {
      if !isReplaced {
        isReplaced = true
        try? FileManager.default.removeItem(atPath: film)
      }
      return false
    }
    #expect(report.imported == 3 && report.removed == 0)
    #expect(report.errors.count == 4 && report.errors[0].path == film)
    #expect(
      report.errors.dropFirst().allSatisfy { $0.reason.contains("IMG_1.MOV, which it belongs to") })
    #expect(scratch.files("card/DCIM/100APPLE") == ["IMG_1.AAE", "IMG_1.HEIC", "IMG_1.HEIC.xmp"])
  }

  /// An interruption never leaves a photo in the album and what belongs to it on the card alone.
  @Test func anInterruptedMoveTearsNoGroupApart() throws {
    for steps in stride(from: 1, through: 60, by: 3) {
      let scratch = try ImportScratch()
      for folder in ["a", "b"] {
        try scratch.put("card/\(folder)/IMG_1.HEIC", "\(folder) photo")
        try scratch.put("card/\(folder)/IMG_1.MOV", "\(folder) film")
        try scratch.put("card/\(folder)/IMG_1.AAE", "edit")
      }
      var left = steps
      scratch.run(["card/a", "card/b"], Importer.Options(isMove: true)) {
        left -= 1
        return left < 0
      }
      for folder in ["a", "b"] {
        let count = scratch.files("card/\(folder)").count
        let isMoved = scratch.text("card/\(folder)/IMG_1.HEIC") == nil
        // What went was complete in the album when it went.
        if isMoved || count < 3 {
          #expect(scratch.files("album").count >= 3, "\(steps): \(scratch.files("album"))")
        }
      }
      let report = scratch.run(["card/a", "card/b"], Importer.Options(isMove: true))
      #expect(report.complete && scratch.files("card") == [], "\(steps)")
      let names = [
        "IMG_1 (2).AAE", "IMG_1 (2).HEIC", "IMG_1 (2).MOV", "IMG_1.AAE", "IMG_1.HEIC", "IMG_1.MOV",
      ]
      #expect(scratch.files("album") == names.map { "Photo/\($0)" }, "\(steps)")
      #expect(
        scratch.text("album/Photo/IMG_1.HEIC")?.first
          == scratch.text("album/Photo/IMG_1.MOV")?.first)
    }
  }

  // MARK: Sidecars

  @Test func whatXMPSaysBecomesAttributes() throws {
    let packet = """
      <x:xmpmeta><rdf:RDF><rdf:Description xmp:Rating="3" exif:DateTimeOriginal="2019-05-05T12:13:14+02:00">
      <dc:subject><rdf:Bag><rdf:li>Rome</rdf:li><rdf:li>Sea</rdf:li></rdf:Bag></dc:subject>
      <dc:description><rdf:Alt><rdf:li xml:lang="x-default">Grüße</rdf:li></rdf:Alt></dc:description>
      </rdf:Description></rdf:RDF></x:xmpmeta>
      """
    try scratch.put("card/IMG_1.CR2", "raw".utf8, modified: 1_000_000_000)
    try scratch.put("card/IMG_1.CR2.xmp", packet)
    try scratch.put("card/IMG_2.jpg", ExifSamples.jpeg())
    try scratch.put(
      "card/IMG_2.xmp", packet.replacing("2019-05-05T12:13", with: "2024-07-03T12:34"))
    scratch.run(["card"])
    func value(_ name: String, _ file: String) -> String? {
      ExtendedAttribute.value("user.albumfs.\(name)", of: scratch.path("album/Photo/\(file)"))
        .map { String(decoding: $0, as: UTF8.self) }
    }
    for file in ["IMG_1.CR2", "IMG_2.jpg"] {
      #expect(value("rating", file) == "3" && value("tags", file) == "Rome\nSea")
      #expect(value("caption", file) == "Grüße" && value("favourite", file) == nil)
    }
    #expect(value("taken", "IMG_1.CR2") == "2019-05-05T12:13:14+02:00")
    #expect(value("taken", "IMG_2.jpg") == nil, "the photo says so itself")
    let entry = try PlainEntry(scratch.path("album/Photo/IMG_1.CR2"))
    #expect(entry.modified.seconds == 1_000_000_000)
  }

  // MARK: Patterns of names

  @Test("Names by a pattern overwrite nothing", arguments: [false, true])
  func namesByAPattern(isZip: Bool) throws {
    try scratch.put("album/Photo/2024-07-03_unknown_002.JPG", "somebody else's")
    for number in 1...3 {
      try scratch.put("card/IMG_\(number).JPG", ExifSamples.jpeg() + Array("\(number)".utf8))
      try scratch.put("card/IMG_\(number).MOV", "film \(number)")
      try scratch.put("card/IMG_\(number).JPG.xmp", "text")
    }
    try scratch.put("card/notes.txt", "text")
    if isZip { try scratch.zip("card") }
    var options = Importer.Options()
    options.template = try NameTemplate("{date}_{camera}_{counter}")
    let source = isZip ? "card.zip" : "card"
    var plan = options
    plan.isDryRun = true
    let planned = scratch.run([source], plan).plan?.map {
      $0.target.components(separatedBy: "album/")[1]
    }
    for imported in [10, 0] {
      #expect(scratch.run([source], options).imported == imported)
      #expect(
        scratch.files("album")
          == (["001", "003", "004"].flatMap { number in
            ["JPG", "JPG.xmp", "MOV"].map { "Photo/2024-07-03_unknown_\(number).\($0)" }
          } + ["Photo/2024-07-03_unknown_002.JPG", "Photo/notes.txt"]).sorted())
    }
    #expect(
      Set(planned ?? []).union(["Photo/2024-07-03_unknown_002.JPG"]) == Set(scratch.files("album")))
    for number in ["001", "003", "004"] {
      let name = "album/Photo/2024-07-03_unknown_\(number)"
      let photo = try Data(contentsOf: URL(fileURLWithPath: scratch.path("\(name).JPG")))
      #expect(scratch.text("\(name).MOV")?.utf8.last == photo.last)
    }
  }

  @Test func aPatternWithoutACounterGetsANumber() throws {
    let template = try NameTemplate("{year}/".dropLast() + " {name} {time}")
    let values = NameTemplate.Values(
      moment: try #require(CaptureTime(Array("2024-07-03T12:34:56+02:00".utf8))), camera: "A/B",
      name: Array("IMG_1".utf8))
    func name(_ template: NameTemplate, _ file: String, _ number: Int) -> String {
      template.name(of: FileName(known: Array(file.utf8)), values, number: number).text
    }
    #expect(name(template, "IMG_1.JPG", 1) == "2024 IMG_1 12-34-56.JPG")
    #expect(name(template, "IMG_1.JPG", 2) == "2024 IMG_1 12-34-56 (2).JPG")
    #expect(name(try NameTemplate("{camera}-{month}{day}-{counter}"), "a", 1000) == "A_B-0703-1000")
    let long = String(repeating: "ä", count: 200)
    #expect(name(try NameTemplate("\(long){counter}"), "a.jpg", 1).utf8.count <= 255)
  }

  @Test(
    "What is no pattern is refused",
    arguments: ["photo", "{date", "{lens}", "a/{date}", ".{date}", "", "{}"])
  func badPatterns(text: String) {
    #expect(throws: NameTemplate.Fault.self) { try NameTemplate(text) }
  }

  // MARK: Dates

  private func byDate(hasTimeZone: Bool = false) -> Importer.Options {
    Importer.Options(byDate: true, topIsAlbum: false, hasTimeZone: hasTimeZone)
  }

  /// The film states UTC, in which it is the day before; the sidecar's file is of another year.
  @Test("A group goes by its photo", arguments: [false, true])
  func aGroupGoesByItsPhoto(isZip: Bool) throws {
    // 2024-07-03 21:00 in UTC, seconds since 1904.
    let film = ExifSamples.film(created: 2_082_844_800 + 1_720_040_400)
    let photo = ExifSamples.jpeg("2024:07:04 00:30:00")
    try scratch.put("card/IMG_1.JPG", photo, modified: 1_000_000_000)
    try scratch.put("card/IMG_1.MOV", film, modified: 1_000_000_000)
    try scratch.put("card/IMG_1.AAE", "edit".utf8, modified: 1_000_000_000)
    try scratch.put("card/IMG_2.NEF", "raw without a date".utf8, modified: 1_000_000_000)
    try scratch.put("card/IMG_2.JPG", ExifSamples.jpeg(), modified: 1_000_000_000)
    try scratch.put("card/IMG_2-edited.JPG", "edited".utf8, modified: 1_000_000_000)
    if isZip { try scratch.zip("card") }
    scratch.run([isZip ? "card.zip" : "card"], byDate())
    #expect(
      scratch.files("album") == [
        "2024-07-03/Photo/IMG_2-edited.JPG", "2024-07-03/Photo/IMG_2.JPG",
        "2024-07-03/Photo/IMG_2.NEF", "2024-07-04/Photo/IMG_1.AAE", "2024-07-04/Photo/IMG_1.JPG",
        "2024-07-04/Photo/IMG_1.MOV",
      ])
  }

  @Test func twoPhonesThatCountAlikeAreToldByApplesIdentifier() throws {
    let own = ["A", "B", "C"].map { "8E3A1B0C-55D2-4C1F-9A77-0123456789A\($0)" }
    // 2024-07-10 12:00 in UTC.
    let created: UInt64 = 2_082_844_800 + 1_720_612_800
    try scratch.put("card/IMG_1.JPG", ExifSamples.livePhoto(identifier: own[0]))
    try scratch.put("card/IMG_1.MOV", ExifSamples.liveFilm(identifier: own[2], created: created))
    try scratch.put("card/IMG_2.JPG", ExifSamples.livePhoto(identifier: own[1]))
    try scratch.put("card/IMG_2.MOV", ExifSamples.liveFilm(identifier: own[1], created: created))
    scratch.run(["card"], byDate())
    let found = scratch.files("album").map { $0.replacing("Photo/", with: "") }
    #expect(
      found.filter { $0.hasPrefix("2024-07-03/") }.map { $0.suffix(9) } == [
        "IMG_1.JPG", "IMG_2.JPG", "IMG_2.MOV",
      ])
    #expect(found.contains { !$0.hasPrefix("2024-07-03/") && $0.hasSuffix("IMG_1.MOV") })
  }

  @Test func theNameTellsTheDayWhereNothingBetterDoes() throws {
    for name in ["IMG-20190505-WA0001.jpg", "Screenshot_2019-05-05-12-13-14.png"] {
      try scratch.put("card/\(name)", "chat \(name)")
    }
    try scratch.put("card/IMG_20190506_121314.jpg", ExifSamples.jpeg())
    try scratch.put("card/IMG_20191345_121314.jpg", "no date".utf8, modified: 1_000_123_200)
    scratch.run(["card"], byDate())
    #expect(
      scratch.files("album") == [
        "2001-09-10/Photo/IMG_20191345_121314.jpg", "2019-05-05/Photo/IMG-20190505-WA0001.jpg",
        "2019-05-05/Photo/Screenshot_2019-05-05-12-13-14.png",
        "2024-07-03/Photo/IMG_20190506_121314.jpg",
      ])
  }

  /// A film states UTC; the photo beside it was taken in Auckland, where the next day had begun.
  @Test func thePhotoBesideAFilmTellsItsZone() throws {
    let photo = ExifSamples.jpeg(
      xmp: ExifSamples.xmp("exif:DateTimeOriginal=\"2024-07-04T08:00:00+12:00\""))
    try scratch.put("card/IMG_1.JPG", photo)
    // 2024-07-03 20:00 in UTC.
    try scratch.put("card/MVI_2.MP4", ExifSamples.film(created: 2_082_844_800 + 1_720_036_800))
    scratch.run(["card"], byDate())
    #expect(
      scratch.files("album") == ["2024-07-04/Photo/IMG_1.JPG", "2024-07-04/Photo/MVI_2.MP4"])
  }

  @Test(
    "A zone is a name or a distance from UTC",
    arguments: [
      ("Europe/Berlin", ":Europe/Berlin"), ("UTC", ":UTC"), ("+02:00", "<+02:00>-02:00"),
      ("-09:30", "<-09:30>+09:30"), ("+00:00", "UTC0"), ("Z", "UTC0"), ("Berlin", nil),
      ("../../../etc/passwd", nil), ("Europe", nil), ("+2", nil), ("", nil),
      ("/etc/localtime", nil),
    ])
  func zones(text: String, variable: String?) {
    #expect(TimeZoneArgument(argument: text)?.variable == variable)
  }
}

/// What systems and programs keep among photos for themselves is no photo of anybody.
@Suite struct ImportOmissionTests {
  private let scratch: ImportScratch

  init() throws {
    scratch = try ImportScratch()
    for name in [
      "a.jpg", "@eaDir/a.jpg/SYNOPHOTO_THUMB_XL.jpg", "Trip/b.jpg", "Trip/@EADIR/b.jpg/x.jpg",
      "#recycle/c.jpg", "$RECYCLE.BIN/S-1/d.jpg", "System Volume Information/e", "__MACOSX/._a.jpg",
      "Thumbs.db", "Trip/desktop.ini", ".DS_Store", ".thumbnails/1.jpg", ".Trash-1000/files/f.jpg",
      "Thumbs.db.jpg", ".hidden",
    ] {
      try scratch.put("source/\(name)", "content of \(name)")
    }
  }

  private let named = [
    "#recycle", "$RECYCLE.BIN", ".DS_Store", ".Trash-1000", ".thumbnails", "@eaDir",
    "System Volume Information", "Thumbs.db", "Trip/@EADIR", "Trip/desktop.ini", "__MACOSX",
  ]

  private func leftOut(_ report: ImportReport, _ source: String) -> [String] {
    report.leftOut.map { String($0.path.dropFirst(scratch.path(source).count + 1)) }.sorted()
  }

  @Test("It is left out and named", arguments: [false, true])
  func leftoversAreNamed(isZip: Bool) throws {
    if isZip { try scratch.zip("source") }
    let source = isZip ? "source.zip" : "source"
    let report = scratch.run([source])
    #expect(scratch.files("album") == ["Photo/Thumbs.db.jpg", "Photo/a.jpg", "Trip/Photo/b.jpg"])
    #expect(leftOut(report, source) == named)
    #expect(report.leftOut.allSatisfy { $0.pattern == nil } && report.hidden == 1)
    #expect(report.errors.isEmpty && report.imported == 3)
    let json = String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
    #expect(json.contains("leftOut") && json.contains("@eaDir"))
  }

  @Test func whatThePersonNamesIsTaken() {
    scratch.run(["source/@eaDir/a.jpg", "source/Thumbs.db"])
    #expect(scratch.files("album") == ["Photo/SYNOPHOTO_THUMB_XL.jpg", "Photo/Thumbs.db"])
  }

  private let patterns: [(pattern: String, matched: [String])] = [
    ("*.tmp", ["x.tmp", "Old/y.tmp", "New/Old/v.tmp"]), ("Old", ["Old", "New/Old"]),
    ("Old/", ["Old", "New/Old"]), ("/Old", ["Old"]), ("New/Old", ["New/Old"]),
    ("New/*.jpg", ["New/n.jpg"]), ("*/n.jpg", ["New/n.jpg"]), ("n?.jpg", ["nä.jpg"]),
    ("[m-n].jpg", ["New/n.jpg"]), ("[!n]*.tmp", ["x.tmp", "Old/y.tmp", "New/Old/v.tmp"]),
    ("\\*.jpg", ["*.jpg"]), ("x.tmp/", []), ("*.TMP", []), ("ld", []), ("b\u{E9}*", []),
    ("*", ["x.tmp", "Old", "New", "nä.jpg", "*.jpg"]),
  ]

  @Test func aPatternLeavesOutWhatItMatches() throws {
    ProcessSignals.useUnicodeNames()
    for name in ["x.tmp", "Old/y.tmp", "New/n.jpg", "New/Old/v.tmp", "nä.jpg", "*.jpg"] {
      try scratch.put("tree/\(name)", "content of \(name)")
    }
    try scratch.zip("tree")
    for (pattern, matched) in patterns {
      for source in ["tree", "tree.zip"] {
        let options = Importer.Options(
          isDryRun: true, excluded: [try #require(ExclusionPattern(pattern))])
        let report = scratch.run([source], options)
        #expect(leftOut(report, source) == matched.sorted(), "\(pattern) \(source)")
        #expect(report.leftOut.allSatisfy { $0.pattern == pattern })
      }
    }
  }

  @Test func ofALibraryOfApplesPhotosTheOriginalsAreImported() throws {
    let (one, two) = (
      "8E3A1B0C-55D2-4C1F-9A77-0123456789AB", "0E3A1B0C-55D2-4C1F-9A77-0123456789AB"
    )
    for name in [
      "originals/8/\(one).heic", "originals/8/\(one)_3.mov", "originals/0/\(two).jpeg",
      "database/Photos.sqlite", "resources/renders/8/\(one)_1_201_a.jpeg", "private/x.jpg",
    ] {
      try scratch.put("Photos Library.photoslibrary/\(name)", "content of \(name)")
    }
    let options = Importer.Options(excluded: [try #require(ExclusionPattern("/album"))])
    for source in ["Photos Library.photoslibrary", "."] {
      let report = scratch.run([source], options)
      #expect(report.leftOut.map(\.path).filter { $0.contains("library/") }.count == 3)
      let top = source == "." ? "Photos Library.photoslibrary/" : ""
      let wanted = ["\(two).jpeg", "\(one).heic", "\(one)_3.mov"].map { "\(top)Photo/\($0)" }
      #expect(Set(scratch.files("album")).isSuperset(of: wanted))
      #expect(report.errors.isEmpty && !scratch.files("album").contains { $0.contains("201_a") })
    }
  }

  @Test func aPatternThatNamesNothingIsNone() {
    for text in ["/", "//"] { #expect(ExclusionPattern(text) == nil) }
  }
}
