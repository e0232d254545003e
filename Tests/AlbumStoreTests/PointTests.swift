import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// Points: how long they stay, what they keep, and what ends all of them.

struct PointTests {
  let place: StorePlace
  let time = PassingTime()
  init() throws { place = try StorePlace() }

  private func open() throws -> Space {
    try place.open(background: false, time: time.source)
  }

  /// Does what housekeeping does in an hour.
  private func expire(_ space: Space) throws {
    var expiry = DeletedExpiry()
    try expiry.round(space.compactor)
  }

  private func name(_ text: String) -> FileName { FileName(known: Array(text.utf8)) }

  /// The content that a name in the root led to at a point.
  private func content(of file: String, at point: InodeNumber, in space: Space) throws -> [UInt8]? {
    let found = space.read { catalog -> [Extent]? in
      let root = catalog.index(of: .root)!
      return catalog.child(name(file), of: root, at: point).map {
        catalog.extents(of: catalog.version(of: $0, at: point), from: 0, to: .max)
      }
    }
    return try found.map { try $0.flatMap { try space.content(of: $0) } }
  }

  @Test func aPointGoesAfterThirtyDaysWithAllThatOnlyItNeeded() throws {
    let space = try open()
    try space.write([1, 2, 3], to: "a")
    space.delete("a")
    #expect(space.points.count == 1)
    time.pass(.seconds(29 * 24 * 3600))
    try space.write([4], to: "b")
    try expire(space)
    #expect(try content(of: "a", at: space.points[0].number, in: space) == [1, 2, 3])
    time.pass(.seconds(2 * 24 * 3600))
    try expire(space)
    #expect(space.points == [])
    #expect(space.read { $0.formers.names.count == 0 && $0.inodeCount == 2 })
    try space.close()
    let again = try open()
    #expect(again.points == [])
    #expect(again.read { $0.inodeCount } == 2)
    again.abandon()
  }

  /// It outlives the deleted file that it shows, and a full disk.
  @Test func aNamedPointKeepsWhatItShowsUntilItIsRemoved() throws {
    let space = try open()
    try space.write([1, 2, 3], to: "a")
    let point = space.makePoint(name("before"), at: space.removalMoment(.now))
    space.delete("a")
    time.pass(.seconds(60 * 24 * 3600))
    try space.write([4], to: "b")
    try expire(space)
    #expect(space.deletedNames == [])
    #expect(space.deletedUsage.bytesGivenUp == 0)
    _ = try space.compactor.discardOldestDeleted(atLeast: .max)
    try space.compact()
    #expect(try content(of: "a", at: point.number, in: space) == [1, 2, 3])
    try space.close()
    let again = try open()
    #expect(again.points.map(\.label) == [name("before")])
    #expect(try content(of: "a", at: point.number, in: again) == [1, 2, 3])
    try again.removePoints([point.number])
    #expect(again.read { $0.inodeCount } == 2)
    try again.close()
  }

  /// What a purge removes shows at no point any more; what else was there stays.
  @Test func aPurgedFileShowsAtNoPoint() throws {
    let space = try open()
    try space.write([1, 2, 3], to: "secret")
    try space.write([4], to: "other")
    space.delete("secret")
    space.delete("other")
    let point = try #require(space.points.first)
    let secret = space.read { catalog in
      catalog.child(name("secret"), of: catalog.index(of: .root)!, at: point.number)
        .map { catalog.state($0).number }
    }
    #expect(try space.purgeDeleted([try #require(secret)]) == 1)
    #expect(try content(of: "secret", at: point.number, in: space) == nil)
    #expect(try content(of: "other", at: point.number, in: space) == [4])
    #expect(space.read { $0.index(of: secret!) } == nil)
    try space.close()
    let again = try open()
    #expect(try content(of: "secret", at: point.number, in: again) == nil)
    #expect(try content(of: "other", at: point.number, in: again) == [4])
    again.abandon()
  }

