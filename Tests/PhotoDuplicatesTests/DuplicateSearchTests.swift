import AlbumModel
import AlbumTestSupport
import Foundation
import PhotoDuplicates
import Posix
import Testing

/// A person finds each photo that they have twice, and loses none.
struct DuplicateSearchTests {
  /// Files in albums, each with what the mount knows of it.
  private final class Albums: DuplicateSource {
    let temporary = TemporaryDirectory()
    private(set) var units: [PhotoUnit] = []
    private var paths: [String] = []
    private var inodes: [String: UInt64] = [:]
    private(set) var opened: [String] = []
    var isStopped = false

    /// `files` are names and contents; two files of one `link` are one file.
    func add(
      _ album: String, _ files: [String: String], facts: [String: KnownFacts] = [:],
      link: UInt64? = nil
    ) throws {
      let path = temporary.path + "/" + album
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      var found: [UnitFile] = []
      for (name, content) in files.sorted(by: { $0.key < $1.key }) {
        try Data(content.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
        inodes[path + "/" + name] = link ?? UInt64(inodes.count + 1)
        found.append(
          UnitFile(
            name: try FileName(Array(name.utf8)), inode: inodes[path + "/" + name] ?? 0,
            size: Int64(content.utf8.count)))
      }
      paths.append(path)
      units += PhotoUnit.units(
        of: found, folder: paths.count - 1, album: [try FileName(Array(album.utf8))],
        identifier: { _ in nil }, facts: { facts[$0.text] ?? KnownFacts() })
    }

    func open(_ file: UnitFile, in folder: Int) -> FolderFile? {
      opened.append(file.name.text)
      guard let folder = try? Folder(paths[folder]) else { return nil }
      return try? folder.open(file.name)
    }

    func isAt(_ done: Int, of total: Int) { #expect(done <= total) }

    /// `Trip/a.jpg kept, Day/b.jpg bytes!` for each set; `!` is a surplus photo.
    func found() -> [String] {
      var search = DuplicateSearch(units)
      return search.sets(from: self).map { set in
        set.members.map { member in
          let album = member.unit.album.map(\.text).joined(separator: "/")
          let mark = member.isSurplus ? "!" : ""
          return "\(album)/\(member.unit.leader.name.text) \(member.relation.rawValue)\(mark)"
        }.joined(separator: ", ")
      }
    }
  }

  private static func facts(
    _ size: String, hash: (UInt64, UInt64)? = nil, taken: String? = nil, camera: String? = nil,
    caption: String? = nil
  ) -> KnownFacts {
    var facts = KnownFacts()
    facts.dimensions = PictureDimensions(Array(size.utf8))
    facts.hash = hash.flatMap { PictureHash(rows: $0.0, columns: $0.1) }
    facts.taken = taken.flatMap { CaptureTime(Array($0.utf8)) }
    (facts.camera, facts.caption) = (camera, caption)
    return facts
  }

  // MARK: Equal bytes

  @Test func equalFilesAreOnePhotoWhateverTheirNames() throws {
    let albums = Albums()
    try albums.add("2024-05-01", ["IMG_1.jpg": "beach", "IMG_2.jpg": "other"])
    try albums.add("Trip", ["holiday.jpg": "beach", "x.jpg": "sixth!"])
    #expect(albums.found() == ["Trip/holiday.jpg kept, 2024-05-01/IMG_1.jpg bytes!"])
    #expect(!albums.opened.contains("x.jpg"), "no other file has its size")
  }

  @Test func whatDiffersInTheMiddleIsNotEqual() throws {
    let albums = Albums()
    let (start, end) = (String(repeating: "a", count: 5000), String(repeating: "z", count: 5000))
    try albums.add("Trip", ["1.jpg": start + "1" + end, "2.jpg": start + "2" + end])
    try albums.add("Day", ["3.jpg": start + "2" + end, "empty.jpg": "", "none.jpg": ""])
    #expect(albums.found() == ["Trip/2.jpg kept, Day/3.jpg bytes!"])
  }

  @Test func aFileInSeveralAlbumsCountsAsOne() throws {
    let albums = Albums()
    try albums.add("Trip", ["1.jpg": "beach"], link: 77)
    try albums.add("Best", ["best.jpg": "beach"], link: 77)
    #expect(albums.found() == [])
    try albums.add("Copy", ["2.jpg": "beach"])
    #expect(albums.found() == ["Trip/1.jpg kept, Copy/2.jpg bytes!"])
  }

  @Test func whatBelongsTogetherCountsAsOne() throws {
    let albums = Albums()
    try albums.add("Trip", ["IMG_1.HEIC": "still", "IMG_1.MOV": "a film", "IMG_1.AAE": "edited 1"])
    try albums.add("Day", ["IMG_1.HEIC": "still", "IMG_1.MOV": "a film"])
    try albums.add("Sent", ["IMG_1.HEIC": "still", "IMG_1.MOV": "b film"])
    #expect(
      albums.found() == [
        "Trip/IMG_1.HEIC kept, Day/IMG_1.HEIC bytes!, Sent/IMG_1.HEIC bytes"
      ], "the film in Sent is nowhere else")
  }

  @Test func whatPeopleSayOfACopyIsNotLost() throws {
    let albums = Albums()
    try albums.add("Day", ["1.jpg": "beach"], facts: ["1.jpg": Self.facts("4x3")])
    try albums.add("Trip", ["2.jpg": "beach"], facts: ["2.jpg": Self.facts("4x3", caption: "Us")])
    try albums.add("Sent", ["3.jpg": "beach"], facts: ["3.jpg": Self.facts("4x3", caption: "Me")])
    #expect(albums.found() == ["Trip/2.jpg kept, Sent/3.jpg bytes, Day/1.jpg bytes!"])
  }

