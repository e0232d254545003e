import AlbumFileSystem
import AlbumModel
import Posix
import Testing

// The rules of albums in users' words: albums, their Photo and Thumb, what may go where.

struct AlbumTests {
  let space: TestSpace
  init() throws { space = try TestSpace() }

  @Test func aNewAlbumHasPhotoAndThumbAtOnce() throws {
    try space.mkdir("Trip")
    #expect(try space.list("Trip") == ["Photo", "Thumb"])
    try space.mkdir("Trip/Day 1")
    #expect(try space.list("Trip/Day 1") == ["Photo", "Thumb"])
    try space.mkdir("photo")
    #expect(try space.list("photo") == ["Photo", "Thumb"], "other spellings are ordinary albums")
  }

  @Test func namesWithALeadingDotArePlainDirectories() throws {
    try space.mkdir(".Trash")
    #expect(try space.list(".Trash") == [])
    try space.mkdir(".Trash/files")
    #expect(try space.list(".Trash/files") == [])
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/Day 1")
    #expect(try space.list("Trip/Photo/Day 1") == [])
  }

  @Test func anEmptyAlbumCanBeRemovedAndAFullOneNot() throws {
    try space.mkdir("Trip")
    try space.rmdir("Trip")
    #expect(!space.exists("Trip"))
    try space.mkdir("Trip")
    try space.write("x", to: "Trip/Photo/a.jpg")
    #expect(refusal { try space.rmdir("Trip") } == .notEmpty)
    try space.unlink("Trip/Photo/a.jpg")
    try space.write("x", to: "Trip/Thumb/mine.jpg")
    #expect(refusal { try space.rmdir("Trip") } == .notEmpty)
    #expect(refusal { try space.rmdir("Trip/Thumb") } == .notEmpty)
  }

  @Test func rmOfAWholeAlbumAlwaysWorks() throws {
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/Day 1")
    try space.mkdir("Trip/Inner")
    for path in [
      "Trip/Photo/a.jpg", "Trip/b.jpg", "Trip/Photo/Day 1/c.jpg", "Trip/Inner/Photo/d.jpg",
    ] {
      try space.write(path, to: path)
    }
    try space.makeThumbnails()
    try space.removeAll("Trip")
    #expect(try space.list("") == [])
    #expect(space.fileSystem.counts().files == 0, "no thumbnail is left behind")
  }

  @Test func rmOfAnAlbumWorksWhileItsThumbnailsAreMade() throws {
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.removeAll("Trip/Thumb")
    try space.makeThumbnails()
    try space.removeAll("Trip/Photo")
    try space.rmdir("Trip")
  }

  @Test func aRemovedThumbComesBackWithTheNextPhotoAndARemovedPhotoWithMkdir() throws {
    try space.mkdir("Trip")
    try space.rmdir("Trip/Thumb")
    try space.rmdir("Trip/Photo")
    try space.mkdir("Trip/Photo")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of a")
  }

  /// A mirror of a folder without Thumb removes it, and finds it still removed the next time.
  @Test func aRemovedThumbStaysRemovedUntilItIsMade() throws {
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/Day 1")
    try space.mkdir(".plain")
    try space.mkdir(".plain/Day 2")
    try space.write("d", to: ".plain/Day 2/d.jpg")
    try space.rmdir("Trip/Thumb")
    try space.write("a", to: "Trip/a.jpg")
    try space.write("b", to: "b.jpg")
    try space.rename("b.jpg", "Trip/b.jpg")
    try space.write("c", to: "Trip/Photo/Day 1/c.jpg")
    try space.rename(".plain/Day 2", "Trip/Photo/Day 2")
    try space.makeThumbnails()
    #expect(try space.list("Trip") == ["Photo", "a.jpg", "b.jpg"])
    let albums = space.fileSystem.albumsWithoutThumb(under: .root)
    #expect(albums.map { String(decoding: $0, as: UTF8.self) } == ["Trip"])
    try space.mkdir("Trip/Thumb")
    #expect(try space.list("Trip/Thumb") == ["Day 1", "Day 2", "a.jpg", "b.jpg"])
    #expect(try space.text("Trip/Thumb/b.jpg") == "thumbnail of b")
    #expect(try space.text("Trip/Thumb/Day 1/c.jpg") == "thumbnail of c")
    #expect(try space.text("Trip/Thumb/Day 2/d.jpg") == "thumbnail of d")
    #expect(space.fileSystem.albumsWithoutThumb(under: .root).isEmpty)
  }

