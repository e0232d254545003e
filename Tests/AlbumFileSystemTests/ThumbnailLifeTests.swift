import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumStore
import Posix
import Testing

/// A thumbnail never outlives the picture that it shows, however that picture was replaced.
struct ThumbnailLifeTests {
  /// A way to get other content into a photo without removing it.
  enum Way: CaseIterable {
    case anew, nothing, inPlace, shorter, longer, hole, copied
  }

  let space: TestSpace
  init() throws {
    space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("a picture of a person", to: "Trip/Photo/a.jpg")
    try space.write("text that is no picture", to: "Trip/note.txt")
    try space.makeThumbnails()
  }

  private func overwrite(_ way: Way) throws {
    let path = "Trip/Photo/a.jpg"
    switch way {
    case .anew: try space.write("text", to: path)
    case .nothing: try space.open(path, writes: true, truncates: true).release()
    case .shorter, .longer:
      var change = AttributeChange()
      change.size = way == .shorter ? 3 : 3000
      _ = try space.fileSystem.change(change, of: space.number(path))
    case .inPlace, .hole, .copied:
      let file = try space.open(path, writes: true)
      defer { file.release() }
      if way == .inPlace { try file.put(Array("text".utf8), at: 0) }
      if way == .hole {
        let mode = AllocationMode(keepsSize: true, punchesHole: true)
        try file.allocate(at: 0, length: 8, mode: mode)
      }
      if way == .copied {
        let source = try space.open("Trip/note.txt")
        defer { source.release() }
        _ = try space.fileSystem.copyRange(
          of: source, at: 0, to: file, at: 0, length: 10)
      }
      try file.flush()
    }
  }

  @Test(arguments: Way.allCases) func itGoesWithTheContentThatItShows(_ way: Way) throws {
    #expect(try space.list("Trip/Thumb").contains("a.jpg"))
    try overwrite(way)
    #expect(!space.exists("Trip/Thumb/a.jpg"), "before the new one is made")
    #expect(try !space.list("Trip/Thumb").contains("a.jpg"))
    while let photo = space.fileSystem.nextPhoto() {
      space.fileSystem.fail(photo, reason: .notAPicture)
    }
    #expect(!space.exists("Trip/Thumb/a.jpg"), "what is there now is no picture")
    try space.remount()
    #expect(!space.exists("Trip/Thumb/a.jpg"), "after a remount")
    try space.fileSystem.retryThumbnails(.all)
    #expect(!space.exists("Trip/Thumb/a.jpg"), "while all are made again")
    while let photo = space.fileSystem.nextPhoto() {
      space.fileSystem.fail(photo, reason: .notAPicture)
    }
    #expect(!space.exists("Trip/Thumb/a.jpg"), "after all were made again")
    try space.crash()
    #expect(!space.exists("Trip/Thumb/a.jpg"), "after a crash")
  }

  @Test func itStaysWhileAllAreMadeAgainAndWhereThatFails() throws {
    try space.fileSystem.retryThumbnails(.all)
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of a picture of a person")
    while let photo = space.fileSystem.nextPhoto() {
      space.fileSystem.fail(photo, reason: .timedOut)
    }
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of a picture of a person")
    try space.remount()
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of a picture of a person")
  }

  @Test func renamesAndChangesOfAttributesDoNotCostIt() throws {
    var change = AttributeChange()
    change.permissions = 0o600
    change.modified = .at(Timestamp(seconds: 5, nanoseconds: 0))
    _ = try space.fileSystem.change(change, of: space.number("Trip/Photo/a.jpg"))
    try space.rename("Trip/Photo/a.jpg", "Trip/Photo/b.jpg")
    try space.remount()
    #expect(try space.text("Trip/Thumb/b.jpg") == "thumbnail of a picture of a person")
    #expect(space.fileSystem.nextPhoto()?.inode != (try space.number("Trip/Photo/b.jpg")))
  }

  @Test func oneThatShowsOtherContentIsHiddenAndMadeAnewAfterTheNextMount() throws {
    // A repair that puts zeros where a photo cannot be read leaves this state.
    let photo = try space.number("Trip/Photo/a.jpg")
    space.space.change { catalog in
      let index = catalog.index(of: photo)!
      catalog.update(index) { $0.contentVersion += 1 }
    }
    #expect(!space.exists("Trip/Thumb/a.jpg"))
    #expect(try space.list("Trip/Thumb") == [])
    try space.remount()
    #expect(!space.exists("Trip/Thumb/a.jpg"))
    #expect(try space.makeThumbnails() == 1)
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of a picture of a person")
  }

  @Test func aRemovedPhotoNeedsNoThumbnailThoughSomebodyHasItOpen() throws {
    try space.write("another", to: "Trip/Photo/b.jpg")
    let version = try #require(space.fileSystem.nextPhoto())
    let reader = try space.open("Trip/Photo/b.jpg")
    #expect(space.fileSystem.photoSize(version) == 7)
    try space.unlink("Trip/Photo/b.jpg")
    #expect(space.fileSystem.photoSize(version) == nil, "who decodes it is told")
    space.fileSystem.abandon(version)
    reader.release()
  }
}
