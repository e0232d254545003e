import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Logging
import Testing

@testable import AlbumStore

// Deleted files: how long they stay, what ends them, and what is left of them then.

struct DeletedFileTests {
  let place: StorePlace
  let time = PassingTime()
  init() throws { place = try StorePlace() }

  private func open(readOnly: Bool = false) throws -> Space {
    try place.open(readOnly: readOnly, background: false, time: time.source)
  }

  /// Does what housekeeping does in an hour.
  private func expire(_ space: Space) throws {
    var expiry = DeletedExpiry()
    try expiry.round(space.compactor)
  }

  @Test func aDeletedFileStaysForThirtyDaysOfUse() throws {
    let space = try open()
    try space.write([1, 2, 3], to: "a")
    space.delete("a")
    time.pass(.days(29))
    try expire(space)
    #expect(space.deletedNames == ["a"])
    #expect(space.deletedUsage.files == 1)
    time.pass(.days(2))
    try expire(space)
    #expect(space.deletedNames == [])
    try space.close()
    let again = try open()
    #expect(again.deletedNames == [])
    #expect(again.read { $0.inodeCount } == 1)
    again.abandon()
  }

  @Test(arguments: [false, true])
  func aDeletedFileComesBackAfterUnmountAndKill(_ isKilled: Bool) throws {
    let space = try open()
    try space.write([1, 2, 3], to: "a")
    space.delete("a")
    try space.commit()
    if isKilled { space.abandon() } else { try space.close() }
    let again = try open()
    #expect(try again.content(of: "a") == nil)
    try again.restore("a")
    try again.close()
    #expect(try open().content(of: "a") == [1, 2, 3])
  }

  @Test func checkpointsHoldDeletedFiles() throws {
    let space = try open()
    try space.write([1, 2, 3], to: "a")
    space.delete("a")
    for _ in 0..<2 { try space.durability.checkpoint() }
    try space.close()
    let again = try open()
    #expect(again.deletedNames == ["a"])
    try again.close()
    let report = try SpaceCheck.run(place.store, keys: place.keys)
    #expect(report.findings.isEmpty)
  }

  // MARK: Clocks

  /// One mount on a machine whose clock is years ahead, or in 1970, ends no deleted file.
  @Test(arguments: [Duration.days(73 * 365), .days(400 * 365), .days(1100 * 365), .days(-56 * 365)])
  func aWrongClockEndsNothing(_ error: Duration) throws {
    let space = try open()
    try space.write([1], to: "a")
    space.delete("a")
    try space.close()
    time.setWrong(by: error)
    let wrong = try open()
    try wrong.write([2], to: "b")
    try expire(wrong)
    #expect(wrong.deletedNames == ["a"])
    try wrong.close()
    time.setWrong(by: .zero)
    let again = try open()
    try again.write([3], to: "c")
    try expire(again)
    #expect(again.deletedNames == ["a"])
    let age = try #require(again.deletedUsage.oldestAge)
    #expect(age <= .days(5), "\(age)")
    try again.close()
  }

  /// Two sessions a month apart: the month counts as two days.
  @Test func theTimeBetweenSessionsCountsTwoDaysAtMost() throws {
    let space = try open()
    try space.write([1], to: "a")
    space.delete("a")
    try space.close()
    for session in 1...3 {
      time.pass(.days(40))
      let next = try open()
      try next.write([2], to: "b")
      let age = try #require(next.deletedUsage.oldestAge)
      #expect(age >= .days(2 * session) && age < .days(2 * session + 1), "\(age)")
      if session == 2 { next.abandon() } else { try next.close() }
    }
  }

  /// What a removed file costs while a snapshot shows it, and that a file that stays pays nothing. The count
  /// of files is one at which the hash tables have just grown.
  @Test func aDeletedFileTakesLittleMemory() {
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let (count, root) = (22_000, catalog.index(of: .root)!)
    for number in 0..<count {
      addFile(name("IMG_\(10_000 + number).JPG"), in: root, to: &catalog)
    }
    let (empty, inodes) = (catalog.formers.byteCount, catalog.inodeCount)
    for number in 0..<count {
      // A fast `rm`.
      let time = Int64(number) * 20_000
      catalog.removeEntry(
        name("IMG_\(10_000 + number).JPG"), in: root,
        at: RemovalMoment(
          used: StoreTime(milliseconds: time / 1_000_000), wall: Timestamp(nanoseconds: time)))
    }
    let kept = (catalog.points.count, catalog.formers.names.count, catalog.inodeCount)
    #expect(kept == (1, count, inodes), "nothing but the names went")
    let taken = catalog.formers.byteCount - empty + catalog.formerBookkeeping
    #expect(taken <= 80 * count, "\(taken / count) bytes for each removed file")
    #expect(MemoryLayout<InodeRecord>.stride <= 120)
  }

