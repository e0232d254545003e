#if DEBUG
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// How much one hold of the catalog's lock touches where very many files go, come back and expire. Everything else
// in the space waits for that lock.

struct HistoryHoldTests {
  /// At 21,845 a hash table would grow as a whole.
  private static let count = 24_000
  /// However many files there are: a walk looks at 4096 places at a time, and a frame is begun at as many changes.
  private static let limit = 8192

  private let place: StorePlace
  private let time = PassingTime()
  init() throws { place = try StorePlace() }

  @Test func noHoldGrowsWithTheNumberOfDeletedFiles() throws {
    let space = try open()
    try space.makeFiles(HistoryHoldTests.count)
    check(space, "files came")
    _ = space.makePoint(FileName(literal: "before"), at: space.removalMoment(.now))
    try space.removeFiles()
    check(space, "files were removed")
    #expect(space.deletedUsage.files == HistoryHoldTests.count)
    check(space, "the room of deleted files was added up")
    #expect(try space.compactor.discardOldestDeleted(atLeast: 1) == false)
    check(space, "a full disk looked for what may go")
    try passKeptDays(space)
    #expect(space.deletedUsage.files == 0, "the named snapshot alone keeps them")
    check(space, "deleted files expired")
    try space.removePoints([space.points[0].number])
    check(space, "the snapshot was removed")
    #expect(space.read { $0.inodeCount } == 1)
    try space.close()
  }

  @Test func noHoldOfARestoreOrAPurgeGrowsWithTheNumberOfFiles() throws {
    let space = try open()
    try space.makeFiles(HistoryHoldTests.count)
    try space.removeFiles()
    try space.restoreFiles(HistoryHoldTests.count / 2)
    check(space, "files came back")
    let rest = space.listDeleted()
    #expect(rest.count == HistoryHoldTests.count / 2)
    #expect(try space.purgeDeleted(rest) == rest.count)
    check(space, "the others were purged")
    #expect(space.read { $0.inodeCount } == 1 + HistoryHoldTests.count / 2)
    try space.close()
  }

  @Test func noHoldGrowsWithTheNumberOfFormerVersions() throws {
    let space = try open()
    try space.makeFiles(HistoryHoldTests.count)
    try space.overwriteFiles()
    check(space, "files were overwritten")
    #expect(space.deletedUsage.files == HistoryHoldTests.count)
    try passKeptDays(space)
    check(space, "former versions expired")
    #expect(space.read { $0.inodeCount } == 1 + HistoryHoldTests.count)
    try space.close()
  }

  /// A file that a program overwrites each minute has the most versions that one file can have.
  @Test func noHoldGrowsWithTheVersionsOfOneFile() throws {
    let space = try open()
    try space.makeFiles(1)
    for _ in 0..<1500 { try space.overwriteFiles() }
    #expect(space.deletedUsage.files == 1500)
    try passKeptDays(space)
    check(space, "former versions expired")
    #expect(space.read { $0.inodeCount } == 2)
    try space.close()
  }

  private func open() throws -> Space { try place.open(background: false, time: time.source) }

  private func check(_ space: Space, _ what: String) {
    let most = space.mostSteps
    #expect(most <= HistoryHoldTests.limit, "\(most) steps when \(what)")
  }

  /// All that housekeeping does in an hour, a month later.
  private func passKeptDays(_ space: Space) throws {
    time.pass(.seconds(31 * 24 * 3600))
    var expiry = DeletedExpiry()
    for _ in 0...HistoryHoldTests.count / 2048 { try expiry.round(space.compactor) }
  }
}

extension Space {
  /// The most that any hold of the catalog's lock has touched so far.
  fileprivate var mostSteps: Int { read { $0.extents.steps.most } }

  /// Long, so that the bytes of removed names are worth packing.
  private static func name(_ number: Int) -> FileName {
    FileName(known: Array("\(String(repeating: "photo ", count: 15))\(number)".utf8))
  }

  fileprivate func makeFiles(_ count: Int) throws {
    try forEachFile(count) { number, root, catalog in
      let file = catalog.create(
        kind: .regular, permissions: 0o644, owner: 0, group: 0, time: .init(nanoseconds: 0))
      catalog.insertEntry(Space.name(number), in: root, child: file)
      catalog.update(file) { $0.size = 10 }
      catalog.unpin(file)
    }
  }

  fileprivate func removeFiles() throws {
    let moment = removalMoment(.now)
    try forEachFile(read { $0.entryCount(of: $0.index(of: .root)!) }) { number, root, catalog in
      catalog.removeEntry(Space.name(number), in: root, at: moment)
    }
  }

  /// As `deletedFiles` of the file system does.
  fileprivate func listDeleted() -> [InodeNumber] {
    var (inodes, place): ([InodeNumber], UInt32?) = ([], 0)
    while let start = place {
      place = read { catalog in
        catalog.forEachDeleted(from: start, limit: 1024) { index, _ in
          inodes.append(catalog.state(index).number)
        }
      }
    }
    return inodes
  }

  fileprivate func restoreFiles(_ count: Int) throws {
    let inodes = listDeleted()
    try forEachFile(count) { number, root, catalog in
      let file = catalog.index(of: inodes[number])!
      catalog.insertEntry(catalog.formerPlace(of: file)!.name!, in: root, child: file)
    }
  }

  fileprivate func overwriteFiles() throws {
    let moment = removalMoment(.now)
    try forEachFile(read { $0.entryCount(of: $0.index(of: .root)!) }) { number, root, catalog in
      let file = catalog.child(Space.name(number), of: root)!
      _ = catalog.keepVersion(of: file, at: moment)
    }
  }

  /// Changes one file under each hold of the lock, and appends a frame now and then, as the keeper does.
  private func forEachFile(
    _ count: Int, _ body: (_ number: Int, _ root: InodeIndex, _ catalog: inout Catalog) -> Void
  ) throws {
    for number in 0..<count {
      change { body(number, $0.index(of: .root)!, &$0) }
      if number % 1000 == 999 { try commit() }
    }
  }
}
#endif