  /// A session of a release without points changes names and records nothing of it.
  @Test(arguments: [true, false])
  func aSessionOfAnOlderReleaseEndsAllPoints(_ isOlder: Bool) throws {
    let space = try open()
    try space.write([1], to: "a")
    space.delete("a")
    try space.close()
    let other = try open()
    #expect(other.points.count == 1)
    if isOlder {
      // It does not state the property.
      other.change { catalog in
        catalog.properties[.pointSession] = 0
        catalog.changes.waitingProperties = []
      }
    }
    try other.write([2], to: "b")
    try other.close()
    for _ in 0..<2 {
      let again = try open()
      #expect(again.points.isEmpty == isOlder)
      #expect(again.deletedNames == ["a"])
      #expect(again.read { CatalogAudit($0).problems.isEmpty })
      try again.write([3], to: "c")
      again.abandon()
    }
  }

  @Test func whatReplayDoesNotKnowEndsAllPoints() throws {
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let root = catalog.index(of: .root)!
    let file = catalog.create(
      kind: .regular, permissions: 0o644, owner: 0, group: 0, time: .init(nanoseconds: 0))
    catalog.insertEntry(name("a"), in: root, child: file)
    catalog.update(file) { $0.size = 1 }
    catalog.unpin(file)
    catalog.removeEntry(name("a"), in: root, at: RemovalMoment(used: .none, wall: .now))
    let made = catalog.points
    #expect(made.count == 1)
    let number = catalog.state(file).number
    var replayed = Catalog()
    replayed.beginReplay()
    try decodeItems(catalog.takeChanges()) { replayed.apply($0) }
    replayed.apply(.inodeGone(number))
    _ = replayed.finishReplay()
    let left = (replayed.points.count, replayed.formers.names.count, replayed.inodeCount)
    #expect(left == (0, 0, 1))
    // The next frame says so, and is not written for that alone.
    let isWritten = replayed.hasChanges
    #expect(!isWritten)
    let point = replayed.makePoint(at: RemovalMoment(used: .none, wall: .now))
    let frame = replayed.takeChanges()
    try decodeItems(frame) {
      catalog.beginReplay(); catalog.apply($0)
    }
    _ = catalog.finishReplay()
    #expect(catalog.points == [point])
  }

  /// Names, versions and numbers that contradict one another, as only damage or somebody with the keys makes
  /// them.
  @Test func contradictionsInThePastDoNoHarm() {
    func state(_ number: UInt64, _ kind: FileKind, links: UInt32) -> JournalItem {
      var state = InodeState(number: InodeNumber(number), kind: kind, permissions: 0o755)
      state.links = links
      return .inode(state)
    }
    func past(_ number: UInt64, in directory: UInt64, _ child: UInt64?) -> JournalItem {
      .pastName(
        PastName(
          number: InodeNumber(number), directory: InodeNumber(directory), name: name("x"),
          child: child.map { InodeNumber($0) }), isPresent: true)
    }
    func version(_ number: UInt64, of file: UInt64) -> JournalItem {
      .former(
        InodeNumber(number),
        FormerPlace(.changed, nil, in: InodeNumber(file), ended: .none, removed: .now))
    }
    let whole = [
      state(1, .directory, links: 1), state(2, .directory, links: 0), state(3, .regular, links: 0),
      state(30, .regular, links: 0), state(31, .directory, links: 0),
      .point(.there(HistoryPoint(number: InodeNumber(20), used: .none, wall: .now))),
      .counters(
        {
          var counters = SpaceCounters()
          counters.nextInode = 100
          return counters
        }()),
      // A circle, two records of one number, versions of one another and of themselves.
      past(40, in: 1, 2), past(41, in: 2, 2), past(42, in: 2, 1), past(42, in: 1, 3),
      version(30, of: 31), version(31, of: 30), version(3, of: 3),
    ]
    for further in [[], [past(43, in: 99, 3)], [past(43, in: 3, 2)], [past(43, in: 1, 98)]] {
      var catalog = Catalog()
      catalog.beginReplay()
      for item in whole + further { catalog.apply(item) }
      _ = catalog.finishReplay()
      _ = catalog.reconcile()
      let isEmpty = catalog.points.isEmpty
      #expect(isEmpty == !further.isEmpty)
      let numbers = catalog.points.map(\.number)
      catalog.removePoints(numbers)
      var place: UInt32? = 0
      while let start = place { place = catalog.prunePast(from: start, limit: 2) }
      let count = catalog.formers.names.count
      #expect(count == 0)
    }
  }
}
