import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Testing

/// A photo tells when it was taken and how large it is, and can be turned without touching its content.
struct PhotoAttributeTests {
  static let taken = "user.albumfs.taken"
  static let dimensions = "user.albumfs.dimensions"
  static let rotation = "user.albumfs.rotation"
  static let photo = "Trip/Photo/a.jpg"

  let space: TestSpace

  init() throws {
    space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("a picture", to: Self.photo)
  }

  private static let facts = PictureFacts(
    dimensions: PictureDimensions(width: 4000, height: 3000),
    taken: CaptureTime(Array("2023-05-04T12:33:10+02:00".utf8)))

  /// Does the thumbnailer's work for all photos that wait.
  private func makeThumbnails(_ facts: PictureFacts = facts) throws {
    while let photo = space.fileSystem.nextPhoto() {
      try space.fileSystem.finish(photo, thumbnail: Array("thumbnail".utf8), facts: facts)
    }
  }

  private func get(_ name: String, of path: String = photo) throws -> String? {
    do throws(FSError) {
      let number = try { () throws(FSError) in try space.fileSystem.resolve(path: Array(path.utf8))
      }()
      let value = try space.fileSystem.extendedAttribute(Array(name.utf8), of: number)
      return String(decoding: value, as: UTF8.self)
    } catch {
      if error.code == .noAttribute { return nil }
      throw error
    }
  }

  private func set(_ name: String, _ value: String, of path: String = photo) throws {
    try space.fileSystem.setExtendedAttribute(
      Array(name.utf8), to: Array(value.utf8), of: space.number(path), mode: AttributeMode())
  }

  private func remove(_ name: String, of path: String = photo) throws {
    try space.fileSystem.removeExtendedAttribute(Array(name.utf8), of: space.number(path))
  }