  /// The same for a former version, which needs an inode and an extent.
  @Test func aFormerVersionTakesLittleMemory() {
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let (count, root) = (22_000, catalog.index(of: .root)!)
    for number in 0..<count { addFile(name("\(number)"), in: root, to: &catalog) }
    let empty = catalog.memoryOfHistory
    let moment = RemovalMoment(
      used: StoreTime(milliseconds: 0), wall: Timestamp(nanoseconds: 0))
    var kept = 0
    for number in 0..<count {
      let file = catalog.child(name("\(number)"), of: root)!
      if catalog.keepVersion(of: file, at: moment) { kept += 1 }
    }
    #expect(kept == count)
    let taken = catalog.memoryOfHistory - empty + catalog.formerBookkeeping
    #expect(taken <= 220 * count, "\(taken / count) bytes for each former version")
  }

  private func addFile(_ name: FileName, in directory: InodeIndex, to catalog: inout Catalog) {
    let file = catalog.create(
      kind: .regular, permissions: 0o644, owner: 0, group: 0, time: .init(nanoseconds: 0))
    catalog.insertEntry(name, in: directory, child: file)
    catalog.update(file) { $0.size = 10 }
    catalog.placeExtents(
      [Extent(offset: 0, length: 10, segment: SegmentNumber(1), grid: 1, skip: 0)], of: file)
    catalog.unpin(file)
  }

  private func name(_ text: String) -> FileName { FileName(known: Array(text.utf8)) }

  /// Files that go within one second share the moment, but none takes that of a file that went before a
  /// snapshot that shows it.
  @Test func filesThatGoTogetherHaveOneTimeUnlessASnapshotIsBetweenThem() {
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let root = catalog.index(of: .root)!
    let times: [Int64] = [100_100, 100_900, 101_000, 101_200]
    for time in times { addFile(name("\(time)"), in: root, to: &catalog) }
    let files = times.map { catalog.child(name("\($0)"), of: root)! }
    for time in times {
      let moment = RemovalMoment(
        used: StoreTime(milliseconds: time), wall: Timestamp(nanoseconds: time * 1_000_000))
      if time == 101_200 { catalog.makePoint(at: moment, label: name("named")) }
      catalog.removeEntry(name("\(time)"), in: root, at: moment)
    }
    var ended: [Int64?] = []
    for file in files { ended.append(catalog.formerPlace(of: file)?.ended.milliseconds) }
    #expect(ended == [100_100, 100_100, 101_000, 101_200])
  }

  /// A thousand files in an hour are a disaster, and a thousand in a day are work.
  @Test func manyDeletionsWithinAnHourAreNoticed() throws {
    let work = (0..<3000).map { Int64($0) * 60 }
    #expect(DeletedBurst(in: work) == nil)
    #expect(DeletedBurst(in: []) == nil)
    #expect(DeletedBurst(in: [.min, .max, 0]) == nil)
    let disaster = (0..<1500).map { Int64(100_000 + $0 / 4) }
    let burst = try #require(DeletedBurst(in: (work + disaster).shuffled()))
    #expect(burst.files >= 1500 && burst.first >= 96_000 && burst.last <= 104_000)
    #expect(DeletedBurst(in: disaster)?.first == 100_000)
    #expect(DeletedBurst(in: disaster)?.last == 100_374)
  }

  // MARK: Without a trace

  @Test(arguments: [true, false])
  func aSessionThatChangesNothingEndsNothingAndLeavesNoTrace(_ readOnly: Bool) throws {
    let space = try open()
    try space.write([1], to: "a")
    space.delete("a")
    try space.close()
    let before = try place.snapshot()
    for _ in 0..<20 {
      time.pass(.days(40))
      let again = try open(readOnly: readOnly)
      #expect(again.deletedNames == ["a"])
      if !readOnly {
        var sweep = try again.compactor.beginSweep()
        try sweep.round(again.compactor)
      }
      try again.close()
    }
    #expect(try place.snapshot() == before)
  }

