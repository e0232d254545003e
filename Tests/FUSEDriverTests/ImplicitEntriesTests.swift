import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Glibc
import Testing

@testable import FUSEDriver

// Implicit entries yield to explicit ones (see Design): entries that albumfs made do not hinder tools that
// copy trees, and exist for all other programs. Tested with a readable system call of the caller, and
// without.

struct ImplicitEntriesTests {
  let space: KernelSpace
  init() throws {
    space = try KernelSpace()
    try space.mkdir("Trip")
  }

  private func sees(_ path: String) throws -> Bool { try space.sees(path) }

  @Test func mkdirOfPhotoInANewAlbumSucceedsOnce() throws {
    let photo = try space.number("Trip/Photo")
    space.inspector.set(.makesDirectory)
    #expect(try !sees("Trip/Photo"))
    let entry = try space.mkdir("Trip/Photo", mode: 0o700)
    #expect(entry.attributes.inode == photo, "the directory is adopted")
    #expect(entry.attributes.permissions == 0o700)
    #expect(try sees("Trip/Photo"), "an explicit directory is there for everybody")
    #expect(refusal { try space.mkdir("Trip/Photo") } == .exists)
  }

  @Test func aProgramThatWritesIntoPhotoRightAfterItsMkdirFindsIt() throws {
    #expect(try sees("Trip/Photo"))
    try space.write("a", to: "Trip/Photo/a.jpg")
    space.inspector.set(.createsExclusively)
    #expect(try sees("Trip/Photo"))
  }

  @Test func anAdoptedDirectoryKeepsWhatIsInIt() throws {
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.mkdir("Trip/Photo")
    #expect(try space.list("Trip/Photo") == ["a.jpg"])
  }

  @Test func anExclusiveCreateGoesBeforeTheThumbnail() throws {
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    #expect(try sees("Trip/Thumb/a.jpg"))
    space.inspector.set(.createsExclusively)
    #expect(try !sees("Trip/Thumb/a.jpg"))
    let file = try space.create("Trip/Thumb/a.jpg")
    try file.put(Array("copied".utf8), at: 0)
    file.release()
    #expect(try sees("Trip/Thumb/a.jpg"), "an explicit entry is there for everybody")
    #expect(try space.text("Trip/Thumb/a.jpg") == "copied")
    #expect(try space.list("Trip/Thumb") == ["a.jpg"])
  }

