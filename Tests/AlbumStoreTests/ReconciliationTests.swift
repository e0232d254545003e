import AlbumFormat
import AlbumModel
import Testing

@testable import AlbumStore

// A replayed catalog contradicts itself if frames were lost or made by an attacker with the keys. A mount
// reconciles it, so that no name ever leads to a different file, nothing traps and nothing loops. The fuzzers of
// Tests/Fuzz found these cases.

struct ReconciliationTests {
  private static let time = Timestamp(nanoseconds: 0)

  private func inode(
    _ number: UInt64, _ kind: FileKind = .regular, links: UInt32 = 1,
    _ change: (inout InodeState) -> Void = { _ in }
  ) -> JournalItem {
    var state = InodeState(number: InodeNumber(number), kind: kind, permissions: 0o644)
    state.links = links
    change(&state)
    return .inode(state)
  }

  private func entry(_ directory: UInt64, _ name: String, _ inode: UInt64) -> JournalItem {
    .entry(
      directory: InodeNumber(directory), name: FileName(known: Array(name.utf8)),
      inode: InodeNumber(inode))
  }

  private func reconciled(_ items: [JournalItem], corrections: Int) -> Catalog {
    var catalog = Catalog()
    catalog.beginReplay()
    for item in items { catalog.apply(item) }
    _ = catalog.finishReplay()
    let (first, second) = (catalog.reconcile(), catalog.reconcile())
    #expect(first == corrections && second == 0)
    return catalog
  }

  /// Replays the frames that a mount would append over the items.
  private func restated(_ items: [JournalItem], _ catalog: inout Catalog) throws -> Catalog {
    var again = Catalog()
    again.beginReplay()
    for item in items { again.apply(item) }
    try decodeItems(catalog.takeChanges()) { again.apply($0) }
    _ = again.finishReplay()
    return again
  }

  private var counters: JournalItem {
    var counters = SpaceCounters()
    counters.nextInode = 100
    counters.nextDataSegment = 100
    return .counters(counters)
  }

  @Test func aWholeCatalogIsLeftAlone() {
    let items = [
      counters, inode(1, .directory), inode(2, .directory), inode(3, links: 2),
      entry(1, "album", 2), entry(2, "one", 3), entry(1, "two", 3),
    ]
    let catalog = reconciled(items, corrections: 0)
    let hasChanges = catalog.hasChanges
    #expect(!hasChanges)
  }

  @Test func removingOneOfTwoNamesLeavesTheOtherThoughOnlyOneWasCounted() throws {
    let items = [
      counters, inode(1, .directory), inode(2, links: 1), entry(1, "one", 2), entry(1, "two", 2),
    ]
    var catalog = reconciled(items, corrections: 1)
    let root = catalog.index(of: .root)!
    catalog.removeEntry(FileName(literal: "one"), in: root)
    let other = catalog.child(FileName(literal: "two"), of: root)
    #expect(other.map { catalog.state($0).number } == InodeNumber(2))
    catalog.removeEntry(FileName(literal: "two"), in: root)
    let gone = catalog.index(of: InodeNumber(2))
    #expect(gone == nil)
  }

  @Test func directoriesThatHoldOneAnotherAreTakenApart() throws {
    let items = [
      counters, inode(1, .directory), inode(2, .directory), inode(3, .directory),
      entry(2, "a", 3), entry(3, "b", 2),
    ]
    var catalog = reconciled(items, corrections: 1)
    for number in [2, 3] as [UInt64] { climb(from: number, in: catalog) }
    var again = try restated(items, &catalog)
    let left = again.reconcile()
    #expect(left == 0)
  }

  @Test func theRootIsInNoDirectory() throws {
    let items = [
      counters, inode(1, .directory), inode(2, .directory), entry(1, "a", 2), entry(2, "up", 1),
    ]
    let catalog = reconciled(items, corrections: 1)
    climb(from: 2, in: catalog)
    let album = catalog.index(of: InodeNumber(2))!
    let up = catalog.child(FileName(literal: "up"), of: album)
    #expect(up == nil)
  }

  @Test func aDirectoryHasTheNameThatIsMetFirst() throws {
    let items = [
      counters, inode(1, .directory), inode(2, .directory), entry(1, "old", 2), entry(1, "new", 2),
    ]
    var catalog = reconciled(items, corrections: 1)
    let root = catalog.index(of: .root)!
    let (names, directories) = (catalog.entryCount(of: root), catalog.subdirectoryCount(of: root))
    #expect(names == 1 && directories == 1)
    // The other name is gone for good, whatever happens to this one.
    catalog.removeEntry(FileName(literal: "old"), in: root)
    let again = try restated(items, &catalog)
    let other = again.child(FileName(literal: "new"), of: again.index(of: .root)!)
    #expect(other == nil)
  }

  @Test func aThumbnailThatIsNotThereIsMadeAgain() {
    let catalog = reconciled(
      [
        counters, inode(1, .directory), entry(1, "a.jpg", 2),
        inode(2) {
          $0.thumbnail = InodeNumber(9)
          $0.thumbnailState = .made
        },
      ], corrections: 1)
    let photo = catalog.state(catalog.index(of: InodeNumber(2))!)
    #expect(photo.thumbnail == InodeNumber(0) && photo.thumbnailState == .pending)
  }