  private func names(_ path: String = photo) throws -> [String] {
    try space.fileSystem.extendedAttributeNames(of: space.number(path))
      .map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  @Test func aPhotoTellsItsDateAndItsSizeWhenItsThumbnailIsMade() throws {
    #expect(try get(Self.taken) == nil)
    #expect(try names() == [])
    try makeThumbnails()
    #expect(try get(Self.taken) == "2023-05-04T12:33:10+02:00")
    #expect(try get(Self.dimensions) == "4000x3000")
    #expect(try names() == [], "rsync -aX would copy or remove them for ever")
    #expect(try names("Trip/Thumb/a.jpg") == [], "what albumfs keeps there is its own")
    try space.remount()
    #expect(try get(Self.taken) == "2023-05-04T12:33:10+02:00", "after a remount")
    try space.rename(Self.photo, "Trip/Photo/b.jpg")
    #expect(try get(Self.dimensions, of: "Trip/Photo/b.jpg") == "4000x3000", "wherever it goes")
  }

  @Test func theyGoWithTheContent() throws {
    try makeThumbnails()
    try space.write("another picture", to: Self.photo)
    #expect(try get(Self.taken) == nil && get(Self.dimensions) == nil)
    #expect(try names() == [])
    try makeThumbnails(PictureFacts(dimensions: PictureDimensions(width: 2, height: 1)))
    #expect(try get(Self.taken) == nil)
    #expect(try get(Self.dimensions) == "2x1")
  }

  @Test func aPictureThatCannotBeDecodedHasNone() throws {
    while let photo = space.fileSystem.nextPhoto() {
      space.fileSystem.fail(photo, reason: .damaged)
    }
    #expect(try names() == [])
  }

  @Test func aUserCorrectsADateAndGetsTheOtherBack() throws {
    try makeThumbnails()
    try set(Self.taken, "1999-12-31T23:59:59")
    try set("user.note", "mine")
    #expect(try get(Self.taken) == "1999-12-31T23:59:59")
    #expect(try names() == [Self.taken, "user.note"])
    try space.remount()
    #expect(try get(Self.taken) == "1999-12-31T23:59:59")
    try remove(Self.taken)
    #expect(try get(Self.taken) == "2023-05-04T12:33:10+02:00")
    try remove(Self.taken)
    #expect(try get(Self.taken) == "2023-05-04T12:33:10+02:00", "what the picture tells stays")
  }

  /// `cp -a` and `rsync -X` set at the copy what they found at the photo.
  @Test func aCopyWithAttributesFollowsItsContentLater() throws {
    try set(Self.taken, "2023-05-04T12:33:10+02:00")
    try set(Self.dimensions, "4000x3000")
    try makeThumbnails()
    #expect(try get(Self.taken) == "2023-05-04T12:33:10+02:00")
    try space.write("another picture", to: Self.photo)
    #expect(try names() == [])
  }

  @Test(arguments: [
    (taken, "yesterday"), (taken, "2023-02-30T10:00:00"), (taken, "2023-05-04"),
    (dimensions, "large"),
    (dimensions, "0x0"), (rotation, "45"), (rotation, ""), (rotation, "90 "),
  ])
  func whatMeansNothingIsRefused(name: String, value: String) throws {
    #expect(refusal { try set(name, value) } == .invalid)
    #expect(try names() == [])
  }

  @Test func aTurnedPhotoGetsAnotherThumbnail() throws {
    try makeThumbnails()
    let former = try space.status("Trip/Thumb/a.jpg").inode
    try set(Self.rotation, "90")
    #expect(try space.status("Trip/Thumb/a.jpg").inode == former, "until the new one is there")
    let photo = try #require(space.fileSystem.nextPhoto())
    #expect(photo.rotation == .quarter)
    try space.fileSystem.finish(photo, thumbnail: [1], facts: Self.facts)
    #expect(try space.status("Trip/Thumb/a.jpg").inode != former)
    #expect(try space.text(Self.photo) == "a picture")
    try set(Self.rotation, "90")
    #expect(space.fileSystem.nextPhoto() == nil, "nothing has changed")
    try remove(Self.rotation)
    #expect(space.fileSystem.nextPhoto()?.rotation == Rotation.none)
  }

  @Test func aThumbnailThatWasTurnedTooLateIsDropped() throws {
    let early = try #require(space.fileSystem.nextPhoto())
    try set(Self.rotation, "180")
    #expect(space.fileSystem.photoSize(early) == nil, "the work on it ends")
    try space.fileSystem.finish(early, thumbnail: [1], facts: Self.facts)
    #expect(!space.exists("Trip/Thumb/a.jpg"))
    #expect(space.fileSystem.nextPhoto()?.rotation == .half)
  }

  /// Thumbnails that an older albumfs made lack what it did not keep.
  @Test func olderThumbnailsAreMadeAgainOnRequest() throws {
    try makeThumbnails(PictureFacts())
    #expect(try get(Self.dimensions) == nil)
    #expect(try space.fileSystem.retryThumbnails(.failed) == 0)
    #expect(try space.fileSystem.retryThumbnails(.missing) == 1)
    try makeThumbnails()
    #expect(try get(Self.dimensions) == "4000x3000")
    #expect(try space.fileSystem.retryThumbnails(.missing) == 0)
  }

  @Test func aThumbnailThatBecomesTheUsersOwnTellsNothing() throws {
    try makeThumbnails()
    try space.write("mine", to: "Trip/Thumb/a.jpg")
    #expect(try names() == [])
    #expect(try names("Trip/Thumb/a.jpg") == [])
  }
}

/// Photos go into albums by their day.
struct TidyByDateTests {
  let space: TestSpace

  init() throws {
    space = try TestSpace()
    try space.mkdir("Phone")
    try space.write("a picture", to: "Phone/a.jpg")
    try space.write("b picture", to: "Phone/Photo/b.jpg")
    try space.write("text", to: "Phone/note.txt")
  }