  @Test func linksSymlinksAndRenamesWithNoReplaceGoBeforeIt() throws {
    for name in ["a", "b", "c"] { try space.write(name, to: "Trip/Photo/\(name)") }
    try space.makeThumbnails()
    try space.write("own", to: "Trip/Thumb/own")
    try space.link("Trip/Thumb/own", "Trip/Thumb/a")
    let place = try space.place("Trip/Thumb/b")
    _ = try space.driver.fileSystem.makeSymlink(
      place.name, in: place.parent, target: [UInt8(ascii: "x")],
      for: space.driver.asking(KernelSpace.me))
    try space.rename("Trip/Thumb/own", "Trip/Thumb/c", noReplace: true)
    #expect(try space.text("Trip/Thumb/a") == "own")
    #expect(try space.lookup("Trip/Thumb/b").attributes.kind == .symlink)
    #expect(try space.text("Trip/Thumb/c") == "own")
    #expect(
      refusal { try space.rename("Trip/Thumb/a", "Trip/Thumb/b", noReplace: true) } == .exists)
  }

  @Test func unreadableCallersOfACopierAreYieldedToOnceBeforeTheyListed() throws {
    space.inspector.set(.unreadable(process: 4200, command: "cp"))
    #expect(try !sees("Trip/Photo"))
    try space.mkdir("Trip/Photo")
    #expect(try !sees("Trip/Thumb"))
    #expect(try sees("Trip/Thumb"), "once")
  }

  @Test func anUnreadableCopierThatBringsItsOwnThumbDoesNotSeeThumbnailsMadeMeanwhile() throws {
    space.inspector.set(.unreadable(process: 4200, command: "cp"))
    try space.write("a", to: "Trip/a.jpg")
    try space.makeThumbnails()
    #expect(try sees("Trip/Thumb/a.jpg"), "it has made no Thumb itself")
    #expect(try !sees("Trip/Photo"))
    try space.mkdir("Trip/Photo")
    #expect(try !sees("Trip/Thumb/a.jpg"))
    #expect(try !sees("Trip/Thumb/a.jpg"), "mv looks before it creates")
    #expect(try space.list("Trip/Thumb") == ["a.jpg"])
    #expect(try sees("Trip/Thumb/a.jpg"), "it has looked now")
  }

  @Test func otherUnreadableCallersAreNot() throws {
    space.inspector.set(.unreadable(process: 4200, command: "bash"))
    #expect(try sees("Trip/Photo"), "no copier")
    space.inspector.set(.unreadable(process: 4200, command: "python3"))
    #expect(try sees("Trip/Photo"), "a program that writes into the Photo of its new album")
    space.inspector.set(.unreadable(process: 5500, command: "cp"))
    #expect(try sees("Trip/Photo"), "did not make the album")
    space.inspector.set(.unreadable(process: 4200, command: "cp"))
    _ = try space.list("Trip")
    #expect(try sees("Trip/Photo"), "has listed it")
  }

  @Test func anUnreadableCopierIsNotYieldedToInAnAlbumThatWasThere() throws {
    try space.remount()
    space.inspector.set(.unreadable(process: 4200, command: "cp"))
    #expect(try sees("Trip/Photo"))
  }

  @Test func theKernelMayNotBelieveInImplicitEntriesOfABusyAlbum() throws {
    #expect(try space.lookup("Trip/Photo").nameLifetime == 0)
    space.clock.advance(seconds: 3)
    #expect(try space.lookup("Trip/Photo").nameLifetime > 0)
    try space.write("a", to: "Trip/Photo/a.jpg")
    space.clock.advance(seconds: 3)
    #expect(try space.lookup("Trip/Photo").nameLifetime == 0, "a thumbnail is pending")
    try space.makeThumbnails()
    #expect(try space.lookup("Trip/Photo").nameLifetime > 0)
    #expect(try space.lookup("Trip/Thumb/a.jpg").nameLifetime == 0, "it moves with its photo")
    #expect(try space.lookup("Trip/Photo/a.jpg").nameLifetime > 0)
  }

  /// The kernel may cache the name of a thumbnail for a moment, if the driver can report each change to it at
  /// once.
  @Test func aThumbnailsNameIsCachedOnlyWhileNothingChanges() throws {
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    space.inspector.running = []
    func lifetime() throws -> Double { try space.lookup("Trip/Thumb/a.jpg").nameLifetime }
    space.clock.advance(seconds: 3)
    #expect(try lifetime() == 0, "Linux before 6.16")
    space.driver.thumbnailNames.agreed(minor: 44)
    #expect(try lifetime() > 0)
    let file = try space.driver.open(
      space.number("Trip/Photo/a.jpg"), flags: O_WRONLY, for: KernelSpace.me)
    #expect(try lifetime() == 0, "somebody writes")
    file.release()
    try space.makeThumbnails()
    #expect(try lifetime() > 0)
    space.inspector.running = [4200]
    space.inspector.set(.unreadable(process: 4200, command: "cp"))
    try space.mkdir("Other")
    try space.write("b", to: "Other/Photo/b.jpg")
    try space.makeThumbnails()
    space.clock.advance(seconds: 3)
    #expect(try space.lookup("Other/Thumb/b.jpg").nameLifetime == 0, "its maker still runs")
    space.inspector.running = []
    #expect(try space.lookup("Other/Thumb/b.jpg").nameLifetime > 0)
  }

  /// A file manager lists a directory and then asks for each name. The kernel knows them from the listing, of
  /// Thumb as of Photo.
  @Test func aListingMakesTheKernelCacheTheNamesOfThumbnails() throws {
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    space.inspector.running = []
    space.clock.advance(seconds: 3)
    space.driver.thumbnailNames.agreed(minor: 44)
    let thumb = try space.number("Trip/Thumb")
    let directory = try space.driver.openDirectory(thumb, for: KernelSpace.me)
    var lifetimes: [Double] = []
    let before = space.driver.thumbnailNames.changeCount
    try directory.listWithAttributes(from: 0) { _, entry in
      guard let entry, entry.isThumbnail else { return true }
      lifetimes.append(space.driver.handOut(entry, since: before).nameLifetime)
      space.driver.thumbnailNames.changed()
      lifetimes.append(space.driver.handOut(entry, since: before).nameLifetime)
      return true
    }
    #expect(lifetimes.count == 2 && lifetimes[0] > 0)
    #expect(lifetimes.last == 0, "something changed during the listing")
  }

  /// Either the look-up sees the change, or the change sees the look-up.
  @Test func aLookUpDuringAChangeCachesNothing() {
    let names = ThumbnailNames()
    names.agreed(minor: 44)
    let before = names.changeCount
    names.changed()
    #expect(names.lifetime(since: before) == 0)
    #expect(names.lifetime(since: names.changeCount) > 0)
  }

  @Test(arguments: [true, false]) func aFoldersTwinYieldsLikeThumbItself(_ isReadable: Bool) throws
  {
    try space.mkdir("Trip/Photo/Day 1")
    space.inspector.set(
      isReadable ? .makesDirectory : .unreadable(process: 4200, command: "mv"))
    #expect(try !sees("Trip/Thumb/Day 1"))
    try space.mkdir("Trip/Thumb/Day 1")
    try space.write("a", to: "Trip/Photo/Day 1/a.jpg")
    try space.makeThumbnails()
    #expect(try space.list("Trip/Thumb/Day 1") == ["a.jpg"])
  }

  @Test func aCopyOfAWholeTreeSucceeds() throws {
    space.inspector.set(.makesDirectory)
    try space.mkdir("Copy")
    #expect(try !sees("Copy/Photo"))
    try space.mkdir("Copy/Photo")
    try space.write("a", to: "Copy/Photo/a.jpg")
    try space.makeThumbnails()
    #expect(try !sees("Copy/Thumb"))
    try space.mkdir("Copy/Thumb")
    space.inspector.set(.createsExclusively)
    #expect(try !sees("Copy/Thumb/a.jpg"))
    try space.create("Copy/Thumb/a.jpg").release()
    try space.write("backup", to: "Copy/Thumb/a.jpg")
    #expect(try space.text("Copy/Thumb/a.jpg") == "backup")
  }
}