  // MARK: Room

  @Test func compactionKeepsDeletedFiles() throws {
    let space = try open()
    var random = SeededRandom()
    let content = random.bytes(150_000)
    for number in 0..<8 { try space.write(random.bytes(150_000), to: "gone \(number)") }
    try space.write(content, to: "a")
    space.delete("a")
    for number in 0..<8 { space.remove("gone \(number)") }
    try space.compact()
    try space.restore("a")
    #expect(try space.content(of: "a") == content)
    try space.close()
    #expect(try open().content(of: "a") == content)
  }

  /// A full disk costs the deleted files that are older than the guaranteed days, the oldest first, and no
  /// other. Names can be removed all the same.
  @Test func aFullDiskEndsTheOldestDeletedFilesAndKeepsTheGuaranteedOnes() throws {
    var run = try FullDiskRun()
    let space = try run.open(time: time.source)
    run.disk.limit(run.disk.used + 40 << 18)
    for file in 0..<20 { try run.write(space, "old \(file)", 100_000) }
    for file in 0..<20 { space.delete("old \(file)") }
    try space.commit()
    time.pass(.days(8))
    for file in 0..<20 { try run.write(space, "young \(file)", 100_000) }
    let young = (0..<20).compactMap { run.files["young \($0)"] }
    for file in 0..<20 { space.delete("young \(file)") }
    try space.commit()
    #expect(space.deletedUsage.bytesGivenUp == 2_000_000)
    run.files = [:]
    try run.fill(space, expecting: .noSpace)
    let kept = space.deletedNames
    #expect(kept.filter { $0.hasPrefix("young") }.count == 20)
    #expect(kept.filter { $0.hasPrefix("old") } == [])
    // Nothing gives way now, but a removal and a purge do their work.
    let removed = try #require(run.files.keys.min())
    space.delete(removed)
    run.files[removed] = nil
    try space.commit()
    #expect(space.deletedNames.contains(removed))
    for (file, content) in young.enumerated() where file < 3 {
      #expect(try space.deletedContent(of: "young \(file)") == content)
    }
    _ = try space.purgeDeleted(space.deletedInodes)
    try run.sweep(space)
    for file in 0..<5 { try run.write(space, "more \(file)", 100_000) }
    try run.expectAllThere(space)
    try space.close()
    #expect(try run.check().findings.filter { $0.severity == .damage } == [])
  }

  /// A program overwrote a file that it had removed before, so the file's former version is younger than the
  /// removal. The file waits for the version, and nothing else waits for the file.
  @Test func aFullDiskEndsAFileAfterAYoungerVersionOfIt() throws {
    let space = try open()
    for name in ["a", "b"] { try space.write([1, 2, 3], to: name) }
    space.delete("a")
    let inode = space.deletedInodes[0]
    space.read { $0.references.take(inode) }
    time.pass(.days(1))
    space.delete("b")
    let moment = space.removalMoment(.now)
    space.change { catalog in
      let isKept = catalog.index(of: inode).map { catalog.keepVersion(of: $0, at: moment) }
      #expect(isKept == true)
    }
    _ = space.read { $0.references }.giveBack(inode)
    time.pass(.days(8))
    while try space.compactor.discardOldestDeleted(atLeast: 1) {}
    #expect(space.deletedNames == [])
    #expect(space.read { $0.inodeCount } == 1)
    try space.close()
  }

  /// A version came back and was overwritten, and a lost frame took its return back: then it has a version itself.
  @Test(arguments: [true, false])
  func aVersionWithAVersionGoesBehindIt(_ isPurged: Bool) throws {
    let space = try open()
    for name in ["a", "b"] { try space.write([1, 2, 3], to: name) }
    let versions = space.keepVersions(of: "a")
    space.delete("b")
    time.pass(.days(8))
    if isPurged {
      #expect(try space.purgeDeleted([versions[0]]) == 2)
      #expect(space.deletedNames == ["b"])
    } else {
      while try space.compactor.discardOldestDeleted(atLeast: 1) {}
      #expect(space.deletedNames == [])
    }
    // A snapshot may still need one, but shows an empty file.
    for version in versions {
      let isEmpty = space.read { catalog in
        catalog.index(of: version).map { catalog.state($0).size == 0 } ?? true
      }
      #expect(isEmpty)
    }
    try space.close()
  }

