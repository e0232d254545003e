import AlbumTestSupport
import Foundation
import Glibc
import Testing
import Traces

/// A search finds thumbnails of the mount's pictures wherever the specification puts them, and removes
/// nothing else.
@Suite struct ThumbnailTests {
  let home: TraceHome
  init() throws { home = try TraceHome() }

  @Test(arguments: [
    ".cache/thumbnails/normal", ".cache/thumbnails/large", ".cache/thumbnails/x-large",
    ".cache/thumbnails/xx-large", ".cache/thumbnails/fail/gnome-thumbnail-factory",
    ".thumbnails/normal", ".thumbnails/fail/gnome-thumbnail-factory",
  ])
  func aThumbnailIsFoundAndRemoved(folder: String) throws {
    try home.write("\(folder)/0.png", PNG.thumbnail(of: home.uri("Album/Trip/Photo/a b.jpg")))
    try home.write("\(folder)/1.png", PNG.thumbnail(of: home.uri("Pictures/c.jpg")))
    #expect(home.found() == ["Trip/Photo/a b.jpg"])
    #expect(try home.files().count == 2, "a search without --clean removes nothing")
    #expect(home.found(cleaning: true) == ["Trip/Photo/a b.jpg"])
    #expect(try home.files().keys.sorted() == ["\(folder)/1.png"])
    #expect(home.found() == [])
  }

  /// URIs that resemble one of the mount.
  @Test func neighboursStay() throws {
    let encoded = home.uri("Album")
    let neighbours = [
      home.uri("Album2/a.jpg"), home.uri("Album.old/a.jpg"), home.uri("Albu/m/a.jpg"),
      home.uri("album/a.jpg"), home.uri("Pictures/Album/a.jpg"),
      home.uri("Album/../Pictures/a.jpg"),
      encoded + "%32/a.jpg", encoded + "%20/a.jpg",
      encoded.replacing("file://", with: "sftp://host"), encoded.replacing("file:", with: "trash:"),
      encoded.replacing("file://", with: "file://another-machine"), "Album/a.jpg", "", "file:", "%",
    ]
    for (number, uri) in neighbours.enumerated() {
      try home.write(".cache/thumbnails/large/\(number).png", PNG.thumbnail(of: uri))
    }
    let before = try home.files()
    #expect(home.found(cleaning: true) == [])
    #expect(try home.files() == before)
  }

  /// The path of one picture may be spelled in many ways.
  @Test func everySpellingOfAPathIsRecognised() throws {
    let plain = "file://" + home.album
    let spellings = [
      home.uri("Album/a.jpg"), plain + "/a.jpg", "file://localhost" + home.album + "/a.jpg",
      "FILE://" + home.album + "//a.jpg", plain + "/./a.jpg", plain + "/b/../a.jpg",
      "file:" + home.album + "/a.jpg", "file://" + home.home + "/%41lbum/%61.jpg",
      "file://" + home.home + "/Pictures/../Album/a.jpg",
    ]
    for (number, uri) in spellings.enumerated() {
      try home.write(".cache/thumbnails/large/\(number).png", PNG.thumbnail(of: uri))
    }
    #expect(home.found() == spellings.map { _ in "a.jpg" })
  }

  /// gvfs names a file of a trash on the mount by its path, with backslashes, encoded twice.
  @Test func filesInATrashOnTheMountAreRecognised() throws {
    func trashed(_ path: String) -> String {
      let once = home.uri(path).dropFirst("file://".count)
      let escaped = once.split(separator: "/").map {
        $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
      }
      return "trash:///%5C" + escaped.joined(separator: "%5C")
    }
    let names = [
      trashed("Album/.Trash-1000/files/a\\b`c d%é.jpg"), trashed("Album2/.Trash-1000/files/b.jpg"),
      "trash:///c.jpg", "trash:///", "trash:///%5C", "trash:///%5C%2500",
    ]
    for (number, uri) in names.enumerated() {
      try home.write(".cache/thumbnails/normal/\(number).png", PNG.thumbnail(of: uri))
    }
    #expect(home.found(cleaning: true) == [".Trash-1000/files/a\\b`c d%é.jpg"])
    #expect(try home.files().count == names.count - 1)
  }