  @Test func numbersInUseAreNotGivenAgainThoughTheCountersWereLost() {
    let extent = Extent(offset: 0, length: 5, segment: SegmentNumber(7), grid: 0, skip: 0)
    var catalog = reconciled(
      [
        inode(1, .directory), inode(50), entry(1, "a", 50),
        .extents(InodeNumber(50), from: 0, to: 5, [extent]),
      ], corrections: 1)
    let new = catalog.create(
      kind: .regular, permissions: 0, owner: 0, group: 0, time: ReconciliationTests.time)
    let (number, segment) = (catalog.state(new).number, catalog.takeDataSegment())
    #expect(number == InodeNumber(51))
    #expect(segment == SegmentNumber(8))
  }

  @Test func aNumberInUseIsNotGivenOutWhereCountersCannotGoOnBehindIt() {
    let top = NumberLimits.counter
    let extent = Extent(
      offset: 0, length: 5, segment: SegmentNumber(NumberLimits.segmentCounter), grid: 0, skip: 0)
    var catalog = reconciled(
      [
        inode(1, .directory), inode(top), entry(1, "a", top), inode(top + 1),
        entry(1, "b", top + 1), .extents(InodeNumber(top), from: 0, to: 5, [extent]),
      ], corrections: 1)
    let new = catalog.create(
      kind: .regular, permissions: 0, owner: 0, group: 0, time: ReconciliationTests.time)
    #expect(catalog.state(new).number == InodeNumber(top + 2))
    #expect(catalog.takeDataSegment() == SegmentNumber(NumberLimits.segmentCounter + 1))
  }

  @Test func anInodeThatGoesWithItsPhotoLeavesNoName() {
    // A photo without a name goes, and its thumbnail with it. The thumbnail counts once, though it has a name
    // too.
    var catalog = reconciled(
      [
        counters, inode(1, .directory), inode(5), entry(1, "named", 5),
        inode(6, links: 0) { $0.thumbnail = InodeNumber(5) },
      ], corrections: 0)
    let root = catalog.index(of: .root)!
    #expect(catalog.child(FileName(literal: "named"), of: root) == nil)
    let new = catalog.create(
      kind: .regular, permissions: 0, owner: 0, group: 0, time: ReconciliationTests.time)
    catalog.insertEntry(FileName(literal: "other"), in: root, child: new)
    #expect(catalog.child(FileName(literal: "named"), of: root) == nil)
    #expect(catalog.child(FileName(literal: "other"), of: root) == new)
  }

  @Test func thumbnailsOfThumbnailsGoWithWrongCounts() {
    let catalog = reconciled(
      [
        counters, inode(1, .directory), inode(5) { $0.thumbnail = InodeNumber(6) },
        inode(6, links: 0), inode(7, links: 0) { $0.thumbnail = InodeNumber(5) },
      ], corrections: 0)
    #expect(catalog.inodeCount == 1)
  }

  @Test func countersAtTheLastNumberCanBeWrittenAgain() throws {
    var catalog = reconciled(
      [
        counters, inode(1, .directory), entry(1, "a", 5),
        inode(5) { $0.contentStatements = NumberLimits.inode },
      ], corrections: 0)
    let file = catalog.index(of: InodeNumber(5))!
    let extent = Extent(offset: 0, length: 5, segment: SegmentNumber(1), grid: 0, skip: 0)
    catalog.replaceExtents(of: file, from: 0, to: 5, with: [extent])
    try decodeItems(catalog.takeChanges()) { _ in }
  }

  @Test func countersAtTheirLimitAreWrittenSoThatTheyCanBeRead() throws {
    var stated = SpaceCounters()
    stated.nextInode = .max
    stated.nextDataSegment = .max
    stated.nextCheckpointSegment = .max
    stated.nextSequence = .max
    var catalog = reconciled(
      [.counters(stated.withinLimits), inode(1, .directory)], corrections: 0)
    _ = catalog.create(
      kind: .regular, permissions: 0, owner: 0, group: 0, time: ReconciliationTests.time)
    _ = catalog.takeDataSegment()
    try decodeItems(catalog.takeChanges()) { _ in }
  }

  @Test func aRegularFileContainsNoNames() {
    var catalog = Catalog()
    catalog.beginReplay()
    for item in [
      counters, inode(1, .directory), entry(5, "x", 6), inode(5), inode(6), entry(1, "f", 5),
    ] { catalog.apply(item) }
    let findings = catalog.finishReplay()
    #expect(findings.lostEntries.map(\.name) == [FileName(literal: "x")])
    let name = catalog.child(FileName(literal: "x"), of: catalog.index(of: InodeNumber(5))!)
    #expect(name == nil)
  }

  private func climb(from number: UInt64, in catalog: borrowing Catalog) {
    var place = catalog.index(of: InodeNumber(number))
    for _ in 0..<10 {
      guard let found = place else { break }
      if catalog.state(found).number == .root { return }
      place = catalog.index(of: catalog.parent(of: found))
    }
    Issue.record("directories go round in a circle")
  }
}
