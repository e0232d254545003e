import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

/// A program replaces a file while the store is copied: it writes a new one and renames it over the old one.
struct ReplacedInGapTests {
  let place: StorePlace
  init() throws { place = try StorePlace() }

  private func journals() -> Set<String> {
    Set(
      place.store.directory.segmentPaths().filter { place.keys.segment(at: $0)?.kind == .journal })
  }

  /// The copy has the checkpoint behind the change. It lacks the journal segment that records the change, and
  /// the segment of the new content. The file was closed before the copy began, so it must be in it.
  @Test func theCopyShowsTheOldFileWhereItLacksTheChangeAndTheNewContent() throws {
    var space = try place.open(background: false)
    try space.write([1, 2, 3], to: "a")
    try space.close()
    space = try place.open(background: false)
    try space.durability.checkpoint()
    let before = Set(place.store.directory.segmentPaths())
    let journal = try #require(journals().max { number($0) < number($1) })
    try space.write([4, 5, 6, 7], to: "a.new")
    let made = Set(place.store.directory.segmentPaths()).subtracting(before)
    let data = try #require(made.first { place.keys.segment(at: $0)?.kind == .data })
    space.change { catalog in
      let root = catalog.index(of: .root)!
      _ = catalog.removeEntry(FileName(known: Array("a".utf8)), in: root)
      catalog.moveEntry(
        FileName(known: Array("a.new".utf8)), of: root, to: FileName(known: Array("a".utf8)),
        in: root)
    }
    try space.commit()
    try space.durability.checkpoint()
    try space.close()

    try place.store.directory.remove(journal)
    try place.store.directory.remove(data)
    let copy = try place.open(readOnly: true)
    #expect(try copy.content(of: "a") == [1, 2, 3])
    #expect(copy.status.recovery.incompleteFiles.map(\.outcome) == [.leftOut])
    try copy.close()
  }

  /// A program rewrites an old file while the store is copied. No remaining frame states the old content:
  /// only the checkpoint from before the grace time has it.
  @Test func theCopyShowsTheOldContentOfAFileThatOnlyLostFramesChanged() throws {
    let time = PassingTime()
    func open(readOnly: Bool = false) throws -> Space {
      var options = SpaceOpenOptions(logger: Logger(label: "test"))
      options.readOnly = readOnly
      options.worksInBackground = false
      options.time = time.source
      return try Space.open(place.store, keys: place.keys, options: options)
    }
    var space = try open()
    try space.write([1, 2, 3], to: "a")
    try space.durability.checkpoint()
    try space.close()
    time.pass(StoreTime.grace + .seconds(60))
    space = try open()
    try space.write([9], to: "b")
    try space.close()
    let before = Set(place.store.directory.segmentPaths())
    space = try open()
    try space.write([4, 5, 6, 7], to: "a")
    let made = Set(place.store.directory.segmentPaths()).subtracting(before)
    let data = try #require(made.first { place.keys.segment(at: $0)?.kind == .data })
    let change = try #require(made.first { place.keys.segment(at: $0)?.kind == .journal })
    try space.durability.checkpoint()
    try space.close()

    try place.store.directory.remove(change)
    try place.store.directory.remove(data)
    let copy = try open(readOnly: true)
    #expect(try copy.content(of: "a") == [1, 2, 3])
    #expect(copy.status.recovery.incompleteFiles.map(\.outcome) == [.formerContent])
    try copy.close()
  }

  private func number(_ path: String) -> UInt32 {
    place.keys.segment(at: path)?.number.rawValue ?? 0
  }
}