  // MARK: For good

  /// A purge takes the former versions of a file with it, and an expiry takes them first.
  @Test(arguments: [true, false])
  func formerVersionsGoWithTheirFile(_ isPurged: Bool) throws {
    let space = try open()
    let file = try space.overwriteAndDelete("a")
    #expect(space.deletedUsage.files == 2)
    let number = space.read { $0.state(file).number }
    if isPurged {
      #expect(try space.purgeDeleted([number]) == 2)
    } else {
      time.pass(.days(31))
      try expire(space)
      try expire(space)
    }
    #expect(space.deletedInodes == [])
    #expect(space.read { $0.inodeCount } == 1)
    try space.close()
    let again = try open()
    #expect(again.read { $0.inodeCount } == 1)
    again.abandon()
  }

  /// A copy may lack the newest content of a deleted file, and have what the file held before.
  @Test func aFormerVersionTakesThePlaceOfADeletedFileThatACopyLacks() throws {
    let space = try open()
    let file = try space.overwriteAndDelete("a")
    space.change { $0.discardUnwritten(file) }
    #expect(space.deletedNames == ["a"])
    #expect(try space.deletedContent(of: "a") == [1, 2, 3])
    try space.close()
    let again = try open()
    try again.restore("a")
    #expect(try again.content(of: "a") == [1, 2, 3])
    let isSound = again.read { CatalogAudit($0).problems.isEmpty && $0.formerCounts.isEmpty }
    #expect(isSound)
    try again.close()
  }

  @Test func afterAPurgeNoSegmentHoldsTheContentOrTheName() throws {
    let space = try place.open(grace: 0, background: false, time: time.source)
    var random = SeededRandom()
    let living = random.bytes(120_000)
    try space.write(living, to: "living")
    try space.write(random.bytes(60_000), to: "secret")
    try space.write(random.bytes(10_000), to: "after")
    space.delete("secret")
    try space.commit()
    let before = Set(try place.snapshot().keys)
    let held = space.segmentsOfDeleted
    #expect(!held.isEmpty)
    let secret = space.deletedInodes
    #expect(try space.purgeDeleted(secret) == 1)
    var sweep = try space.compactor.beginSweep()
    for _ in 0..<3 { try sweep.round(space.compactor) }
    try space.barrier()
    #expect(space.deletedNames == [])
    #expect(space.read { Set($0.segments.accounts.keys) }.isDisjoint(with: held))
    // Segments from before are gone, but for the reserve of the space and its fence.
    let left = before.intersection(try place.snapshot().keys)
    #expect(left.count <= 4, "\(left)")
    #expect(try space.content(of: "living") == living)
    try space.close()
    let again = try open()
    #expect(try again.content(of: "living") == living)
    #expect(again.read { $0.index(of: secret[0]) } == nil)
    again.abandon()
  }

  /// The system forgets a purged file that a program has open when the program closes it.
  @Test func aPurgedFileThatIsOpenGoesWithItsLastReference() throws {
    let space = try open()
    try space.write([1], to: "a")
    space.delete("a")
    let inode = space.deletedInodes[0]
    space.read { $0.references.take(inode) }
    #expect(try space.purgeDeleted([inode]) == 1)
    #expect(space.read { $0.index(of: inode) } != nil)
    try space.commit()
    space.abandon()
    let again = try open()
    #expect(again.deletedNames == [])
    #expect(again.read { $0.index(of: inode) } == nil)
    again.abandon()
  }

  // MARK: Settings

  @Test func whoeverSwitchesItOffLosesWhatIsRemovedFromThenOn() throws {
    let space = try open()
    var policy = space.deletedPolicy
    #expect(policy == DeletedPolicy())
    policy.isOn = false
    policy.keptDays = 90
    space.deletedPolicy = policy
    try space.write([1], to: "a")
    space.delete("a")
    #expect(space.deletedNames == [])
    try space.close()
    let again = try open()
    #expect(again.deletedPolicy == policy)
    policy.isOn = true
    again.deletedPolicy = policy
    try again.write([1], to: "b")
    again.delete("b")
    time.pass(.days(80))
    try expire(again)
    #expect(again.deletedNames == ["b"])
    try again.close()
  }