  private func makeThumbnails() throws {
    while let photo = space.fileSystem.nextPhoto() {
      let first = space.content(of: photo)?.first
      let day =
        first == UInt8(ascii: "a") ? "2023-05-04" : first == UInt8(ascii: "b") ? "2024-02-29" : nil
      if first == UInt8(ascii: "t") {
        space.fileSystem.fail(photo, reason: .notAPicture)
        continue
      }
      try space.fileSystem.finish(
        photo, thumbnail: [1],
        facts: PictureFacts(
          dimensions: PictureDimensions(width: 1, height: 1),
          taken: day.flatMap { CaptureTime(Array("\($0)T12:00:00".utf8)) }))
    }
  }

  private func tidy(preview: Bool = false) throws -> TidyReport {
    try space.fileSystem.tidyByDate(space.number("Phone"), preview: preview)
  }

  @Test func theyMoveAndTheirThumbnailsFollow() throws {
    try makeThumbnails()
    #expect(try tidy(preview: true).moves.count == 2)
    #expect(space.exists("Phone/a.jpg"), "a preview moves nothing")
    let report = try tidy()
    #expect(
      report.moves.map { String(decoding: $0.newPath, as: UTF8.self) } == [
        "Phone/2023-05-04/Photo/a.jpg", "Phone/2024-02-29/Photo/b.jpg",
      ])
    #expect(try space.text("Phone/2023-05-04/Photo/a.jpg") == "a picture")
    #expect(space.exists("Phone/2023-05-04/Thumb/a.jpg"))
    #expect(try space.list("Phone/Photo") == [] && space.exists("Phone/note.txt"))
    #expect(try tidy().moves.isEmpty)
    let undone = try space.fileSystem.undo(report.moves)
    #expect(undone.moves.count == 2)
    #expect(try space.list("Phone") == ["Photo", "Thumb", "a.jpg", "note.txt"])
    #expect(try space.list("Phone/Photo") == ["b.jpg"])
    #expect(try space.list("Phone/Thumb") == ["a.jpg", "b.jpg"])
  }

  @Test func nothingIsOverwritten() throws {
    try makeThumbnails()
    try space.mkdir("Phone/2023-05-04")
    try space.write("other", to: "Phone/2023-05-04/Photo/a.jpg")
    try space.write("text", to: "Phone/2024-02-29")
    try makeThumbnails()
    for preview in [true, false] {
      let report = try tidy(preview: preview)
      #expect(report.moves.isEmpty)
      #expect(report.clashes.count == 2)
    }
    #expect(try space.text("Phone/2023-05-04/Photo/a.jpg") == "other")
  }

  @Test func aPhotoWhoseDateIsNotKnownYetStays() throws {
    let report = try tidy()
    #expect(report.moves.isEmpty && report.undated.count == 3)
  }

  @Test func aPhotoWithoutADateGoesByItsFile() throws {
    try space.write("c picture", to: "Phone/c.jpg")
    var change = AttributeChange()
    // Noon in UTC is the same day in most places.
    change.modified = .at(Timestamp(seconds: 1_000_123_200, nanoseconds: 0))
    _ = try space.fileSystem.change(change, of: space.number("Phone/c.jpg"))
    try makeThumbnails()
    _ = try tidy()
    #expect(space.exists("Phone/2001-09-10/Photo/c.jpg"))
  }
}

/// What belongs to a photo moves with it.
struct TidyGroupTests {
  let space: TestSpace

  init() throws {
    space = try TestSpace()
    try space.mkdir("Phone")
  }

  /// A file that begins with a letter is a photo of that letter's date; any other is none.
  private func makeThumbnails(_ dates: [Character: String]) throws {
    while let photo = space.fileSystem.nextPhoto() {
      let text = String(decoding: space.content(of: photo) ?? [], as: UTF8.self)
      guard text.hasSuffix("picture") || text.hasSuffix("film") else {
        space.fileSystem.fail(photo, reason: .notAPicture)
        continue
      }
      try space.fileSystem.finish(
        photo, thumbnail: [1],
        facts: PictureFacts(
          dimensions: PictureDimensions(width: 1, height: 1),
          taken: text.first.flatMap { dates[$0] }.flatMap { CaptureTime(Array($0.utf8)) },
          duration: text.hasSuffix("film") ? VideoDuration(milliseconds: 1000) : nil))
    }
  }

