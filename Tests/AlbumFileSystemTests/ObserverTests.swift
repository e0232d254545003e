import AlbumFileSystem
import AlbumModel
import Posix
import Testing

/// The core without a kernel, for example for the server of a gallery that follows the changes of a space.
struct ObserverTests {
  let space: TestSpace
  init() throws { space = try TestSpace() }

  private func name(_ path: String, in album: String?, isThere: Bool = true) throws
    -> FileSystemChange
  {
    let (parent, name) = try space.split(path)
    return .name(name, in: parent, album: try album.map(space.number), isThere: isThere)
  }

  @Test func anObserverFollowsAPhotoFromItsAlbumToItsThumbnailAndAway() throws {
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    let photo = try space.number("Trip/Photo/a.jpg")
    let made = try name("Trip/Photo/a.jpg", in: "Trip")
    #expect(
      space.observer.changes == [
        try name("Trip", in: "Trip"), made, .written(photo), .thumbnail(of: photo),
      ])
    try space.rename("Trip/Photo/a.jpg", "Trip/b.jpg")
    try space.unlink("Trip/b.jpg")
    #expect(
      space.observer.changes.suffix(3) == [
        try name("Trip/Photo/a.jpg", in: "Trip", isThere: false),
        try name("Trip/b.jpg", in: "Trip"), try name("Trip/b.jpg", in: "Trip", isThere: false),
      ])
  }

  @Test func observersLearnOfAFolderOfThumbThatFollows() throws {
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/Day")
    try space.rename("Trip/Photo/Day", "Trip/Photo/Night")
    #expect(
      space.observer.changes.suffix(2) == [
        try name("Trip/Thumb/Day", in: "Trip", isThere: false),
        try name("Trip/Thumb/Night", in: "Trip"),
      ])
    try space.rmdir("Trip/Photo/Night")
    #expect(
      space.observer.changes.last == (try name("Trip/Thumb/Night", in: "Trip", isThere: false)))
  }

  @Test func observersLearnOfAFailedThumbnail() throws {
    try space.mkdir("Trip")
    try space.write("text", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    #expect(space.observer.changes.last == .thumbnail(of: try space.number("Trip/Photo/a.jpg")))
  }

  @Test func eachObserverKnowsWhichChangesItAskedFor() throws {
    let other = FakeObserver()
    space.fileSystem.add(other)
    _ = try space.fileSystem.makeDirectory(
      FileName("Trip"), in: .root, permissions: 0o755,
      for: Caller(user: 1, group: 1, observer: other))
    try space.mkdir("Other")
    #expect(other.changes == space.observer.changes)
    #expect(other.ownChanges == [try name("Trip", in: "Trip")])
    #expect(space.observer.ownChanges == [])
    space.fileSystem.remove(other)
    try space.rmdir("Other")
    #expect(other.changes.count == 2, "it is no observer any more")
  }

  @Test func readsAndRefusedCallsAreNoChanges() throws {
    try space.mkdir(".plain")
    try space.write("a", to: ".plain/f")
    let count = space.observer.changes.count
    #expect(try space.text(".plain/f") == "a")
    _ = try space.lookup(".plain/f")
    _ = try space.list(".plain")
    _ = refusal { try space.rmdir(".plain") }
    _ = refusal { try space.rename(".plain/none", ".plain/g") }
    try space.link(".plain/f", ".plain/g")
    try space.rename(".plain/f", ".plain/g")
    #expect(space.observer.changes.count == count + 1, "the link alone: the rename does nothing")
  }

  /// No lock is held while an observer runs, so every call from it succeeds.
  @Test func anObserverMayReadTheSpace() throws {
    let asking = AskingObserver(space.fileSystem)
    space.fileSystem.add(asking)
    defer { space.fileSystem.remove(asking) }
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/Day")
    try space.write("a", to: "Trip/Photo/Day/a.jpg")
    try space.makeThumbnails()
    try space.rename("Trip/Photo/Day", "Trip/Photo/Night")
    _ = try space.fileSystem.tidy(nil)
    try space.rmdir("Trip/Thumb")
    #expect(asking.answers.withLock { $0 } >= 6)
  }
}

/// Reads at each change what a gallery would show.
private final class AskingObserver: FileSystemObserver {
  private let fileSystem: FileSystem
  let answers = Mutex(0, rank: .test)

  init(_ fileSystem: FileSystem) { self.fileSystem = fileSystem }

  func changed(_ change: FileSystemChange, isOwn: Bool) {
    var count = fileSystem.counts().files
    if case .name(let name, let directory, _, _) = change {
      count += ((try? fileSystem.path(of: directory))?.count ?? 0)
      _ = try? fileSystem.lookup(name, in: directory)
      try? fileSystem.openDirectory(directory).listWithAttributes(from: 0) { _, _ in true }
    }
    if case .thumbnail(let photo) = change { _ = fileSystem.names(of: photo) }
    answers.withLock { $0 += 1 }
  }
}
