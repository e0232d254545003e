import AlbumCheck
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

  // MARK: Room

  /// Removes files as programs remove their own, so that nothing but the newest point shows them.
  private func removeUnseen(_ files: [String], in space: Space) {
    let moment = space.removalMoment(.now)
    space.change { catalog in
      catalog.makePoint(at: moment)
      for file in files { catalog.removeEntry(name(file), in: catalog.index(of: .root)!) }
    }
  }

  /// A full disk costs what only old points show, and nothing that is guaranteed or has a label. Files can be
  /// removed all the same, and what may go counts as free.
  @Test func aFullDiskCostsOldPointsAndLeavesTheGuaranteedOnes() throws {
    var run = try FullDiskRun()
    let space = try run.open(time: time.source)
    run.disk.limit(run.disk.used + 60 << 18)
    func write(_ batch: String) throws -> [String] {
      let names = (0..<20).map { "\(batch) \($0)" }
      for name in names { try run.write(space, name, 100_000) }
      return names
    }
    removeUnseen(try write("old"), in: space)
    time.pass(.seconds(60))
    let named = space.makePoint(name("named"), at: space.removalMoment(.now))
    let kept = try write("kept")
    let later = space.makePoint(name("later"), at: space.removalMoment(.now))
    removeUnseen(kept, in: space)
    time.pass(.seconds(8 * 24 * 3600))
    removeUnseen(try write("young"), in: space)
    try space.commit()
    let young = try #require(space.points.last)
    let usage = space.deletedUsage
    #expect((usage.files, usage.pointBytes) == (0, 6_000_000))
    #expect(usage.bytesGivenUp == 2_000_000 && space.historyBytesGivenUp == 2_000_000)
    let contents = run.files
    run.files = [:]
    try run.fill(space, expecting: .noSpace)
    #expect(space.points == [named, later, young])
    #expect(space.deletedUsage.pointBytes == 4_000_000)
    #expect(space.historyBytesGivenUp == 0)
    let removed = try #require(run.files.keys.min())
    space.delete(removed)
    run.files[removed] = nil
    try space.commit()
    #expect(space.deletedNames == [removed])
    for number in 0..<20 {
      for (batch, point) in [("kept", later), ("young", young)] {
        let file = "\(batch) \(number)"
        #expect(try content(of: file, at: point.number, in: space) == contents[file])
      }
    }
    try space.close()
    #expect(try run.check().findings.filter { $0.severity == .damage } == [])
  }

  /// Of several old days the oldest go first, and no more than it takes.
  @Test func aFullDiskCostsNoMorePointsThanItNeeds() throws {
    var run = try FullDiskRun()
    let space = try run.open(time: time.source)
    run.disk.limit(run.disk.used + 150 << 18)
    for day in 0..<3 {
      let names = (0..<90).map { "\(day) \($0)" }
      for name in names { try run.write(space, name, 100_000) }
      for name in names { space.delete(name) }
      try space.commit()
      time.pass(.seconds(5 * 24 * 3600))
    }
    time.pass(.seconds(5 * 24 * 3600))
    let points = space.points
    #expect(points.count == 3)
    run.files = [:]
    var number = 0
    while space.deletedNames.count == 270, number < 400 {
      try run.write(space, "new \(number)", 100_000)
      number += 1
    }
    #expect(space.points == Array(points.dropFirst()))
    #expect(space.deletedNames.filter { !$0.hasPrefix("0") }.count == 180)
    try run.expectAllThere(space)
    try space.close()
  }

  /// Content that a file or another version has too takes no room of its own.
  @Test func sharedContentOfThePastCountsOnce() throws {
    let space = try open()
    try space.write([UInt8](repeating: 1, count: 1000), to: "a")
    let file = space.read { $0.child(name("a"), of: $0.index(of: .root)!)! }
    let moment = space.removalMoment(.now)
    func size() -> (Int64, Int64) {
      let usage = space.deletedUsage
      return (usage.bytes, usage.pointBytes)
    }
    _ = space.change { $0.makePoint(at: moment) }
    space.change { catalog in catalog.update(file) { $0.mode ^= 0o077 } }
    #expect(size() == (0, 0))
    let isKept = space.change { $0.keepVersion(of: file, at: moment) }
    #expect(isKept && size() == (0, 0))
    try space.write([UInt8](repeating: 2, count: 1000), to: "a")
    #expect(size() == (1000, 0))
    space.delete("a")
    #expect(size() == (2000, 0))
    try space.close()
    let again = try open()
    #expect(again.deletedUsage.bytes == 2000 && again.deletedUsage.pointBytes == 0)
    again.abandon()
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