  @Test func namesWithNewlinesPercentSignsAndOtherEncodingsAreRecognised() throws {
    let uris = ["Album/two%0Alines.jpg", "Album/100%25.jpg", "Album/50%.jpg", "Album/%FFx%FE.jpg"]
    for (number, uri) in uris.enumerated() {
      let name = ".cache/thumbnails/large/\(number).png"
      try home.write(name, PNG.thumbnail(of: "file://\(home.home)/\(uri)"))
    }
    let paths = Set(home.search().traces.map { $0.path ?? [] })
    #expect(
      paths == [
        Array("two\nlines.jpg".utf8), Array("100%.jpg".utf8), Array("50%.jpg".utf8),
        [0xFF, UInt8(ascii: "x"), 0xFE] + Array(".jpg".utf8),
      ])
  }

  /// The text may come after the picture, in another chunk, and compressed.
  @Test func theTextIsFoundInEveryChunkThatMayHoldIt() throws {
    let uri = home.uri("Album/a.jpg")
    let international =
      Array("Thumb::URI".utf8) + [0, 0, 0] + Array("en".utf8) + [0, 0] + Array(uri.utf8)
    // zlib without compression: one stored block.
    let count = uri.utf8.count
    let stored: [UInt8] =
      [0x78, 0x01, 0x01] + [UInt8(count), 0, ~UInt8(count), 0xFF] + Array(uri.utf8)
      + adler32(uri.utf8)
    let files = [
      PNG.file(
        PNG.chunk("IDAT", [UInt8](repeating: 7, count: 30_000)), PNG.text("Thumb::URI", uri)),
      PNG.file(PNG.chunk("iTXt", international)),
      PNG.file(PNG.chunk("zTXt", Array("Thumb::URI".utf8) + [0, 0] + stored)),
      PNG.file(
        PNG.chunk("iTXt", Array("Thumb::URI".utf8) + [0, 1, 0, 0, 0] + stored)),
      PNG.file(
        PNG.text("Software", "x"), PNG.text("Thumb::URIx", "x"), PNG.text("Thumb::URI", uri)),
    ]
    for (number, file) in files.enumerated() {
      try home.write(".cache/thumbnails/large/\(number).png", file)
    }
    #expect(home.found().count == files.count)
  }

  /// The checksum at the end of zlib's format (RFC 1950).
  private func adler32(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      a = (a + UInt32(byte)) % 65_521
      b = (b + a) % 65_521
    }
    return [b >> 8, b, a >> 8, a].map { UInt8(truncatingIfNeeded: $0) }
  }

  /// Qt compresses texts of 40 characters and more. zlib compressed these, one with a code of its own.
  @Test func compressedTextsAreRead() throws {
    let tree = try #require(TracedTree(["/home/ann/Album"]))
    let texts: [String: String?] = [
      TextSamples.damaged: nil,
      TextSamples.fixed: "Trip/Photo/IMG_0001.jpg", TextSamples.dynamic: TextSamples.long,
    ]
    for (base64, path) in texts {
      let data = try #require(Data(base64Encoded: base64))
      let chunk = PNG.chunk("zTXt", Array("Thumb::URI".utf8) + [0, 0] + [UInt8](data))
      try home.write(".cache/thumbnails/large/0.png", PNG.file(chunk))
      let search = TraceSearch.run(tree, in: home.places, cleaning: false, gvfs: NoGvfs())
      #expect(
        search.traces.map { String(decoding: $0.path ?? [], as: UTF8.self) }
          == [path].compactMap(\.self))
    }
  }

  /// A user who can write to the cache can neither stop the search nor lead it elsewhere.
  @Test func hostileFilesAreLeftAlone() throws {
    let folder = ".cache/thumbnails/large"
    let outside = home.scratch.path("outside.png")
    try Data(PNG.thumbnail(of: home.uri("Album/a.jpg"))).write(to: URL(fileURLWithPath: outside))
    try home.write("\(folder)/empty.png", "")
    try home.write("\(folder)/noise.png", [UInt8](repeating: 0xAA, count: 5000))
    try home.write(
      "\(folder)/short.png", PNG.signature + PNG.number(100) + Array("tEXtThumb::URI".utf8))
    // A chunk that claims to be longer than any file, and thousands of chunks of nothing.
    try home.write(
      "\(folder)/long.png", PNG.signature + [0xFF, 0xFF, 0xFF, 0xFF] + Array("IDAT".utf8))
    let chunks = (0..<50_000).flatMap { _ in PNG.chunk("IDAT", []) }
    try home.write("\(folder)/many.png", PNG.signature + chunks)
    let path = home.home + "/" + folder
    let files = FileManager.default
    try files.createSymbolicLink(atPath: path + "/link.png", withDestinationPath: outside)
    try files.createDirectory(atPath: path + "/directory.png", withIntermediateDirectories: false)
    let isMade = unsafe mkfifo(path + "/fifo.png", 0o600) == 0
    #expect(isMade)
    try FileManager.default.createDirectory(
      atPath: home.scratch.path("normal"), withIntermediateDirectories: true)
    try Data(PNG.thumbnail(of: home.uri("Album/a.jpg")))
      .write(to: URL(fileURLWithPath: home.scratch.path("normal/b.png")))
    try files.createSymbolicLink(
      atPath: home.home + "/.cache/thumbnails/normal",
      withDestinationPath: home.scratch.path("normal"))
    let search = home.search(cleaning: true)
    #expect(search.traces == [])
    #expect(FileManager.default.fileExists(atPath: outside))
    #expect(FileManager.default.fileExists(atPath: home.scratch.path("normal/b.png")))
    let unseen = search.unseen.map { ($0.file as NSString).lastPathComponent }
    #expect(Set(unseen) == ["link.png", "fifo.png", "directory.png", "normal"])
  }

  @Test(.enabled(if: geteuid() == 0, "only root can make files of another user"))
  func filesOfAnotherUserStay() throws {
    let path = try home.write(
      ".cache/thumbnails/large/0.png", PNG.thumbnail(of: home.uri("Album/a.jpg")))
    try FileManager.default.setAttributes([.ownerAccountID: 65534], ofItemAtPath: path)
    let search = home.search(cleaning: true)
    #expect(search.traces == [])
    #expect(search.unseen == [UnseenFile(file: path, reason: .anotherUsers)])
  }

  @Test func aSearchWithALimitEndsAndSaysSo() throws {
    for number in 0..<50 {
      try home.write(
        ".cache/thumbnails/large/\(number).png", PNG.thumbnail(of: home.uri("Album/\(number).jpg")))
    }
    let search = home.search(limits: TraceLimits(files: 20, deadline: nil))
    #expect((1..<20).contains(search.traces.count))
    #expect(!search.isComplete)
    #expect(home.search().isComplete)
  }
}
