import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// What a user removes or replaces comes back, where it was and as it was.

struct DeletedFileTests {
  /// The ends of a session after the removal.
  enum Interruption: CaseIterable { case none, remount, crash }

  @Test(arguments: Interruption.allCases)
  func aRemovedAlbumComesBackWithItsPhotosTimesAndAttributes(_ interruption: Interruption) throws {
    let space = try TestSpace()
    try space.mkdir("Trip", mode: 0o750)
    try space.mkdir("Trip/Photo/day")
    try space.write("picture a", to: "Trip/Photo/a.jpg")
    try space.write("picture b", to: "Trip/Photo/day/b.jpg")
    try space.write("text", to: "Trip/notes")
    try space.fileSystem.setExtendedAttribute(
      Array("user.x".utf8), to: [1, 2], of: try space.number("Trip/Photo/a.jpg"),
      mode: AttributeMode())
    try space.makeThumbnails()
    let before = try space.status("Trip/Photo/a.jpg")
    try space.removeAll("Trip")
    #expect(!space.exists("Trip"))
    #expect(space.deletedPaths == ["Trip/Photo/a.jpg", "Trip/Photo/day/b.jpg", "Trip/notes"])
    try space.space.commit()
    switch interruption {
    case .none: break
    case .remount: try space.remount()
    case .crash: try space.crash()
    }
    #expect(space.deletedPaths == ["Trip/Photo/a.jpg", "Trip/Photo/day/b.jpg", "Trip/notes"])
    for file in space.deleted { _ = try space.fileSystem.restoreDeleted(file) }
    #expect(space.deleted.isEmpty)
    #expect(try space.text("Trip/Photo/a.jpg") == "picture a")
    #expect(try space.text("Trip/Photo/day/b.jpg") == "picture b")
    #expect(try space.text("Trip/notes") == "text")
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of picture a")
    #expect(try space.text("Trip/Thumb/day/b.jpg") == "thumbnail of picture b")
    let after = try space.status("Trip/Photo/a.jpg")
    #expect(after.inode == before.inode)
    #expect(after.modified == before.modified)
    #expect(after.links == 1)
    let value = try space.fileSystem.extendedAttribute(
      Array("user.x".utf8), of: after.inode)
    #expect(value == [1, 2])
    #expect(try space.status("Trip").permissions == 0o750)
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
    try space.remount()
    #expect(try space.text("Trip/Thumb/day/b.jpg") == "thumbnail of picture b")
    #expect(space.deleted.isEmpty)
  }