  @Test func photoAndThumbStayWhereTheyAre() throws {
    try space.mkdir("Trip")
    try space.mkdir(".plain")
    #expect(refusal { try space.rename("Trip/Photo", "Trip/Originals") } == .busy)
    #expect(refusal { try space.rename("Trip/Thumb", ".plain/Thumb") } == .busy)
    try space.mkdir(".plain/Photo")
    #expect(refusal { try space.rename(".plain/Photo", "Trip/Photo") } == .busy)
    #expect(
      refusal { try space.rename("Trip/Photo", "Trip/Thumb", exchange: true) } == .busy)
  }

  @Test func directoriesThatWouldChangeTheirKindHaveToBeCopied() throws {
    try space.mkdir("Trip")
    try space.mkdir("Other")
    try space.mkdir(".plain")
    try space.mkdir(".plain/dir")
    try space.mkdir("Trip/Photo/Day 1")
    #expect(refusal { try space.rename(".plain/dir", "dir") } == .crossDevice)
    #expect(refusal { try space.rename(".plain/dir", "Trip/dir") } == .crossDevice)
    #expect(refusal { try space.rename("Trip/Photo/Day 1", "Day 1") } == .crossDevice)
    #expect(refusal { try space.rename("Other", "Trip/Photo/Other") } == .crossDevice)
    #expect(refusal { try space.rename("Other", "Trip/Thumb/Other") } == .crossDevice)
    #expect(
      refusal { try space.rename("Other", ".plain/dir", exchange: true) } == .crossDevice)
    try space.rename(".plain/dir", "Trip/Photo/dir")
    try space.rename("Trip/Photo/dir", ".plain/dir2")
  }

  @Test func anAlbumGoesIntoTheTrashAndBack() throws {
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    try space.mkdir(".Trash")
    try space.rename("Trip", ".Trash/Trip")
    #expect(try space.text(".Trash/Trip/Thumb/a.jpg") == "thumbnail of a")
    try space.rename(".Trash/Trip", "Back")
    #expect(try space.text("Back/Thumb/a.jpg") == "thumbnail of a")
    try space.mkdir("Back/Inner")
    #expect(try space.list("Back/Inner") == ["Photo", "Thumb"], "it is still an album")
  }

  @Test func anEmptyAlbumCanBeRenamedOver() throws {
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.mkdir("Empty")
    try space.rename("Trip", "Empty")
    #expect(try space.text("Empty/Photo/a.jpg") == "a")
    try space.mkdir("Full")
    try space.write("b", to: "Full/Photo/b.jpg")
    #expect(refusal { try space.rename("Empty", "Full") } == .notEmpty)
  }

  @Test func aDirectoryDoesNotGoIntoItself() throws {
    try space.mkdir("Trip")
    try space.mkdir("Trip/Inner")
    #expect(refusal { try space.rename("Trip", "Trip/Inner/Trip") } == .invalid)
  }

  @Test func tidyMovesPhotosIntoPhotoAndRefusesClashes() throws {
    try space.mkdir("Trip")
    try space.write("right", to: "Trip/a.jpg")
    try space.write("right", to: "Trip/b.jpg")
    try space.write("photo", to: "Trip/Photo/b.jpg")
    try space.write("", to: "Trip/.hidden")
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/b.jpg") == "thumbnail of photo", "Photo's wins")
    let report = try space.fileSystem.tidy(space.number("Trip"))
    #expect(report.moves.map { String(decoding: $0.path, as: UTF8.self) } == ["Trip/a.jpg"])
    #expect(report.clashes.map { String(decoding: $0, as: UTF8.self) } == ["Trip/b.jpg"])
    #expect(try space.text("Trip/Photo/a.jpg") == "right")
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of right")
    #expect(try space.text("Trip/Photo/b.jpg") == "photo")
    #expect(try space.text("Trip/b.jpg") == "right")
    let (trip, photo) = (try space.number("Trip"), try space.number("Trip/Photo"))
    let name = try FileName("a.jpg")
    #expect(
      space.observer.changes.suffix(2) == [
        .name(name, in: trip, album: trip, isThere: false),
        .name(name, in: photo, album: trip, isThere: true),
      ])
    #expect(refusal { try space.fileSystem.tidy(space.number("Trip/Photo")) } == .invalid)
  }

  @Test func aPreviewOfTidySaysWhatItWouldDoAndMovesNothing() throws {
    try space.mkdir("Trip")
    for name in ["a.jpg", "b.jpg"] { try space.write(name, to: "Trip/\(name)") }
    try space.write("photo", to: "Trip/Photo/b.jpg")
    let report = try space.fileSystem.tidy(nil, preview: true)
    #expect(report.moves.map { String(decoding: $0.path, as: UTF8.self) } == ["Trip/a.jpg"])
    #expect(report.clashes.map { String(decoding: $0, as: UTF8.self) } == ["Trip/b.jpg"])
    #expect(try space.list("Trip/Photo") == ["b.jpg"])
    #expect(try space.text("Trip/a.jpg") == "a.jpg")
  }

  @Test func tidyCanBeUndone() throws {
    try space.mkdir("Trip")
    for name in ["a.jpg", "b.jpg", "c.jpg", "d.jpg"] { try space.write(name, to: "Trip/\(name)") }
    let report = try space.fileSystem.tidy(nil)
    // In the meantime one photo was removed and replaced, one was renamed, and the old place of one was
    // taken.
    try space.unlink("Trip/Photo/b.jpg")
    try space.write("another", to: "Trip/Photo/b.jpg")
    try space.rename("Trip/Photo/c.jpg", "Trip/Photo/mine.jpg")
    try space.write("in its place", to: "Trip/d.jpg")
    let undone = try space.fileSystem.undo(report.moves)
    #expect(undone.moves.map { String(decoding: $0.path, as: UTF8.self) } == ["Trip/a.jpg"])
    #expect(undone.clashes.map { String(decoding: $0, as: UTF8.self) } == ["Trip/d.jpg"])
    #expect(try space.text("Trip/a.jpg") == "a.jpg")
    #expect(try space.list("Trip/Photo") == ["b.jpg", "d.jpg", "mine.jpg"])
    #expect(try space.text("Trip/d.jpg") == "in its place")
  }

  @Test func theCoverIsAPhotoOfTheAlbum() throws {
    let cover = Array("user.albumfs.cover".utf8)
    func set(_ name: String) throws {
      try space.fileSystem.setExtendedAttribute(
        cover, to: Array(name.utf8), of: space.number("Trip"), mode: AttributeMode())
    }
    func get() throws -> String {
      String(
        decoding: try space.fileSystem.extendedAttribute(cover, of: space.number("Trip")),
        as: UTF8.self)
    }
    try space.mkdir("Trip")
    #expect(refusal { try get() } == .noAttribute)
    try space.write("b", to: "Trip/Photo/b.jpg")
    try space.write("a", to: "Trip/a.jpg")
    #expect(try get() == "a.jpg", "the first by name when not set")
    try set("b.jpg")
    #expect(try get() == "b.jpg")
    #expect(refusal { try set("c.jpg") } == .invalid)
    #expect(refusal { try set("../x") } == .invalid)
    try space.unlink("Trip/Photo/b.jpg")
    #expect(try get() == "a.jpg")
  }
}

/// Names that a repair gives to files. They were written into the journal long ago, perhaps by an attacker.
struct RecoveredNameTests {
  @Test func bytesThatAreTooManyForANameKeepTheirExtension() throws {
    let name = try FileName(cutting: [UInt8](repeating: 65, count: 700) + Array(".jpg".utf8))
    #expect(name.bytes.count == FileName.maximumLength)
    #expect(name.display.hasSuffix("A.jpg"))
    #expect(try FileName(cutting: Array("a.jpg".utf8)) == FileName("a.jpg"))
  }

  @Test(arguments: ["", ".", "..", "a/b", "a\0b.jpg"]) func bytesThatAreNoNameAreRefused(
    _ text: String
  ) {
    #expect(throws: FileName.Invalid.self) { try FileName(cutting: Array(text.utf8)) }
  }
}
