import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Glibc
import Posix
import Synchronization
import Testing

// Every photo has its thumbnail in Thumb, under its own name, wherever it moves.

struct ThumbnailTests {
  let space: TestSpace
  init() throws {
    space = try TestSpace()
    try space.mkdir("Trip")
  }

  /// Makes a photo with its thumbnail.
  private func photo(_ path: String, _ content: String) throws {
    try space.write(content, to: path)
    try space.makeThumbnails()
  }

  @Test func aPhotoGetsItsThumbnailWhenItIsClosed() throws {
    let file = try space.create("Trip/Photo/a.jpg")
    try file.put(Array("picture".utf8), at: 0)
    try file.flush()
    #expect(try space.makeThumbnails() == 0, "somebody still writes")
    file.release()
    #expect(try space.makeThumbnails() == 1)
    #expect(try space.list("Trip/Thumb") == ["a.jpg"])
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of picture")
  }

  @Test func photosRightInTheAlbumGetThemAsWell() throws {
    try photo("Trip/a.jpg", "right")
    #expect(try space.list("Trip") == ["Photo", "Thumb", "a.jpg"])
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of right")
  }

  @Test func aThumbnailHasThePhotosTimesOwnerAndMode() throws {
    let file = try space.create("Trip/Photo/a.jpg")
    try file.put([1], at: 0)
    file.release()
    var change = AttributeChange()
    change.permissions = 0o750
    change.owner = 5
    change.group = 6
    change.modified = .at(Timestamp(seconds: 77, nanoseconds: 8))
    _ = try space.fileSystem.change(change, of: space.number("Trip/Photo/a.jpg"))
    try space.makeThumbnails()
    let status = try space.status("Trip/Thumb/a.jpg")
    #expect(status.permissions == 0o640)
    #expect(status.owner == 5 && status.group == 6)
    #expect(status.modified == Timestamp(seconds: 77, nanoseconds: 8))
    #expect(status.links == 1)
    change.modified = .at(Timestamp(seconds: 78, nanoseconds: 9))
    _ = try space.fileSystem.change(change, of: space.number("Trip/Photo/a.jpg"))
    #expect(
      try space.status("Trip/Thumb/a.jpg").modified == Timestamp(seconds: 78, nanoseconds: 9))
    try space.remount()
    #expect(try space.status("Trip/Thumb/a.jpg").inode == status.inode, "stable across mounts")
  }

  @Test func onlyPhotosGetThumbnails() throws {
    try space.write("root", to: "note.txt")
    try space.write("hidden", to: "Trip/Photo/.a.jpg.Xy12")
    try space.mkdir("Trip/Photo/.cache")
    try space.write("hidden", to: "Trip/Photo/.cache/a.jpg")
    try space.write("mine", to: "Trip/Thumb/mine.jpg")
    try space.mkdir(".plain")
    try space.write("plain", to: ".plain/a.jpg")
    try space.write("", to: "Trip/Photo/empty.jpg")
    #expect(try space.makeThumbnails() == 0)
    #expect(try space.list("Trip/Thumb") == ["mine.jpg"])
  }

  @Test func rsyncsTemporaryFileGetsOneWhenItIsRenamed() throws {
    try photo("Trip/Photo/.a.jpg.Xy12", "picture")
    #expect(try space.list("Trip/Thumb") == [])
    try space.rename("Trip/Photo/.a.jpg.Xy12", "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of picture")
  }

  @Test func aThumbnailFollowsItsPhoto() throws {
    try space.mkdir("Other")
    try space.mkdir(".Trash")
    try photo("Trip/Photo/a.jpg", "a")
    let inode = try space.number("Trip/Thumb/a.jpg")
    try space.rename("Trip/Photo/a.jpg", "Trip/Photo/b.jpg")
    #expect(try space.list("Trip/Thumb") == ["b.jpg"])
    try space.rename("Trip/Photo/b.jpg", "Other/Photo/c.jpg")
    #expect(try space.list("Trip/Thumb") == [])
    #expect(try space.number("Other/Thumb/c.jpg") == inode)
    try space.rename("Other/Photo/c.jpg", ".Trash/c.jpg")
    #expect(try space.list("Other/Thumb") == [])
    try space.rename(".Trash/c.jpg", "Trip/Photo/a.jpg")
    #expect(try space.number("Trip/Thumb/a.jpg") == inode)
    #expect(try space.makeThumbnails() == 0, "nothing was made anew")
    try space.unlink("Trip/Photo/a.jpg")
    #expect(try space.list("Trip/Thumb") == [])
    #expect(space.fileSystem.counts().files == 0)
  }

  @Test func exchangedPhotosExchangeTheirThumbnails() throws {
    try photo("Trip/Photo/a.jpg", "a")
    try photo("Trip/Photo/b.jpg", "b")
    try space.rename("Trip/Photo/a.jpg", "Trip/Photo/b.jpg", exchange: true)
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of b")
    #expect(try space.text("Trip/Thumb/b.jpg") == "thumbnail of a")
  }

  @Test func aChangedPhotoGetsANewThumbnailInANewInode() throws {
    try photo("Trip/Photo/a.jpg", "one")
    let former = try space.number("Trip/Thumb/a.jpg")
    try space.write("two", to: "Trip/Photo/a.jpg")
    #expect(!space.exists("Trip/Thumb/a.jpg"), "that of what is gone is gone")
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of two")
    #expect(try space.number("Trip/Thumb/a.jpg") != former)
  }

  @Test func aPhotoThatChangesWhileItsThumbnailIsMadeIsDoneAgain() throws {
    try space.write("one", to: "Trip/Photo/a.jpg")
    let first = try #require(space.fileSystem.nextPhoto())
    try space.write("two", to: "Trip/Photo/a.jpg")
    #expect(space.content(of: first) == nil, "that version is gone")
    try space.fileSystem.finish(first, thumbnail: [1])
    #expect(!space.exists("Trip/Thumb/a.jpg"))
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of two")
  }

  @Test func removingAThumbnailRemovesOnlyItUntilThePhotoChanges() throws {
    try photo("Trip/Photo/a.jpg", "one")
    try space.unlink("Trip/Thumb/a.jpg")
    #expect(try space.list("Trip/Thumb") == [])
    #expect(try space.text("Trip/Photo/a.jpg") == "one")
    try space.remount()
    #expect(try space.makeThumbnails() == 0)
    try photo("Trip/Photo/a.jpg", "two")
    #expect(try space.list("Trip/Thumb") == ["a.jpg"])
  }

  @Test func writingIntoAThumbnailMakesItTheUsersOwn() throws {
    try photo("Trip/Photo/a.jpg", "one")
    _ = try space.lookup("Trip/Thumb/a.jpg")
    try space.write("mine", to: "Trip/Thumb/a.jpg")
    #expect(try space.text("Trip/Thumb/a.jpg") == "mine")
    try space.unlink("Trip/Photo/a.jpg")
    #expect(try space.text("Trip/Thumb/a.jpg") == "mine", "it does not go with the photo")
  }

  @Test(arguments: [true, false]) func soDoRenamingAndLinkingButNotChmod(_ isLookedUp: Bool) throws
  {
    for name in ["a", "b", "c"] { try photo("Trip/Photo/\(name).jpg", name) }
    if isLookedUp {
      for name in ["a", "b", "c"] { _ = try space.lookup("Trip/Thumb/\(name).jpg") }
    }
    try space.rename("Trip/Thumb/a.jpg", "Trip/Thumb/best.jpg")
    try space.link("Trip/Thumb/b.jpg", "Trip/Thumb/too.jpg")
    var change = AttributeChange()
    change.permissions = 0o600
    _ = try space.fileSystem.change(change, of: space.number("Trip/Thumb/c.jpg"))
    #expect(try space.status("Trip/Thumb/c.jpg").permissions == 0o600)
    for name in ["a", "b", "c"] { try space.unlink("Trip/Photo/\(name).jpg") }
    #expect(try space.list("Trip/Thumb") == ["b.jpg", "best.jpg", "too.jpg"])
    #expect(try space.text("Trip/Thumb/best.jpg") == "thumbnail of a")
    #expect(try space.status("Trip/Thumb/too.jpg").links == 2)
  }

  @Test(arguments: [true, false]) func aRestoredThumbIsKept(_ isThumbFirst: Bool) throws {
    let steps = [("restored", "Trip/Thumb/a.jpg"), ("photo", "Trip/Photo/a.jpg")]
    for (content, path) in isThumbFirst ? steps : steps.reversed() {
      try space.write(content, to: path)
      try space.makeThumbnails()
    }
    #expect(try space.text("Trip/Thumb/a.jpg") == "restored")
    try space.remount()
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a.jpg") == "restored")
    try photo("Trip/Photo/a.jpg", "changed")
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of changed")
    #expect(try space.list("Trip/Thumb") == ["a.jpg"])
    try space.unlink("Trip/Thumb/a.jpg")
    #expect(try space.list("Trip/Thumb") == [], "the restored one does not come back")
  }

  @Test func aPhotoThatReplacesAnotherByRenameReplacesTheUsersThumbnail() throws {
    try photo("Trip/Photo/a.jpg", "one")
    try space.write("mine", to: "Trip/Thumb/a.jpg")
    try space.write("two", to: "Trip/Photo/.a.jpg.tmp")
    try space.rename("Trip/Photo/.a.jpg.tmp", "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of two")
  }

  @Test func foldersInPhotoAppearInThumbAndGoWithThem() throws {
    try space.mkdir("Trip/Photo/Day 1")
    try space.mkdir("Trip/Photo/Day 1/am")
    try photo("Trip/Photo/Day 1/am/a.jpg", "a")
    #expect(try space.text("Trip/Thumb/Day 1/am/a.jpg") == "thumbnail of a")
    try space.rename("Trip/Photo/Day 1", "Trip/Photo/Monday")
    #expect(try space.list("Trip/Thumb") == ["Monday"])
    #expect(try space.text("Trip/Thumb/Monday/am/a.jpg") == "thumbnail of a")
    try space.mkdir("Other")
    try space.rename("Trip/Photo/Monday", "Other/Photo/Monday")
    #expect(try space.list("Trip/Thumb") == [])
    #expect(try space.text("Other/Thumb/Monday/am/a.jpg") == "thumbnail of a")
    try space.removeAll("Other/Photo/Monday")
    #expect(try space.list("Other/Thumb") == [])
  }

  @Test func aTreeThatIsMovedIntoPhotoGetsThumbnails() throws {
    try space.mkdir(".plain")
    try space.mkdir(".plain/dir")
    try space.mkdir(".plain/dir/sub")
    try photo(".plain/dir/sub/a.jpg", "a")
    try space.rename(".plain/dir", "Trip/Photo/dir")
    #expect(try space.makeThumbnails() == 1)
    #expect(try space.text("Trip/Thumb/dir/sub/a.jpg") == "thumbnail of a")
  }

  @Test func aFailureIsRememberedAndTriedAgainWhenAsked() throws {
    try photo("Trip/Photo/notes.jpg", "text, no picture")
    try space.remount()
    #expect(try space.makeThumbnails() == 0)
    #expect(space.fileSystem.nextPhoto() == nil)
    let report = space.fileSystem.thumbnailReport()
    #expect(report.pending == 0)
    #expect(
      report.failed.map { String(decoding: $0.path, as: UTF8.self) } == ["Trip/Photo/notes.jpg"])
    #expect(report.failed.map(\.reason) == [.notAPicture])
    #expect(try space.fileSystem.retryThumbnails(.missing) == 1)
    #expect(space.fileSystem.nextPhoto() != nil)
  }

  /// The name of the next photo, and how urgent it is.
  private func next() throws -> (content: String, urgency: PhotoUrgency) {
    let photo = try #require(space.fileSystem.nextPhoto())
    let content = String(decoding: try #require(space.content(of: photo)), as: UTF8.self)
    return (content, space.fileSystem.urgency(of: photo))
  }

  @Test func whatWasJustWrittenGoesBeforeWhatHasWaited() throws {
    for name in ["a", "b"] { try space.write(name, to: "Trip/Photo/\(name).jpg") }
    try space.remount()
    space.clock.advance(seconds: 1)
    try space.write("new", to: "Trip/Photo/new.jpg")
    #expect(try next() == ("new", .now))
    #expect(try next() == ("a", .later))
    #expect(try next() == ("b", .later))
  }

  @Test func theThumbnailThatAProgramAsksForComesFirst() throws {
    for name in ["a", "b", "c"] { try space.write(name, to: "Trip/Photo/\(name).jpg") }
    try space.remount()
    let first = try #require(space.fileSystem.nextPhoto())
    #expect(space.fileSystem.urgency(of: first) == .later)
    for name in ["c", "a", "no photo"] {
      #expect(throws: FSError.self) { try space.lookup("Trip/Thumb/\(name).jpg") }
    }
    #expect(space.fileSystem.urgency(of: first) == .now, "it is being worked on")
    #expect(try next() == ("c", .now))
    #expect(try next() == ("b", .later))
    #expect(space.fileSystem.nextPhoto() == nil)
  }

  @Test func copiesGoBeforeThumbnailsUntilTheyEnd() throws {
    for name in ["a", "b"] { try space.write(name, to: "Trip/Photo/\(name).jpg") }
    let photo = try #require(space.fileSystem.nextPhoto())
    #expect(space.fileSystem.urgency(of: photo) == .whenIdle)
    space.clock.advance(seconds: 1)
    #expect(space.fileSystem.urgency(of: photo) == .now)
  }

  @Test func thumbnailsWaitWhilePhotosAreCopiedUnlessSomebodyWaitsForOne() throws {
    try space.write("a", to: "Trip/Photo/a.jpg")
    #expect(!space.fileSystem.photosAreCopied, "one photo is no copy")
    try space.write("b", to: "Trip/Photo/b.jpg")
    #expect(space.fileSystem.photosAreCopied)
    #expect(throws: FSError.self) { try space.lookup("Trip/Thumb/b.jpg") }
    #expect(!space.fileSystem.photosAreCopied, "a program asked for b")
    #expect(try next() == ("b", .now))
    #expect(space.fileSystem.photosAreCopied)
    space.clock.advance(seconds: 1)
    #expect(!space.fileSystem.photosAreCopied)
    try space.write("c", to: "Trip/Photo/c.jpg")
    #expect(!space.fileSystem.photosAreCopied, "a slow copy leaves the processors idle")
  }

  @Test func aPhotoForWhichSyncWaitsIsUrgent() throws {
    try photo("Trip/Photo/a.jpg", "a")
    try space.fileSystem.retryThumbnails(.all)
    let photo = try #require(space.fileSystem.nextPhoto())
    #expect(space.fileSystem.urgency(of: photo) == .later)
    let fileSystem = space.fileSystem
    let waiting = try PosixThread(name: "sync") { _ = fileSystem.waitForThumbnails(until: nil) }
    #expect(eventually { fileSystem.urgency(of: photo) == .now })
    fileSystem.abandon(photo)
    waiting.join()
    #expect(fileSystem.urgency(of: photo) == .later, "nobody waits any more")
  }

  @Test func aRetryOfFailedThumbnailsTakesPicturesAlone() throws {
    try photo("Trip/Photo/notes.txt", "text, no picture")
    try space.write("a", to: "Trip/Photo/a.jpg")
    let photo = try #require(space.fileSystem.nextPhoto())
    space.fileSystem.fail(photo, reason: .damaged)
    #expect(try space.fileSystem.retryThumbnails(.failed) == 1)
    #expect(space.fileSystem.nextPhoto()?.inode == photo.inode)
    #expect(space.fileSystem.nextPhoto() == nil)
  }

  /// A network that is away says nothing about a photo; content that does not decrypt does.
  @Test func aPhotoThatCannotBeReadNowIsNotDamaged() throws {
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.remount()
    let fileSystem = space.fileSystem
    let photo = try #require(fileSystem.nextPhoto())
    let size = Int(try #require(fileSystem.photoSize(photo)))
    func read() throws(PhotoFault) -> Int {
      let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ReadHeadroom.byteCount + size, alignment: 64)
      defer { unsafe memory.deallocate() }
      let buffer = unsafe UnsafeMutableRawBufferPointer(
        rebasing: memory[ReadHeadroom.byteCount...])
      return try unsafe space.fileSystem.readPhoto(photo, into: buffer, at: 0)
    }
    space.disk.isAway.store(true, ordering: .relaxed)
    #expect(throws: PhotoFault.unreadable) { try read() }
    space.disk.isAway.store(false, ordering: .relaxed)
    #expect(try read() == size)
    fileSystem.abandon(photo)
    try space.remount()
    #expect(space.fileSystem.nextPhoto()?.inode == photo.inode, "the next mount tries again")
    try space.write("b", to: "Trip/Photo/a.jpg")
    #expect(throws: PhotoFault.gone) { try read() }
  }

  @Test func namingAPhotoOrItsThumbnailSelectsThatThumbnail() throws {
    try space.mkdir("Trip/Photo/day")
    try photo("Trip/Photo/a.jpg", "a")
    try photo("Trip/Photo/day/b.jpg", "b")
    try photo("Trip/c.jpg", "c")
    try space.write("own", to: "Trip/Thumb/a.jpg")
    func count(_ path: String) throws -> Int {
      let top = try space.fileSystem.resolvePhotos(path: Array(path.utf8))
      let count = try space.fileSystem.retryThumbnails(under: top, .all)
      #expect(try space.makeThumbnails() == count)
      return count
    }
    #expect(try count("Trip/Photo/a.jpg") == 1)
    #expect(try count("Trip/Thumb/a.jpg") == 1)
    #expect(try count("Trip/Thumb/day/b.jpg") == 1)
    #expect(try count("Trip/Thumb/day") == 1)
    #expect(try count("Trip/Thumb") == 3)
    #expect(try count("./Trip/") == 3)
    #expect(try count("") == 3)
  }

  @Test func missingThumbnailsAndAllAreMadeAgainWhenAsked() throws {
    try photo("Trip/Photo/a.jpg", "a")
    try photo("Trip/Photo/b.jpg", "b")
    try space.unlink("Trip/Thumb/a.jpg")
    #expect(try space.fileSystem.retryThumbnails(.missing) == 1)
    try space.makeThumbnails()
    #expect(try space.list("Trip/Thumb") == ["a.jpg", "b.jpg"])
    #expect(try space.fileSystem.retryThumbnails(under: space.number("Trip"), .all) == 2)
    #expect(try space.makeThumbnails() == 2)
  }

  @Test func theQueueSurvivesARemountAndACrash() throws {
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.crash()
    try space.write("b", to: "Trip/Photo/b.jpg")
    try space.remount()
    #expect(space.fileSystem.thumbnailReport().pending == 2)
    #expect(try space.makeThumbnails() == 2)
    #expect(try space.list("Trip/Thumb") == ["a.jpg", "b.jpg"])
  }

  @Test func makersOfThumbnailsAreNotifiedAndWaitersWait() throws {
    let calls = Mutex(0, rank: .test)
    space.fileSystem.whenPhotosWait { calls.withLock { $0 += 1 } }
    #expect(space.fileSystem.waitForThumbnails(until: nil), "nothing to wait for")
    try space.write("a", to: "Trip/Photo/a.jpg")
    #expect(calls.withLock { $0 } > 0)
    #expect(!space.fileSystem.waitForThumbnails(until: .now))
    try space.makeThumbnails()
    #expect(space.fileSystem.waitForThumbnails(until: nil))
  }

  @Test func manyPhotosWakeTheirMakerOnceUntilItHasTakenAll() throws {
    let calls = Mutex(0, rank: .test)
    space.fileSystem.whenPhotosWait { calls.withLock { $0 += 1 } }
    for number in 0..<5 { try space.write("a \(number)", to: "Trip/Photo/\(number).jpg") }
    #expect(calls.withLock { $0 } == 1)
    #expect(try space.makeThumbnails() == 5)
    try space.write("b", to: "Trip/Photo/b.jpg")
    #expect(calls.withLock { $0 } == 2, "for the next one")
  }

  @Test func statusCountsPhotosAlbumsAndBytes() throws {
    try photo("Trip/Photo/a.jpg", "123")
    let contents = space.fileSystem.counts()
    #expect(contents.albums == 1)
    #expect(contents.photos == 1)
    #expect(contents.thumbnails == 1)
    #expect(contents.files == 2)
    #expect(contents.bytes == Int64(3 + "thumbnail of 123".utf8.count))
  }

  @Test func aTextOrAnEmptyFileAmongPhotosCountsAsAnotherFile() throws {
    for name in ["a.jpg", "b.jpg", "c.jpg"] { try space.write(name, to: "Trip/Photo/\(name)") }
    try space.write("text for the album", to: "Trip/Photo/notes.txt")
    try space.write("", to: "Trip/Photo/empty.jpg")
    try space.makeThumbnails()
    var contents = space.fileSystem.counts()
    #expect([contents.photos, contents.thumbnails, contents.files] == [3, 3, 8])
    try space.remount()
    contents = space.fileSystem.counts()
    #expect(
      [contents.photos, contents.thumbnails, contents.files] == [3, 3, 8], "after a remount")
    try space.write("a picture now", to: "Trip/Photo/notes.txt")
    try space.makeThumbnails()
    #expect(space.fileSystem.counts().photos == 4)
  }
}