  @Test(arguments: [UInt64.max, 1 << 40])
  func impossibleSettingsDoNoHarm(_ value: UInt64) throws {
    let space = try open()
    space.change { catalog in
      for property in [SpaceProperty.keptDays, .guaranteedDays, .keepsDeleted, .skippedTime] {
        catalog.setProperty(property, to: value)
      }
    }
    try space.write([1], to: "a")
    space.delete("a")
    try space.close()
    let again = try open()
    try again.write([1], to: "b")
    try expire(again)
    #expect(again.deletedNames == ["a"])
    #expect(again.deletedUsage.files == 1)
    try again.close()
  }

  // MARK: Sessions of an older release

  /// A session that does not know deleted files drops them, and may remove their segments.
  @Test(arguments: [SegmentState.removed, .retired])
  func afterAnOlderReleaseADeletedFileIsWholeOrGone(_ state: SegmentState) throws {
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let root = catalog.index(of: .root)!
    let file = catalog.create(
      kind: .regular, permissions: 0o644, owner: 0, group: 0, time: .init(nanoseconds: 0))
    let name = FileName(literal: "a")
    catalog.insertEntry(name, in: root, child: file)
    let extent = Extent(offset: 0, length: 10, segment: SegmentNumber(1), grid: 1, skip: 0)
    catalog.hold(extent)
    catalog.replaceExtents(of: file, from: 0, to: 10, with: [extent])
    catalog.update(file) { $0.size = 10 }
    catalog.unpin(file)
    catalog.removeEntry(name, in: root, at: RemovalMoment(used: .none, wall: .now))
    var replayed = Catalog()
    replayed.beginReplay()
    try decodeItems(catalog.takeChanges()) { replayed.apply($0) }
    replayed.apply(.segment(.data, SegmentNumber(1), .none, state, retiredAt: .none))
    #expect(replayed.finishReplay() == ReplayFindings())
    var names: [FileName] = []
    _ = replayed.forEachDeleted(from: 0, limit: .max) { _, place in names.append(place.name!) }
    #expect(names == (state == .removed ? [] : [name]))
    #expect(replayed.inodeCount == (state == .removed ? 1 : 2))
    #expect(
      replayed.segments.accounts[SegmentNumber(1)]?.state == (state == .removed ? nil : .living))
    #expect(CatalogAudit(replayed).problems.isEmpty)
  }

  /// Names, directories and inodes of former places that contradict one another, as only damage or somebody
  /// with the keys makes them.
  @Test func contradictionsAmongFormerPlacesDoNoHarm() {
    func state(_ number: UInt64, _ kind: FileKind, links: UInt32) -> JournalItem {
      var state = InodeState(number: InodeNumber(number), kind: kind, permissions: 0o755)
      state.links = links
      state.size = 1
      return .inode(state)
    }
    func former(_ number: UInt64, _ reason: FormerPlace.Reason, in directory: UInt64) -> JournalItem
    {
      .former(
        InodeNumber(number),
        FormerPlace(
          reason, FileName(literal: "x"), in: InodeNumber(directory), ended: .none, removed: .now))
    }
    func version(of file: UInt64) -> FormerPlace {
      FormerPlace(.overwritten, nil, in: InodeNumber(file), ended: .none, removed: .now)
    }
    var catalog = Catalog()
    catalog.beginReplay()
    for item in [
      state(1, .directory, links: 1), state(2, .directory, links: 0),
      state(3, .directory, links: 0),
      state(4, .regular, links: 0), state(5, .regular, links: 0), state(6, .regular, links: 0),
      // A circle, an inode that nothing states, a file for a directory, itself, and one with a name.
      former(2, .directory, in: 3), former(3, .directory, in: 2), former(4, .deleted, in: 2),
      former(99, .deleted, in: 98), former(5, .deleted, in: 6), former(6, .deleted, in: 6),
      former(1, .directory, in: 1), .former(InodeNumber(7), version(of: 7)),
      .former(InodeNumber(8), version(of: 2)), state(7, .regular, links: 0),
      state(8, .regular, links: 0),
      .entry(directory: .root, name: FileName(literal: "named"), inode: InodeNumber(4)),
    ] { catalog.apply(item) }
    _ = catalog.finishReplay()
    _ = catalog.reconcile()
    #expect(catalog.reconcile() == 0)
    #expect(catalog.child(FileName(literal: "named"), of: catalog.index(of: .root)!) == nil)
    catalog.forEachInode { index, _ in _ = catalog.formerPath(of: index) }
    let file = catalog.index(of: InodeNumber(5))!
    #expect(catalog.formerPlace(of: file)?.directory == .root)
    let isGone = catalog.discardDeleted(file)
    #expect(isGone)
    #expect(catalog.index(of: InodeNumber(5)) == nil)
  }
}