  @Test func aFileThatAnotherReplacesComesBackBesideIt() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("old", to: "Trip/Photo/a.jpg")
    try space.write("new", to: "Trip/Photo/.a.jpg.x7")
    try space.rename("Trip/Photo/.a.jpg.x7", "Trip/Photo/a.jpg")
    let file = try #require(space.deleted.first)
    #expect(file.cause == .replaced)
    #expect(try space.restore("Trip/Photo/a.jpg") == "Trip/Photo/a (restored).jpg")
    #expect(try space.text("Trip/Photo/a.jpg") == "new")
    #expect(try space.text("Trip/Photo/a (restored).jpg") == "old")
    for text in ["one", "two"] {
      try space.write(text, to: "Trip/Photo/b")
      try space.unlink("Trip/Photo/b")
    }
    try space.write("three", to: "Trip/Photo/b")
    #expect(try space.restore("Trip/Photo/b") == "Trip/Photo/b (restored)")
    #expect(try space.restore("Trip/Photo/b") == "Trip/Photo/b (restored 2)")
    #expect(try space.text("Trip/Photo/b (restored 2)") == "two")
  }

  /// `cp` over a photo, a program that edits in place, and one that cuts it.
  @Test(arguments: ["emptied", "overwritten", "cut", "punched"], Interruption.allCases)
  func theFormerContentOfAnOverwrittenPhotoComesBack(_ change: String, _ end: Interruption) throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("the original", to: "Trip/Photo/a.jpg")
    try space.fileSystem.setExtendedAttribute(
      Array("user.x".utf8), to: [7], of: try space.number("Trip/Photo/a.jpg"),
      mode: AttributeMode())
    try space.makeThumbnails()
    let original = try space.status("Trip/Photo/a.jpg")
    let file = try space.open("Trip/Photo/a.jpg", writes: true, truncates: change == "emptied")
    switch change {
    case "emptied", "overwritten": try file.put(Array("THE".utf8), at: 0)
    case "cut":
      var change = AttributeChange()
      change.size = 3
      _ = try space.fileSystem.change(change, of: original.inode)
    default:
      try file.allocate(
        at: 4, length: 4, mode: AllocationMode(keepsSize: true, punchesHole: true))
    }
    try file.flush()
    file.release()
    #expect(try space.text("Trip/Photo/a.jpg") != "the original")
    switch end {
    case .none: break
    case .remount: try space.remount()
    case .crash: try space.crash()
    }
    try space.makeThumbnails()
    #expect(space.deletedPaths == ["Trip/Photo/a.jpg"])
    #expect(space.deleted[0].cause == .overwritten)
    try space.rename("Trip/Photo/a.jpg", "Trip/Photo/b.jpg")
    #expect(space.deletedPaths == ["Trip/Photo/b.jpg"])
    #expect(try space.restore("Trip/Photo/b.jpg") == "Trip/Photo/b (restored).jpg")
    #expect(try space.text("Trip/Photo/b (restored).jpg") == "the original")
    #expect(try space.text("Trip/Thumb/b (restored).jpg") == "thumbnail of the original")
    let restored = try space.status("Trip/Photo/b (restored).jpg")
    #expect(restored.modified == original.modified)
    let value = try space.fileSystem.extendedAttribute(
      Array("user.x".utf8), of: restored.inode)
    #expect(value == [7])
    #expect(space.deleted.isEmpty)
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
    try space.remount()
    #expect(try space.text("Trip/Photo/b (restored).jpg") == "the original")
  }

  /// A program writes into a file that it has removed, or that another one replaced.
  @Test(arguments: [false, true], [false, true])
  func whatARemovedFileHeldComesBackWithItsTime(isReplaced: Bool, writesBefore: Bool) throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("the original", to: "Trip/Photo/a.jpg")
    let before = try space.status("Trip/Photo/a.jpg")
    space.clock.advance(seconds: 1000)
    let file = try space.open("Trip/Photo/a.jpg", writes: true)
    if writesBefore {
      try file.put(Array(" and more".utf8), at: 12)
      try file.flush()
    }
    space.clock.advance(seconds: 1000)
    if isReplaced {
      try space.write("another", to: "Trip/Photo/b.jpg")
      try space.rename("Trip/Photo/b.jpg", "Trip/Photo/a.jpg")
    } else {
      try space.unlink("Trip/Photo/a.jpg")
    }
    let removal = space.fileSystem.clock.now()
    space.clock.advance(seconds: 1000)
    try overwrite(file, "THE", of: before.inode, space)
    let version = try #require(space.deleted.first { $0.cause == .overwritten })
    let restored = try space.fileSystem.restoreDeleted(version)
    let path = String(decoding: restored.path, as: UTF8.self)
    #expect(try space.text(path) == "the original" + (writesBefore ? " and more" : ""))
    let modified = try space.status(path).modified
    #expect(writesBefore ? modified <= removal : modified == before.modified)
  }

  /// Writes into a file in place, as a program does, with the new time that the kernel tells, and closes it.
  private func overwrite(
    _ file: OpenFile, _ text: String, of inode: InodeNumber, _ space: TestSpace
  ) throws {
    try file.put(Array(text.utf8), at: 0)
    var change = AttributeChange()
    change.modified = .now
    _ = try space.fileSystem.change(change, of: inode)
    try file.flush()
    file.release()
  }

  /// A program that encrypts everything in place, renames and removes it.
  @Test func whatAProgramEncryptsRenamesAndRemovesComesBack() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    let names = (0..<20).map { "Trip/Photo/\($0).jpg" }
    for name in names { try space.write("original \(name)", to: name) }
    space.clock.advance(seconds: 100)
    for (number, name) in names.enumerated() {
      let file = try space.open(name, writes: true, truncates: number % 3 == 0)
      try file.put(Array("encrypted".utf8), at: 0)
      try file.flush()
      file.release()
      try space.rename(name, name + ".locked")
      if number % 2 == 0 { try space.unlink(name + ".locked") }
    }
    try space.remount()
    for file in space.deleted where file.cause == .overwritten {
      _ = try space.fileSystem.restoreDeleted(file)
    }
    let texts = try space.list("Trip/Photo").map { try space.text("Trip/Photo/\($0)") }
    #expect(Set(texts).isSuperset(of: names.map { "original \($0)" }))
  }

  @Test func appendingAndWritingANewFileKeepNoFormerVersion() throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    let new = try space.create(".p/new")
    // A program that closes a copy of its descriptor in between is not done yet.
    for text in ["0ne", "one"] {
      try new.put(Array(text.utf8), at: 0)
      try new.flush()
    }
    new.release()
    let log = try space.open(".p/new", writes: true)
    try log.put(Array(" two".utf8), at: 3)
    try log.flush()
    log.release()
    #expect(try space.text(".p/new") == "one two")
    #expect(space.deleted.isEmpty)
  }

  #if DEBUG
  /// What the work of a day takes of the catalog's lock, which is what history could slow it down by.
  @Test func dailyWorkTakesTheCatalogsLockNoMoreOftenWithHistory() throws {
    let (with, without) = (try locksOfDailyWork(writes: 8), try locksOfDailyWork(false, writes: 8))
    #expect(with == without, "\(with) holds of the lock, and \(without) without history")
    #expect(try locksOfDailyWork(writes: 1) == with, "a write takes no lock but that of its file")
  }

  /// How often it is held while a photo is written under a hidden name, gets its own, grows and goes.
  private func locksOfDailyWork(_ keepsHistory: Bool = true, writes: Int) throws -> Int {
    let space = try TestSpace(background: false)
    if !keepsHistory { space.keepNoDeletedFiles() }
    try space.mkdir("Trip")
    try space.write("first", to: "Trip/Photo/first.jpg")
    try space.unlink("Trip/Photo/first.jpg")
    let before = space.locks
    let new = try space.create("Trip/Photo/.new")
    for number in 0..<writes { try new.put([1, 2, 3, 4, 5], at: Int64(5 * number)) }
    try new.flush()
    new.release()
    try space.rename("Trip/Photo/.new", "Trip/Photo/a.jpg")
    let grown = try space.open("Trip/Photo/a.jpg", writes: true)
    for number in writes..<2 * writes { try grown.put([6, 7, 8, 9, 0], at: Int64(5 * number)) }
    try grown.flush()
    grown.release()
    try space.unlink("Trip/Photo/a.jpg")
    return space.locks - before
  }
  #endif

  /// A file that a program overwrites all the time keeps one version a minute.
  @Test func aFileThatIsOverwrittenAgainAndAgainKeepsOneVersionAMinute() throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    for step in 0..<10 {
      try space.write("state \(step)", to: ".p/a")
      space.clock.advance(seconds: 20)
    }
    #expect(
      try Set(space.deleted.map { try space.text(of: $0.inode) }) == [
        "state 0", "state 3", "state 6",
      ])
  }

  /// The folder may be there again, may be a file by now, or may have moved.
  @Test func aFileComesBackToTheFolderOfItsName() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.removeAll("Trip")
    try space.mkdir("Trip")
    let photo = try space.number("Trip/Photo")
    #expect(try space.restore("Trip/Photo/a.jpg") == "Trip/Photo/a.jpg")
    #expect(try space.number("Trip/Photo") == photo)

    try space.mkdir(".p")
    try space.mkdir(".p/folder")
    try space.write("b", to: ".p/folder/b")
    try space.removeAll(".p/folder")
    try space.write("in the way", to: ".p/folder")
    #expect(try space.restore(".p/folder/b") == ".p/folder (restored)/b")

    try space.mkdir("Other")
    try space.write("c", to: "Other/Photo/c.jpg")
    try space.unlink("Other/Photo/c.jpg")
    try space.rename("Other", "Moved")
    #expect(space.deletedPaths == ["Moved/Photo/c.jpg"])
    #expect(try space.restore("Moved/Photo/c.jpg") == "Moved/Photo/c.jpg")
    #expect(try space.text("Moved/Photo/c.jpg") == "c")
  }

  /// A shell stands in the album, or a program has one of its photos open. The kernel takes a directory that
  /// was removed for dead.
  @Test func anAlbumThatWasInUseWhenItWasRemovedComesBackUsable() throws {
    let space = try TestSpace()
    try space.mkdir("Trip", mode: 0o750)
    try space.mkdir("Trip/Photo/day", mode: 0o700)
    let attribute = Array("user.x".utf8)
    for path in ["Trip", "Trip/Photo/day"] {
      try space.fileSystem.setExtendedAttribute(
        attribute, to: [9], of: space.number(path), mode: AttributeMode())
    }
    for name in ["a", "b"] { try space.write(name, to: "Trip/Photo/day/\(name).jpg") }
    let paths = ["Trip", "Trip/Photo", "Trip/Photo/day"]
    let held = try paths.map { try space.lookup($0) }
    try space.removeAll("Trip")
    for file in space.deleted { _ = try space.fileSystem.restoreDeleted(file) }
    for (path, dead) in zip(paths, held) {
      #expect(try space.number(path) != dead.attributes.inode, "\(path)")
    }
    #expect(try space.text("Trip/Photo/day/a.jpg") == "a")
    #expect(try space.text("Trip/Photo/day/b.jpg") == "b")
    #expect(try space.list("") == ["Trip"])
    #expect(try space.status("Trip").permissions == 0o750)
    #expect(try space.status("Trip/Photo/day").permissions == 0o700)
    for path in ["Trip", "Trip/Photo/day"] {
      #expect(try space.fileSystem.extendedAttribute(attribute, of: space.number(path)) == [9])
    }
    withExtendedLifetime(held) {}
  }

  @Test func filesOfAFolderWhoseNameIsTakenComeBackInOneFolder() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    for number in 0..<5 { try space.write("\(number)", to: "Trip/Photo/\(number).jpg") }
    try space.removeAll("Trip/Photo")
    try space.write("a file", to: "Trip/Photo")
    for file in space.deleted { _ = try space.fileSystem.restoreDeleted(file) }
    #expect(try space.list("Trip/Photo (restored)").filter { $0.hasSuffix(".jpg") }.count == 5)
    #expect(try space.list("Trip").filter { $0.contains("restored") } == ["Photo (restored)"])
  }

  @Test func onlyTheLastNameCountsAndOnlyWhatHasContentStays() throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    try space.write("content", to: ".p/one")
    try space.link(".p/one", ".p/two")
    try space.unlink(".p/one")
    #expect(space.deleted.isEmpty)
    try space.unlink(".p/two")
    #expect(space.deletedPaths == [".p/two"])
    try space.restore(".p/two")
    try space.write([], to: ".p/empty")
    try space.unlink(".p/empty")
    try space.mkdir(".p/folder")
    try space.rmdir(".p/folder")
    #expect(space.deleted.isEmpty)
  }

  /// A program that writes a new version under a hidden name removes it if it fails.
  @Test func aHiddenFileStaysIfItIsNoTemporaryOne() throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    try space.write("temporary", to: ".p/.new")
    try space.write("settings", to: ".p/.settings")
    try space.unlink(".p/.new")
    space.clock.advance(seconds: 61)
    try space.unlink(".p/.settings")
    #expect(space.deletedPaths == [".p/.settings"])
  }

  @Test func aFileThatIsOpenWhileItIsDeletedCanBeReadAndComesBack() throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    try space.write("content", to: ".p/a")
    let file = try space.open(".p/a", writes: true)
    try space.unlink(".p/a")
    #expect(try file.get(7, at: 0) == Array("content".utf8))
    try file.put(Array("C".utf8), at: 0)
    try file.flush()
    file.release()
    try space.restore(".p/a")
    #expect(try space.text(".p/a") == "Content")
  }

  /// A program keeps a photo open, removes it, and writes other bytes into it.
  @Test(arguments: [false, true], [false, true]) func whatAFileHeldWhenItWasRemovedComesBack(
    _ wasOverwrittenBefore: Bool, _ isWrittenBefore: Bool
  ) throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    if wasOverwrittenBefore { try space.write("an older picture", to: "Trip/Photo/a.jpg") }
    try space.write(isWrittenBefore ? "the" : "the picture", to: "Trip/Photo/a.jpg")
    space.clock.advance(seconds: 5)
    let file = try space.open("Trip/Photo/a.jpg", writes: true)
    if isWrittenBefore {
      try file.put(Array(" picture".utf8), at: 3)
      try file.flush()
    }
    try space.unlink("Trip/Photo/a.jpg")
    for content in ["garbage", "more garbage"] {
      var change = AttributeChange()
      change.size = 0
      _ = try space.fileSystem.change(change, of: file.inode)
      try file.put(Array(content.utf8), at: 0)
      try file.flush()
    }
    file.release()
    try space.remount()
    var texts: Set<String> = []
    for file in space.deleted {
      let restored = try space.fileSystem.restoreDeleted(file)
      let path = String(decoding: restored.path, as: UTF8.self)
      #expect(path.hasPrefix("Trip/Photo/a"))
      texts.insert(try space.text(path))
    }
    let older: Set = wasOverwrittenBefore ? ["an older picture"] : []
    #expect(texts == older.union(["the picture", "more garbage"]))
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
  }

  /// A program writes a longer text over a file and cuts it at its end. The kernel tells the new size first.
  @Test(arguments: [1, 100, 4096, 5000, 9000], [false, true])
  func aFileThatIsOverwrittenWithMoreComesBackAsItWas(_ size: Int, _ tellsSizeFirst: Bool) throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    let original = (0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try space.write(original, to: ".p/a")
    let new = [UInt8](repeating: 7, count: 12_000)
    let file = try space.open(".p/a", writes: true)
    var change = AttributeChange()
    change.size = 12_000
    if tellsSizeFirst { _ = try space.fileSystem.change(change, of: file.inode) }
    try file.put(new, at: 0)
    if !tellsSizeFirst { _ = try space.fileSystem.change(change, of: file.inode) }
    try file.flush()
    file.release()
    #expect(try space.read(".p/a") == new)
    #expect(space.deleted.map(\.size) == [Int64(size)])
    try space.remount()
    #expect(try space.read(space.restore(".p/a")) == original)
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
  }

  /// A zip file gets a new directory at its end: the kernel writes the last page and what follows it.
  @Test(arguments: [10_000, 140_000, 300], [true, false])
  func onlyAnEndThatChangesKeepsAVersion(_ size: Int, _ changesEnd: Bool) throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    let original = (0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try space.write(original, to: ".p/a")
    let page = size - size % 4096
    var new = Array(original[page...]) + [UInt8](repeating: 7, count: 200_000)
    if changesEnd { new[size - page - 1] ^= 1 }
    let file = try space.open(".p/a", writes: true)
    try file.put(new, at: Int64(page))
    try file.flush()
    file.release()
    #expect(try space.read(".p/a") == original[..<page] + new)
    #expect(space.deleted.count == (changesEnd ? 1 : 0))
    if changesEnd { #expect(try space.read(space.restore(".p/a")) == original) }
  }

  /// The kernel tells the time of a write before the daemon has all of its bytes.
  @Test func anOverwrittenFileComesBackWithTheTimeThatItHad() throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    try space.write("the original", to: ".p/a")
    space.clock.advance(seconds: 100)
    let original = try space.status(".p/a")
    let file = try space.open(".p/a", writes: true)
    try overwrite(file, "encrypted", of: original.inode, space)
    #expect(try space.status(".p/a").modified != original.modified)
    #expect(try space.status(space.restore(".p/a")).modified == original.modified)
    let point = try #require(space.space.points.first)
    let list = try space.fileSystem.lookup(FileSystem.pastName, in: .root)
    var entry = try space.fileSystem.lookup(point.name, in: list.attributes.inode)
    for name in [".p", "a"] {
      entry = try space.fileSystem.lookup(FileName(name), in: entry.attributes.inode)
    }
    #expect(entry.attributes.modified == original.modified)
  }

  /// `rsync --delete` and `rm -r` may remove Thumb before the photos.
  @Test func aPhotoComesBackWithAThumbnailAlsoIfThatWasRemovedFirst() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("picture", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    try space.unlink("Trip/Thumb/a.jpg")
    try space.removeAll("Trip/Photo")
    let point = try #require(space.space.points.first)
    try space.restore("Trip/Photo/a.jpg")
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of picture")

    try space.unlink("Trip/Thumb/a.jpg")
    try space.unlink("Trip/Photo/a.jpg")
    _ = try space.fileSystem.restore(Array("Trip".utf8), at: point.number)
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a.jpg") == "thumbnail of picture")
  }

  /// A program empties a file and removes it. The file may come back before its former content does.
  @Test(arguments: [false, true]) func aFormerVersionOfARemovedFileComesBackBesideIt(
    _ versionFirst: Bool
  ) throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("picture", to: "Trip/Photo/a.jpg")
    try space.write("other", to: "Trip/Photo/a.jpg")
    try space.unlink("Trip/Photo/a.jpg")
    let files = space.deleted
    #expect(files.map(\.cause) == [.removed, .overwritten])
    var paths: [String] = []
    for file in versionFirst ? files.reversed() : files {
      paths.append(String(decoding: try space.fileSystem.restoreDeleted(file).path, as: UTF8.self))
    }
    #expect(paths == ["Trip/Photo/a.jpg", "Trip/Photo/a (restored).jpg"])
    #expect(try Set(paths.map { try space.text($0) }) == ["picture", "other"])
  }

  @Test func deletedFilesDoNotCountAsFiles() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    let before = space.fileSystem.counts()
    try space.write("picture", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    try space.unlink("Trip/Photo/a.jpg")
    let after = space.fileSystem.counts()
    #expect(after.files == before.files && after.thumbnails == before.thumbnails)
    #expect(after.bytes == before.bytes && after.photos == before.photos)
    #expect(try space.list("Trip/Photo") == [])
    #expect(try space.list("Trip/Thumb") == [])
    try space.remount()
    #expect(space.fileSystem.nextPhoto() == nil)
  }

  /// Observers, among them the kernel's, learn of every name that comes back.
  @Test func observersLearnOfFoldersAndFilesThatComeBack() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.removeAll("Trip")
    let known = space.observer.changes.count
    try space.restore("Trip/Photo/a.jpg")
    let names = space.observer.changes.dropFirst(known).compactMap { change -> String? in
      if case .name(let name, _, _, isThere: true) = change { return name.display }
      return nil
    }
    #expect(names == ["Trip", "Photo", "a.jpg"])
  }

  /// Random calls, and the same in a dictionary of contents: whatever was removed or replaced can be
  /// brought back, whatever happens to its folder, after crashes and compaction.
  @Test(arguments: 0..<4) func whateverIsRemovedInAnyOrderComesBack(_ round: Int) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let space = try TestSpace(grace: 0)
    var model = DeletionModel()
    try space.mkdir(".p")
    for step in 0..<400 { try model.act(space, &random, step) }
    try model.compare(space)
    for content in Set(model.living.values).union(model.deleted).shuffled(using: &random)
    where model.deleted.contains(content) {
      let file = try #require(try space.deletedFile(of: content))
      let restored = try space.fileSystem.restoreDeleted(file)
      model.deleted.remove(content)
      #expect(try space.text(String(decoding: restored.path, as: UTF8.self)) == content)
    }
    #expect(space.deleted.isEmpty)
    #expect(space.space.read { $0.formerCounts.isEmpty }, "no folder is kept for nothing")
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
    try space.remount()
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
  }
}