  /// Of whatever file of a photo they say it, and how they have turned it.
  @Test func whatPeopleSayOfOneFileOfACopyIsNotLost() throws {
    let albums = Albums()
    var turned = Self.facts("4x3")
    turned.rotation = "90"
    let pair = ["1.CR2": "raw", "1.jpg": "picture"]
    try albums.add("A", pair)
    try albums.add("B", pair, facts: ["1.jpg": Self.facts("4x3", caption: "Us")])
    try albums.add("C", pair, facts: ["1.jpg": turned])
    #expect(albums.found() == ["B/1.CR2 kept, C/1.CR2 bytes, A/1.CR2 bytes!"])
  }

  @Test func aSearchThatIsStoppedFindsNothing() throws {
    let albums = Albums()
    try albums.add("Trip", ["1.jpg": "beach", "2.jpg": "beach"])
    albums.isStopped = true
    #expect(albums.found() == [])
  }

  // MARK: Equal pictures

  private static let hash: (UInt64, UInt64) = (0x0F0F_33CC_55AA_0FF0, 0x3C3C_0F0F_AA55_1234)
  private static let near = (hash.0 ^ 0b101, hash.1 ^ 1 << 40)

  private func pictures(
    _ one: KnownFacts, _ other: KnownFacts, _ names: [String] = ["1.jpg", "2.jpg"]
  )
    throws -> [String]
  {
    let albums = Albums()
    try albums.add("Trip", [names[0]: "large one"], facts: [names[0]: one])
    try albums.add("Sent", [names[1]: "small"], facts: [names[1]: other])
    return albums.found()
  }

  @Test func aSmallerCopyShowsAndIsNeverSurplus() throws {
    let large = Self.facts(
      "4000x3000", hash: Self.hash, taken: "2024-05-01T12:00:00", camera: "NIKON D850")
    let set = ["Trip/1.jpg kept, Sent/2.jpg picture"]
    #expect(try pictures(large, Self.facts("800x600", hash: Self.near)) == set)
    #expect(try pictures(large, Self.facts("600x800", hash: Self.near)) == set, "turned")
    let same = Self.facts(
      "800x600", hash: Self.near, taken: "2024-05-01T12:00:00", camera: "NIKON D850")
    #expect(try pictures(large, same) == set)
    // The largest stays, wherever it lies.
    #expect(
      try pictures(Self.facts("800x600", hash: Self.near), large) == [
        "Sent/2.jpg kept, Trip/1.jpg picture"
      ])
  }

  @Test func equalSmallerCopiesAreOneOfThemSurplus() throws {
    let albums = Albums()
    let small = Self.facts("800x600", hash: Self.near)
    try albums.add(
      "Trip", ["1.jpg": "large one"], facts: ["1.jpg": Self.facts("4000x3000", hash: Self.hash)])
    try albums.add("Sent", ["2.jpg": "small"], facts: ["2.jpg": small])
    try albums.add("Again", ["3.jpg": "small"], facts: ["3.jpg": small])
    #expect(albums.found() == ["Trip/1.jpg kept, Sent/2.jpg picture, Again/3.jpg bytes!"])
  }

  @Test func shotsOfABurstAndOtherDaysAreDifferentPictures() throws {
    let shot = Self.facts(
      "4000x3000", hash: Self.hash, taken: "2024-05-01T12:00:00", camera: "NIKON D850")
    var next = shot
    #expect(try pictures(shot, next) == [], "two shots within a second")
    let export = ["Sent/2.heic kept, Trip/1.jpg picture"]
    #expect(try pictures(shot, next, ["1.jpg", "2.heic"]) == export)
    next = Self.facts("800x600", hash: Self.near, taken: "2024-05-01T12:00:01")
    #expect(try pictures(shot, next) == [], "a second later")
    next = Self.facts("800x600", hash: Self.near, camera: "Apple iPhone 15")
    #expect(try pictures(shot, next) == [], "of another camera")
    next = Self.facts("800x450", hash: Self.near)
    #expect(try pictures(shot, next) == [], "of another shape")
    next = Self.facts("800x600", hash: (~Self.hash.0, Self.hash.1))
    #expect(try pictures(shot, next) == [], "of another look")
    next = Self.facts("800x600")
    #expect(try pictures(shot, next) == [], "without a hash")
  }

  @Test func picturesWithHardlyAnythingInThemAreNotAlike() throws {
    let page = Self.facts("4000x3000", hash: (0b11, 0b1))
    #expect(try pictures(page, Self.facts("800x600", hash: (0b11, 0b1))) == [])
  }

  @Test func aChainOfLikenessesJoinsNoStrangers() throws {
    let albums = Albums()
    let steps = [0, 0xF, 0xFF].map { (Self.hash.0 ^ $0, Self.hash.1) }
    for (number, hash) in steps.enumerated() {
      try albums.add(
        "Album \(number)", ["\(number).jpg": "content of \(number)"],
        facts: [
          "\(number).jpg": Self.facts("\(4000 - 400 * number)x\(3000 - 300 * number)", hash: hash)
        ])
    }
    #expect(albums.found() == ["Album 0/0.jpg kept, Album 1/1.jpg picture"])
  }

  @Test func eachHashWithinTheDistanceIsFound() throws {
    var random = SeededRandom(seed: 7)
    for _ in 0..<200 {
      var other = Self.hash
      for _ in 0..<4 {
        let bit = UInt64(1) << UInt64.random(in: 0..<64, using: &random)
        if Bool.random(using: &random) { other.0 ^= bit } else { other.1 ^= bit }
      }
      let found = try pictures(
        Self.facts("4000x3000", hash: Self.hash), Self.facts("800x600", hash: other))
      #expect(found.count == 1, "\(other)")
    }
  }
}
