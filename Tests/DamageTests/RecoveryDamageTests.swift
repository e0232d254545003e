import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// Mounts with a journal whose end is missing, and with frames that count only together.

struct RecoveryDamageTests {
  private let keys = SpaceKeys()

  private func newSpace() throws -> MountedAlbums {
    let disk = DamagedDisk()
    try disk.makeDirectory("segments")
    try Space.create(
      in: Store(directory: disk, segmentSize: SampleStore.segmentSize), keys: keys,
      options: SpaceOptions(owner: 1000, group: 1000))
    return try MountedAlbums(disk, keys)
  }

  private func path(_ kind: SegmentKind, _ number: UInt32, _ disk: DamagedDisk) -> String {
    keys.path(kind, SegmentNumber(number), among: disk.segmentPaths()) ?? "no such segment"
  }

  private func segments(_ kind: SegmentKind, _ disk: DamagedDisk) -> [UInt32] {
    keys.numbers(kind, among: disk.segmentPaths()).map(\.rawValue)
  }

  // MARK: Frames that count only together

  /// Makes one step of history that needs more frames than a journal segment holds.
  private func makeManyFiles(_ mounted: MountedAlbums, _ count: Int) throws {
    try mounted.mkdir(".many")
    try mounted.space.commit()
    for number in 0..<count {
      try mounted.symlink(String(repeating: "x", count: 200), ".many/file \(number)")
    }
    try mounted.space.commit()
  }

  @Test func aStepOfHistoryMayGoOnInTheNextSegment() throws {
    let mounted = try newSpace()
    let before = segments(.journal, mounted.disk).count
    try makeManyFiles(mounted, 1500)
    #expect(segments(.journal, mounted.disk).count > before + 1)
    let left = mounted.space.observe()
    let killed = try MountedAlbums(DamagedDisk(mounted.disk.frozen()), keys)
    #expect(killed.space.observe() == left)
    #expect(!killed.space.status.recovery.isDamaged)
    try mounted.unmount()
    let again = try MountedAlbums(mounted.disk, keys)
    #expect(again.space.observe().items.count == left.items.count)
    #expect(!again.space.status.recovery.isDamaged)
    #expect(again.space.status.recovery.wasClean)
  }

  @Test func aStepOfHistoryThatWasNotWrittenToItsEndIsNoneAndNoDamage() throws {
    let mounted = try newSpace()
    try makeManyFiles(mounted, 1500)
    let newest = try #require(segments(.journal, mounted.disk).last)
    for length in [0, 300, 512, 4096] {
      var store = mounted.disk.frozen()
      store.files[path(.journal, newest, mounted.disk)]?.bytes.removeLast(
        SampleStore.segmentSize - length)
      let cut = try MountedAlbums(DamagedDisk(store), keys)
      #expect(try cut.list(".many") == [], "cut at \(length)")
      #expect(!cut.space.status.recovery.isDamaged, "cut at \(length)")
      try cut.write([1, 2, 3], to: "after")
      try cut.unmount()
      let again = try MountedAlbums(cut.disk, keys)
      #expect(try again.content("after") == [1, 2, 3])
      #expect(try again.list(".many") == [])
    }
  }

  @Test func aDamagedPartOfAStepCostsThatStepAndIsCountedOnce() throws {
    let mounted = try newSpace()
    try mounted.write([1], to: "before")
    try makeManyFiles(mounted, 1500)
    try mounted.write([2], to: "after")
    try mounted.unmount()
    let number = try #require(segments(.journal, mounted.disk).dropFirst().first)
    let disk = DamagedDisk(mounted.disk.frozen())
    disk.flip(path(.journal, number, disk), 120_000, 1)
    let again = try MountedAlbums(disk, keys)
    let report = again.space.status.recovery
    #expect(report.damagedFrames > 2 && report.damagedFrames < 15)
    #expect(try again.content("before") == [1] && again.content("after") == [2])
    #expect(try again.list(".many") == [])
  }

  // MARK: A missing end

  @Test func numbersOfSegmentsThatTheJournalDoesNotKnowAreNotGivenOutAgain() throws {
    let mounted = try newSpace()
    try mounted.write([1], to: "first")
    try mounted.unmount()
    let newest = try #require(segments(.journal, mounted.disk).last)
    let second = try MountedAlbums(mounted.disk, keys)
    let content = [UInt8](repeating: 7, count: 700_000)
    try second.write(content, to: "second")
    try second.unmount()
    let data = segments(.data, mounted.disk)
    for number in segments(.journal, mounted.disk) where number > newest {
      try mounted.disk.remove(path(.journal, number, mounted.disk))
    }
    let third = try MountedAlbums(mounted.disk, keys)
    #expect(third.space.status.recovery.end == .missing)
    #expect(try third.list("") == ["first"])
    try third.write(content, to: "third")
    // A sweep keeps everything that may be the last remnant of something.
    var sweep = try third.space.compactor.beginSweep()
    for _ in 0..<3 { try sweep.round(third.space.compactor) }
    try third.unmount()
    for number in data { #expect(mounted.disk.bytes(path(.data, number, mounted.disk)) != nil) }
    let fourth = try MountedAlbums(mounted.disk, keys)
    #expect(try fourth.content("third") == content)
    #expect(try fourth.content("first") == [1])
  }

  @Test func aNewestJournalSegmentThatWasCutShortIsReported() throws {
    let mounted = try newSpace()
    for number in 0..<4 {
      try mounted.write([1], to: "file \(number)")
      try mounted.space.barrier()
    }
    try mounted.unmount()
    let newest = try #require(segments(.journal, mounted.disk).last)
    var store = mounted.disk.frozen()
    store.files[path(.journal, newest, mounted.disk)]?.bytes.removeLast(
      SampleStore.segmentSize - 5000)
    let again = try MountedAlbums(DamagedDisk(store), keys)
    #expect(again.space.status.recovery.isCutShort)
    #expect(again.space.status.recovery.isDamaged)
    let report = try DamagedDisk(store).check(keys)
    let findings = report.findings.filter { $0.kind == .journal && $0.severity == .damage }
    #expect(findings.contains { $0.segments == [path(.journal, newest, mounted.disk)] })
  }

  @Test func aSegmentThatIsNeededAgainIsNotRetired() throws {
    var catalog = Catalog()
    catalog.beginReplay()
    var root = InodeState(number: .root, kind: .directory, permissions: 0o755)
    root.links = 1
    catalog.apply(.inode(root))
    var file = InodeState(number: InodeNumber(9), kind: .regular, permissions: 0o644)
    file.links = 1
    file.size = 10
    let extent = Extent(offset: 0, length: 10, segment: SegmentNumber(3), grid: 0, skip: 0)
    catalog.apply(.extents(file.number, from: 0, to: 10, [extent]))
    catalog.apply(.inode(file))
    catalog.apply(.entry(directory: .root, name: .photo, inode: file.number))
    catalog.beginGap()
    catalog.apply(behindGap: [
      .segment(
        .data, SegmentNumber(3), SegmentBirth(1), .retired, retiredAt: StoreTime(milliseconds: 5))
    ])
    let findings = catalog.finishReplay()
    #expect(findings == ReplayFindings())
    #expect(catalog.segments.accounts[SegmentNumber(3)]?.state == .living)
    #expect(catalog.counters.nextInode > 9 && catalog.counters.nextDataSegment > 3)
  }
}