  private func tidy() throws -> TidyReport {
    try space.fileSystem.tidyByDate(space.number("Phone"))
  }

  @Test func aGroupGoesByTheDateOfItsPhoto() throws {
    try space.write("a picture", to: "Phone/Photo/IMG_1.HEIC")
    try space.write("b film", to: "Phone/Photo/IMG_1.MOV")
    try space.write("edit", to: "Phone/Photo/IMG_1.AAE")
    try space.write("text", to: "Phone/Photo/IMG_1.HEIC.xmp")
    try space.write("c picture", to: "Phone/Photo/IMG_1-edited.jpg")
    try space.write("alone", to: "Phone/Photo/IMG_2.AAE")
    try makeThumbnails([
      "a": "2023-05-04T23:30:00+02:00", "b": "2023-05-04T21:30:00+00:00",
      "c": "2024-01-01T00:00:00",
    ])
    let report = try tidy()
    #expect(report.moves.count == 5)
    #expect(
      try space.list("Phone/2023-05-04/Photo") == [
        "IMG_1-edited.jpg", "IMG_1.AAE", "IMG_1.HEIC", "IMG_1.HEIC.xmp", "IMG_1.MOV",
      ])
    #expect(try space.list("Phone/Photo") == ["IMG_2.AAE"])
    #expect(try space.fileSystem.undo(report.moves).moves.count == 5)
    #expect(try space.list("Phone/Photo").count == 6 && !space.exists("Phone/2023-05-04"))
  }

  @Test func aGroupOfWhichOneNameIsTakenStaysTogether() throws {
    try space.write("a picture", to: "Phone/IMG_1.HEIC")
    try space.write("edit", to: "Phone/IMG_1.AAE")
    try space.mkdir("Phone/2023-05-04")
    try space.write("another edit", to: "Phone/2023-05-04/Photo/IMG_1.AAE")
    try space.write("a third edit", to: "Phone/Photo/IMG_1.AAE")
    try makeThumbnails(["a": "2023-05-04T12:00:00"])
    #expect(try tidy().clashes.count == 2)
    #expect(try space.fileSystem.tidy(space.number("Phone")).clashes.count == 2)
    #expect(space.exists("Phone/IMG_1.HEIC") && space.exists("Phone/IMG_1.AAE"))
    #expect(try space.text("Phone/2023-05-04/Photo/IMG_1.AAE") == "another edit")
  }

  @Test func aNameTellsTheDayWhereThePictureDoesNot() throws {
    try space.write("x picture", to: "Phone/IMG-20190505-WA0001.jpg")
    try space.write("a picture", to: "Phone/IMG_20190505_121314.jpg")
    try makeThumbnails(["a": "2023-05-04T12:00:00"])
    _ = try tidy()
    #expect(space.exists("Phone/2019-05-05/Photo/IMG-20190505-WA0001.jpg"))
    #expect(space.exists("Phone/2023-05-04/Photo/IMG_20190505_121314.jpg"))
  }

  /// The film states UTC. A photo beside it was taken in Auckland, where the next day had begun.
  @Test func aFilmGoesByTheClockOfThePhotoBesideIt() throws {
    try space.write("a picture", to: "Phone/IMG_1.jpg")
    try space.write("b film", to: "Phone/MVI_2.mp4")
    try makeThumbnails(["a": "2024-07-04T08:00:00+12:00", "b": "2024-07-03T20:00:00+00:00"])
    _ = try tidy()
    #expect(try space.list("Phone/2024-07-04/Photo") == ["IMG_1.jpg", "MVI_2.mp4"])
  }

  /// A copy of a NAS has a folder of thumbnails beside the photos.
  @Test func aFolderOfAnotherProgramBecomesNoAlbum() throws {
    for name in ["@eaDir", "Phone/@eaDir", "$RECYCLE.BIN", "Phone/__MACOSX"] {
      try space.mkdir(name)
      try space.write("a picture", to: "\(name)/thumb.jpg")
      #expect(try space.list(name) == ["thumb.jpg"])
    }
    #expect(space.fileSystem.nextPhoto() == nil, "nothing in it gets a thumbnail")
    try space.rename("@eaDir", "#recycle")
    #expect(throws: FSError.self) { try space.rename("#recycle", "Album") }
  }
}