extension Duration {
  fileprivate static func days(_ count: Int) -> Duration { .seconds(count * 24 * 3600) }
}

extension Space {
  /// Writes a file, overwrites it, which keeps a former version, and deletes it.
  fileprivate func overwriteAndDelete(_ name: String) throws -> InodeIndex {
    try write([1, 2, 3], to: name)
    let file = read { catalog in
      catalog.child(FileName(known: Array(name.utf8)), of: catalog.index(of: .root)!)!
    }
    let moment = removalMoment(.now)
    let isKept = change { catalog in catalog.keepVersion(of: file, at: moment) }
    #expect(isKept)
    try write([4, 5, 6], to: name)
    delete(name)
    return file
  }

  /// Removes a name as a user does.
  func delete(_ name: String) {
    let moment = removalMoment(.now)
    change { catalog in
      catalog.removeEntry(
        FileName(known: Array(name.utf8)), in: catalog.index(of: .root)!, at: moment)
    }
  }

  /// Keeps a version of a file in the root, and one of that version. Returns both.
  fileprivate func keepVersions(of name: String) -> [InodeNumber] {
    let moment = removalMoment(.now)
    return change { catalog in
      let root = catalog.index(of: .root)!
      var index = catalog.child(FileName(known: Array(name.utf8)), of: root)!
      var found: [InodeNumber] = []
      for _ in 0..<2 {
        _ = catalog.keepVersion(of: index, at: moment)
        index = catalog.formers.newestVersion(of: index)!
        found.append(catalog.state(index).number)
      }
      return found
    }
  }

  private var deleted: [(index: InodeIndex, inode: InodeNumber, name: String)] {
    read { catalog in
      var found: [(index: InodeIndex, inode: InodeNumber, name: String)] = []
      _ = catalog.forEachDeleted(from: 0, limit: .max) { index, place in
        found.append((index, catalog.state(index).number, place.name?.display ?? ""))
      }
      return found
    }
  }

  var deletedNames: [String] { deleted.map(\.name).sorted() }
  var deletedInodes: [InodeNumber] { deleted.map(\.inode) }

  var segmentsOfDeleted: Set<SegmentNumber> {
    let files = deleted
    return read { catalog in
      Set(files.flatMap { catalog.extents(of: $0.index, from: 0, to: .max).map(\.segment) })
    }
  }

  func deletedContent(of name: String) throws -> [UInt8]? {
    guard let file = deleted.first(where: { $0.name == name }) else { return nil }
    let (size, extents) = read { catalog in
      let size = catalog.state(file.index).size
      return (size, catalog.extents(of: file.index, from: 0, to: size))
    }
    return try bytes(size, extents)
  }

  /// Gives a deleted file its name again.
  func restore(_ name: String) throws {
    let file = try #require(deleted.first { $0.name == name })
    change { catalog in
      catalog.insertEntry(
        FileName(known: Array(name.utf8)), in: catalog.index(of: .root)!, child: file.index)
    }
    try commit()
  }
}

extension Catalog {
  /// Bytes in the dictionaries with the counts of former places: entries of 8 bytes, at most three eighths to
  /// three quarters full, and a bit for each.
  fileprivate var formerBookkeeping: Int {
    (formerCounts.capacity + pastCounts.capacity) * 4 / 3 * 8
  }

  /// Bytes in the tables in which a version has a place.
  fileprivate var memoryOfHistory: Int { formers.byteCount + inodes.byteCount + extents.byteCount }
}