/// The files that there are, by path, and the contents of those that were removed. Each content is only in one
/// file.
private struct DeletionModel {
  var living: [String: String] = [:]
  var folders: Set<String> = [".p"]
  var deleted: Set<String> = []

  mutating func act(_ space: TestSpace, _ random: inout SeededRandom, _ step: Int) throws {
    let folder = folders.sorted().randomElement(using: &random)!
    let path = folder + "/" + ["a", "b", "c"].randomElement(using: &random)!
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<5: try write("content \(step)", path, space)
    case 5: try overwrite("content \(step)", path, space)
    case 6..<9: try remove(path, space)
    case 9..<12: try removeAll(folder, space)
    case 12..<14: try makeFolder(folder + "/" + ["d", "e"].randomElement(using: &random)!, space)
    case 14..<17: try move(path, &random, space)
    case 17: try restoreOne(&random, space)
    case 18: try Bool.random(using: &random) ? space.remount() : crash(space)
    default: try space.space.compact()
    }
    if step % 50 == 49 { try compare(space) }
  }

  private mutating func write(_ content: String, _ path: String, _ space: TestSpace) throws {
    if living[path] != nil || folders.contains(path) { return }
    try space.write(content, to: path)
    living[path] = content
  }

  private mutating func overwrite(_ content: String, _ path: String, _ space: TestSpace) throws {
    guard let former = living[path] else { return }
    space.clock.advance(seconds: 61)
    try space.write(content, to: path)
    living[path] = content
    deleted.insert(former)
  }

  private mutating func remove(_ path: String, _ space: TestSpace) throws {
    guard let content = living.removeValue(forKey: path) else { return }
    try space.unlink(path)
    deleted.insert(content)
  }

  private mutating func removeAll(_ folder: String, _ space: TestSpace) throws {
    if folder == ".p" { return }
    try space.removeAll(folder)
    folders = folders.filter { $0 != folder && !$0.hasPrefix(folder + "/") }
    for (path, content) in living where path.hasPrefix(folder + "/") {
      living[path] = nil
      deleted.insert(content)
    }
  }

  private mutating func makeFolder(_ path: String, _ space: TestSpace) throws {
    if path.split(separator: "/").count > 4 || !folders.insert(path).inserted { return }
    try space.mkdir(path)
  }

  private mutating func move(
    _ path: String, _ random: inout SeededRandom, _ space: TestSpace
  ) throws {
    let folder = folders.sorted().randomElement(using: &random)!
    let target = folder + "/" + ["a", "b", "c"].randomElement(using: &random)!
    guard let content = living[path], target != path else { return }
    try space.rename(path, target)
    living[path] = nil
    if let replaced = living.updateValue(content, forKey: target) { deleted.insert(replaced) }
  }

  private mutating func restoreOne(_ random: inout SeededRandom, _ space: TestSpace) throws {
    guard let content = deleted.sorted().randomElement(using: &random),
      let file = try space.deletedFile(of: content)
    else { return }
    let path = String(
      decoding: try space.fileSystem.restoreDeleted(file).path, as: UTF8.self)
    deleted.remove(content)
    living[path] = content
    var parent = path.split(separator: "/").dropLast()
    while !parent.isEmpty {
      folders.insert(parent.joined(separator: "/"))
      parent = parent.dropLast()
    }
  }

  private func crash(_ space: TestSpace) throws {
    try space.space.commit()
    try space.crash()
  }

  func compare(_ space: TestSpace) throws {
    for (path, content) in living { #expect(try space.text(path) == content) }
    #expect(space.deleted.count == deleted.count)
    #expect(try Set(space.deleted.map { try space.text(of: $0.inode) }) == deleted)
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
  }
}

extension TestSpace {
  #if DEBUG
  /// How often the catalog's lock was held.
  fileprivate var locks: Int { space.read { $0.extents.steps.holds } }
  #endif

  fileprivate func text(of inode: InodeNumber) throws -> String {
    let file = try fileSystem.open(inode, mode: OpenMode(writes: false))
    defer { file.release() }
    let size = try fileSystem.attributes(of: inode).size
    return String(decoding: try file.get(Int(size), at: 0), as: UTF8.self)
  }

  fileprivate func deletedFile(of content: String) throws -> DeletedFile? {
    try deleted.first { try text(of: $0.inode) == content }
  }
}