/// The times of a Thumb tell that its thumbnails have changed.
struct ThumbTimesTests {
  let space: TestSpace

  init() throws {
    space = try TestSpace()
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/Day")
    try space.mkdir("Other")
  }

  /// True if the times of a directory have changed since the last call.
  private func changes(_ path: String, _ body: () throws -> Void) throws -> Bool {
    let before = try space.status(path)
    space.clock.advance(seconds: 10)
    try body()
    let after = try space.status(path)
    #expect((before.modified == after.modified) == (before.changed == after.changed))
    return after.modified > before.modified
  }

  @Test func theyChangeWhenAThumbnailComesOrGoes() throws {
    try space.write("a picture", to: "Trip/Photo/a.jpg")
    #expect(try changes("Trip/Thumb") { try space.makeThumbnails() })
    #expect(space.observer.times.contains(try space.number("Trip/Thumb")))
    #expect(try changes("Trip/Thumb") { try space.write("b picture", to: "Trip/Photo/a.jpg") })
    #expect(try changes("Trip/Thumb") { try space.makeThumbnails() })
    #expect(
      try changes("Trip/Thumb") { try space.rename("Trip/Photo/a.jpg", "Trip/Photo/Day/a.jpg") })
    #expect(
      try changes("Trip/Thumb/Day") {
        try space.rename("Trip/Photo/Day/a.jpg", "Trip/Photo/Day/b.jpg")
      })
    #expect(try changes("Trip/Thumb/Day") { try space.unlink("Trip/Photo/Day/b.jpg") })
  }

  @Test func theyDoNotChangeOtherwise() throws {
    try space.write("a picture", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    #expect(try !changes("Trip/Thumb") { try space.write("other", to: "Other/Photo/a.jpg") })
    #expect(try !changes("Trip/Thumb") { try space.makeThumbnails() })
    #expect(
      try !changes("Trip/Thumb") {
        try space.write("text", to: "Trip/Photo/note.txt")
        try space.makeThumbnails()
      })
  }

  @Test func theyAreThereAfterAnUnmountAndAfterThumbsMadeThemAgain() throws {
    try space.write("a picture", to: "Trip/a.jpg")
    try space.write("b picture", to: "Trip/Photo/Day/b.jpg")
    try space.makeThumbnails()
    let (top, day) = (try space.status("Trip/Thumb"), try space.status("Trip/Thumb/Day"))
    try space.remount()
    #expect(try space.status("Trip/Thumb") == top && space.status("Trip/Thumb/Day") == day)
    let again = {
      _ = try space.fileSystem.retryThumbnails(.all)
      try space.makeThumbnails()
    }
    #expect(try changes("Trip/Thumb", again))
    #expect(try changes("Trip/Thumb/Day", again))
  }

  /// `rsync -a` and `cp -a` set the times of a directory last.
  @Test func aUserSetsThem() throws {
    try space.write("a picture", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    var change = AttributeChange()
    change.modified = .at(Timestamp(seconds: 77, nanoseconds: 0))
    _ = try space.fileSystem.change(change, of: space.number("Trip/Thumb"))
    #expect(try space.status("Trip/Thumb").modified == Timestamp(seconds: 77, nanoseconds: 0))
  }
}
