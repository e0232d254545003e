import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumFileSystem
@testable import AlbumStore

/// Trees deeper than any stack: every walk is a loop. What the catalog remembers about a directory's place
/// equals the result of a climb to the root.
struct DeepTreeTests {
  private static let depth = 19_400

  let space: TestSpace
  init() throws { space = try TestSpace() }

  /// Makes `depth` nested directories and returns the lowest.
  private func makeTree(_ path: String, depth: Int) throws -> InodeNumber {
    try space.mkdir(path)
    var at = try space.number(path)
    for _ in 1..<depth {
      let entry = try space.fileSystem.makeDirectory(
        FileName("d"), in: at, permissions: 0o755, for: TestSpace.me)
      at = entry.attributes.inode
    }
    return at
  }

  private func write(_ text: String, _ name: String, in directory: InodeNumber) throws {
    let (_, file) = try space.fileSystem.create(
      FileName(name), in: directory, permissions: 0o644, mode: OpenMode(writes: true),
      for: TestSpace.me)
    try file.put(Array(text.utf8), at: 0)
    try file.flush()
    file.release()
  }

  private func twin(of directory: InodeNumber) -> InodeNumber? {
    space.space.read { catalog in
      catalog.index(of: directory).flatMap { Twins.twin(of: $0, catalog) }.map {
        catalog.state($0).number
      }
    }
  }

  private var directoryCount: Int {
    space.space.read { catalog in
      var count = 0
      catalog.forEachInode { _, state in if state.isDirectory && state.links > 0 { count += 1 } }
      return count
    }
  }

  @Test func aTreeOfAnyDepthGoesIntoPhotoAndOutAgain() throws {
    try space.mkdir("Trip")
    try space.mkdir(".plain")
    let before = directoryCount
    let bottom = try makeTree(".plain/top", depth: DeepTreeTests.depth)
    try write("picture", "a.jpg", in: bottom)
    try space.rename(".plain/top", "Trip/Photo/top")
    #expect(try space.makeThumbnails() == 1)
    let shown = try #require(twin(of: bottom))
    let thumbnail = try space.fileSystem.lookup(FileName("a.jpg"), in: shown)
    #expect(thumbnail.attributes.size == Int64("thumbnail of picture".utf8.count))
    #expect(directoryCount == before + 2 * DeepTreeTests.depth)
    try space.remount()
    #expect(twin(of: bottom) == shown)
    #expect(refusal { try space.rename("Trip/Photo/top", "Trip/Photo/top/d/d/d") } == .invalid)
    try space.rename("Trip/Photo/top", ".plain/again")
    #expect(directoryCount == before + DeepTreeTests.depth, "the twins have gone")
    #expect(twin(of: bottom) == nil)
  }

  /// After a mount nothing remembers where the view shows a thumbnail. The search visits more directories
  /// than one look at the catalog takes.
  @Test func aThumbnailAtTheBottomBecomesTheUsersOwnWhereHeWritesIt() throws {
    try space.mkdir("Trip")
    let bottom = try makeTree("Trip/Photo/top", depth: 9_000)
    try write("picture", "a.jpg", in: bottom)
    #expect(try space.makeThumbnails() == 1)
    let shown = try #require(twin(of: bottom))
    let name = try FileName("a.jpg")
    let made = try space.fileSystem.lookup(name, in: shown).attributes.inode
    try space.remount()
    #expect(space.fileSystem.counts().thumbnails == 1)
    #expect(space.fileSystem.entry(name, in: shown) == nil, "the view alone shows it")
    let file = try space.fileSystem.open(made, mode: OpenMode(writes: true))
    try file.put(Array("drawn".utf8), at: 0)
    try file.flush()
    file.release()
    #expect(space.fileSystem.entry(name, in: shown) == made)
    let contents = space.fileSystem.counts()
    #expect([contents.photos, contents.thumbnails, contents.files] == [1, 0, 2])
  }

  @Test func anAlbumAtTheBottomOfADeepTrashIsFound() throws {
    try space.mkdir("Trip")
    try space.mkdir(".trash")
    let bottom = try makeTree(".trash/deep", depth: DeepTreeTests.depth)
    try space.mkdir("Gone")
    try space.fileSystem.rename(
      FileName("Gone"), in: .root, to: FileName("Gone"), in: bottom, mode: RenameMode())
    #expect(refusal { try space.rename(".trash/deep", "Trip/Photo/deep") } == .crossDevice)
  }

  /// The test makes, moves, exchanges and removes directories at random. After each step it compares every
  /// directory's zone and twin with those found without memory.
  @Test func theRememberedPlaceOfADirectoryEqualsAClimb() throws {
    var random = SeededRandom()
    let names = ["a", "b", ".h", "Photo", "Thumb"]
    for album in ["One", "Two"] { try space.mkdir(album) }
    try space.mkdir(".plain")
    for step in 0..<150 {
      let paths = directories()
      let path = paths.randomElement(using: &random)!
      let target = paths.randomElement(using: &random)! + "/" + names.randomElement(using: &random)!
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5: _ = try? space.mkdir(target)
      case 5..<8: try? space.rename(path, target)
      case 8: try? space.rename(path, target, exchange: true)
      default: try? space.rmdir(path)
      }
      let (known, climbed) = space.space.read { catalog in
        let known = places(in: catalog)
        catalog.memo.forget(.root, andBelow: true)
        defer { _ = places(in: catalog) }
        return (known, places(in: catalog))
      }
      #expect(known == climbed, "seed \(random.seed), step \(step)")
      if known != climbed { return }
    }
  }

  private struct Place: Equatable {
    var zone: Zone
    var twin: InodeIndex?
    var shown: [InodeIndex]
  }

  private func places(in catalog: borrowing Catalog) -> [InodeNumber: Place] {
    var found: [InodeIndex] = []
    catalog.forEachInode { index, state in
      if state.isDirectory && state.links > 0 { found.append(index) }
    }
    var places: [InodeNumber: Place] = [:]
    for index in found {
      places[catalog.state(index).number] = Place(
        zone: Zone(of: index, in: catalog), twin: Twins.twin(of: index, catalog),
        shown: ThumbView.photoDirectories(shownIn: index, catalog))
    }
    return places
  }

  /// Returns the paths of all directories except the root.
  private func directories() -> [String] {
    var paths: [String] = []
    var waiting = [""]
    while let path = waiting.popLast() {
      for name in (try? space.list(path)) ?? [] {
        let child = path.isEmpty ? name : path + "/" + name
        if (try? space.status(child).kind) == .directory {
          paths.append(child)
          waiting.append(child)
        }
      }
    }
    return paths.sorted()
  }
}
