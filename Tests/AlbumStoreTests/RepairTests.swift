import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumCheck
@testable import AlbumStore

// The core of `albumfs check --repair`. It keeps what can be read, at the place that the report names.
// Afterwards the space mounts and a check finds nothing. However much of the journal and the checkpoints is
// lost, no photo is. A repair does not touch other spaces of the store.

struct RepairTests {
  let place: CheckPlace
  init() throws { place = try CheckPlace() }

  /// Repairs, and expects that nothing is left to repair.
  @discardableResult
  private func repair() throws -> CheckReport {
    let report = try place.check(repairs: true)
    let after = try place.check()
    #expect(after.findings == [])
    let space = try place.store.open()
    #expect(!space.status.recovery.isDamaged)
    try space.close()
    return report
  }

  @Test func aHealthySpaceIsNotWrittenTo() throws {
    let before = try place.bytes()
    let report = try place.check(repairs: true)
    #expect(report.repairs == [])
    #expect(try place.bytes() == before)
  }

  @Test func aDamagedFileIsMovedWithWhatIsLeftOfIt() throws {
    let extent = try place.extent(of: "big", at: 70_000)
    try place.flip(.data, extent.segment, at: Int(extent.grid) * 256 + 100)
    let report = try repair()
    #expect(report.damagedPaths == ["big"])
    let zeroed = CheckRepair.unreadableZeroed(
      path: "big", byteCount: 65_536, movedTo: "Recovered/Photo/big")
    #expect(report.repairs.contains(zeroed))
    let files = try place.files()
    var expected = place.contents["big"]!
    expected.replaceSubrange(65_536..<131_072, with: [UInt8](repeating: 0, count: 65_536))
    #expect(files["big"] == nil)
    #expect(files["Recovered/Photo/big"] == expected)
    #expect(files["first"] == place.contents["first"])
  }

  @Test func contentThatNobodyKnowsAnyMoreIsNamedAndBecomesZeros() throws {
    let space = try place.store.open()
    space.change { catalog in
      let first = catalog.child(FileName(literal: "first"), of: catalog.index(of: .root)!)!
      let lost = Extent(
        offset: 0, length: 2000, segment: Extent.lostSegment, grid: 0, skip: 0)
      catalog.replaceExtents(of: first, from: 0, to: 2000, with: [lost])
    }
    try space.close()
    let report = try repair()
    #expect(report.findings.map(\.kind) == [.unreadableContent])
    #expect(report.damagedPaths == ["first"])
    let zeros = [UInt8](repeating: 0, count: 2000)
    #expect(try place.files()["Recovered/Photo/first"] == zeros + place.contents["first"]![2000...])
  }

  @Test func aDamagedThumbnailIsMadeAgain() throws {
    let extent = try place.extent(of: place.thumbnail, at: 0)
    try place.flip(.data, extent.segment, at: Int(extent.grid) * 256 + 60)
    try repair()
    let space = try place.store.open(readOnly: true)
    let photo = try #require(space.find("Trip/Photo/IMG_1.jpg"))
    #expect(space.read { $0.state(photo).thumbnailState } == .pending)
    #expect(space.read { $0.index(of: place.thumbnail) } == nil)
    try space.close()
  }

  @Test func linkCountsOrphansAndLostAlbumsAreSetRight() throws {
    let space = try place.store.open()
    let album = space.change { catalog -> InodeNumber in
      let root = catalog.index(of: .root)!
      let first = catalog.child(FileName(literal: "first"), of: root)!
      catalog.update(first) { $0.links = 5 }
      // The album loses its name, as after the loss of a frame.
      let album = catalog.child(FileName(literal: "Trip"), of: root)!
      catalog.dropEntry(FileName(literal: "Trip"), in: root)
      catalog.enqueueEntry(FileName(literal: "Trip"), in: root)
      return catalog.state(album).number
    }
    try space.close()
    try repair()
    let files = try place.files()
    #expect(files["Recovered/inode-\(album.rawValue)/Photo/IMG_1.jpg"] != nil)
    #expect(files["first"] == place.contents["first"])
  }

  @Test func bothCheckpointsAreDamagedAndEveryFileComesBack() throws {
    let (newest, former) = try place.bothCheckpoints()
    try place.flip(.checkpoint, newest.firstSegment, at: 60)
    try place.flip(.checkpoint, former.firstSegment, at: 60)
    try repair()
    try expectAllContents()
  }

  @Test func bothHeadsOfTheNewestJournalSegmentAreDamaged() throws {
    let number = try #require(try place.journals().last)
    try place.flip(.journal, number, at: 60)
    try place.flip(.journal, number, at: 256 + 60)
    try repair()
    let files = try place.files()
    #expect(files["big"] == place.contents["big"])
    #expect(files["last"] == place.contents["last"])
  }

  @Test func withoutAnyJournalEveryFileComesBack() throws {
    for number in try place.journals() { try place.remove(.journal, number) }
    let report = try repair()
    #expect(report.findings.contains { $0.kind == .catalog })
    try expectAllContents()
  }

  @Test func withoutJournalAndCheckpointsEveryFileComesBackByNumber() throws {
    for number in try place.journals() { try place.remove(.journal, number) }
    for number in try place.numbers(.checkpoint) { try place.remove(.checkpoint, number) }
    var options = CheckOptions()
    options.repairs = true
    options.fileEnding = { $0.isEmpty ? nil : ".jpg" }
    _ = try SpaceCheck.run(place.store.store, keys: place.store.keys, options: options)
    #expect(try place.check().findings == [])
    try expectAllContents()
    #expect(try place.files().keys.allSatisfy { $0.hasPrefix("Recovered/Photo/inode-") })
    #expect(try place.files().keys.allSatisfy { $0.hasSuffix(".jpg") })
  }

  @Test func aRebuiltSpaceGoesOn() throws {
    for number in try place.journals() { try place.remove(.journal, number) }
    for number in try place.numbers(.checkpoint) { try place.remove(.checkpoint, number) }
    try repair()
    var random = SeededRandom()
    let content = random.bytes(100_000)
    for round in 0..<3 {
      let space = try place.store.open()
      try space.write(content, to: "new \(round)")
      try space.close()
    }
    #expect(try place.check().findings == [])
    #expect(try place.files()["new 1"] == content)
    try expectAllContents()
  }

  @Test func framesThatAreLostCostNamesAtWorst() throws {
    var space = try place.store.open()
    let only = [UInt8](repeating: 7, count: 5000)
    let newer = [UInt8](repeating: 8, count: 6000)
    try space.write(only, to: "only here")
    try space.write(newer, to: "first")
    let journal = space.durability.journal.withLock { $0.writer.position.segment }
    try space.close()
    space = try place.store.open()
    try space.write([9], to: "later")
    try space.close()
    try place.zero(.journal, journal)
    try repair()
    let files = try place.files()
    #expect(files.values.contains(only))
    #expect(files["Recovered/Photo/first"] == newer)
    #expect(files["first"] == place.contents["first"])
    #expect(files["later"] == [9])
  }

  /// Removes the journal segment that describes a file; returns the content of the file.
  private func loseTheJournalOfAFile() throws -> [UInt8] {
    let space = try place.store.open(background: false)
    let only = [UInt8](repeating: 7, count: 5000)
    try space.write(only, to: "only here")
    let journal = space.durability.journal.withLock { $0.writer.position.segment }
    try space.close()
    try place.remove(.journal, journal)
    return only
  }

  @Test func filesOfALostJournalAreKeptUntilARepair() throws {
    let only = try loseTheJournalOfAFile()
    // The space is mounted and used all the same. Numbers are not used again, and nothing is swept.
    for round in 0..<3 {
      let space = try place.store.open(grace: 0, background: false)
      try space.write([UInt8(round)], to: "later \(round)")
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<4 { try sweep.round(space.compactor) }
      try space.close()
    }
    let report = try place.check()
    #expect(report.findings.map(\.kind) == [.lostFile])
    try repair()
    let files = try place.files()
    #expect(files["later 2"] == [2])
    #expect(files.values.contains(only))
  }

  /// The session that finds the loss is killed right after its mount. It has only recorded where it
  /// continues, and the next session finds no missing frame.
  @Test func filesOfALostJournalAreKeptEvenIfTheNextSessionIsKilledAtOnce() throws {
    var space = try place.store.open(background: false)
    var random = SeededRandom()
    let only = random.bytes(600_000)
    try space.write([1], to: "before")
    try space.durability.checkpoint()
    try space.write(only, to: "only here")
    try space.barrier()
    let journal = space.durability.journal.withLock { $0.writer.position.segment }
    space.abandon()
    try place.remove(.journal, journal)
    for _ in 0..<3 { try place.store.open(grace: 0, background: false).abandon() }
    for round in 0..<2 {
      space = try place.store.open(grace: 0, background: false)
      #expect(space.durability.keepsEverything)
      try space.write([UInt8(round)], to: "later \(round)")
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<4 { try sweep.round(space.compactor) }
      try space.close()
    }
    try repair()
    #expect(try place.files().values.contains(only))
  }

  /// Until the next checkpoint, only the journal names the content that compaction moved, and the old place
  /// is gone. So a lost journal segment makes the files unreadable, and a repair restores them.
  @Test(arguments: [false, true], 0..<3)
  func whatCompactionMovedComesBackWithoutTheJournalThatToldOfIt(
    wasKilled: Bool, mountsBetween: Int
  )
    throws
  {
    var space = try place.store.open(grace: 0, background: false)
    var random = SeededRandom()
    for file in 0..<40 { try space.write(random.bytes(50_000), to: "garbage \(file)") }
    for file in 0..<40 where file % 5 != 0 { space.remove("garbage \(file)") }
    try space.durability.checkpoint()
    try space.close()
    let files = try place.files()
    space = try place.store.open(grace: 0, background: false)
    let known = Set(space.read { $0.segments.accounts }.keys)
    try space.compact()
    #expect(!Set(space.read { $0.segments.accounts }.keys).isSuperset(of: known))
    let journal = space.durability.journal.withLock { $0.writer.position.segment }
    if wasKilled { space.abandon() } else { try space.close() }
    try place.remove(.journal, journal)
    for round in 0..<mountsBetween {
      space = try place.store.open(grace: 0, background: false)
      try space.write([UInt8(round)], to: "later \(round)")
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<4 { try sweep.round(space.compactor) }
      try space.close()
    }
    #expect(try place.check().findings != [])
    try repair()
    let found = Set(try place.files().values)
    for (name, content) in files where !content.isEmpty {
      #expect(found.contains(content), "\(name)")
    }
  }

  /// A session that writes no content uses no segment, so the segments before and behind the lost ones are
  /// far apart.
  @Test func filesOfALostJournalAreKeptIfNoContentIsWrittenAfterwards() throws {
    let only = try loseTheJournalOfAFile()
    for round in 0..<3 {
      let space = try place.store.open(grace: 0, background: false)
      try space.write([], to: "empty \(round)")
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<4 { try sweep.round(space.compactor) }
      try space.close()
    }
    try repair()
    #expect(try place.files().values.contains(only))
  }

  @Test func aSessionThatWasKilledBeforeItsFirstFrameDoesNotHinderTheNext() throws {
    let space = try place.store.open(background: false)
    let extent = try space.appendOnly([UInt8](repeating: 3, count: 4000))
    try space.context.content.flush { _ in }
    space.abandon()
    #expect(try place.check().findings == [])
    let again = try place.store.open()
    try again.write([4], to: "goes on")
    try again.close()
    #expect(try place.extent(of: "goes on", at: 0).segment > extent.segment)
    #expect(try place.check().findings == [])
  }

  @Test func anotherSpaceIsNotTouchedByteForByte() throws {
    let other = SpaceKeys()
    try Space.create(in: place.store.store, keys: other, options: SpaceOptions(owner: 0, group: 0))
    let space = try Space.open(
      place.store.store, keys: other, options: SpaceOpenOptions(logger: Logger(label: "test")))
    try space.write([UInt8](repeating: 1, count: 300_000), to: "secret")
    try space.close()
    let mine = Set(try place.ownPaths())
    let before = try place.bytes().filter { !mine.contains($0.key) }
    #expect(before.count >= 3)
    for number in try place.journals() { try place.remove(.journal, number) }
    try repair()
    let after = try place.bytes()
    for (path, bytes) in before { #expect(after[path] == bytes, "\(path)") }
  }

  @Test func aRepairDiscardsNothingThatTheDiskCannotRead() throws {
    let faulty = FaultyDisk(place.store.store.directory)
    let extent = try place.extent(of: "big", at: 0)
    faulty.makeUnreadable(place.path(.data, extent.segment), behind: 4096)
    let store = Store(faulty, place.store.store.configuration)
    let report = try SpaceCheck.run(store, keys: place.store.keys)
    #expect(report.damagedPaths.contains("big"))
    #expect(report.findings.contains { $0.detail == .diskCannotRead })
    let before = try place.bytes()
    var options = CheckOptions()
    options.repairs = true
    #expect {
      try SpaceCheck.run(store, keys: place.store.keys, options: options)
    } throws: {
      ($0 as? StoreError)?.code == .inputOutput
    }
    #expect(try place.bytes() == before)
  }

  /// The disk may read tomorrow the names that it cannot read today.
  @Test func aJournalThatTheDiskCannotReadIsNotRepaired() throws {
    let before = try place.bytes()
    var refused = 0
    for number in try place.journals() {
      for sound: Int64 in [0, 4096] {
        let faulty = FaultyDisk(place.store.store.directory)
        faulty.makeUnreadable(place.path(.journal, number), behind: sound)
        let store = Store(faulty, place.store.store.configuration)
        let report = try SpaceCheck.run(store, keys: place.store.keys)
        #expect(report.findings.contains { $0.detail == .diskCannotRead && $0.severity == .damage })
        var options = CheckOptions()
        options.repairs = true
        do throws(StoreError) {
          // The unreadable part may be empty.
          #expect(
            try SpaceCheck.run(store, keys: place.store.keys, options: options).repairs.isEmpty)
        } catch {
          #expect(error.code == .inputOutput)
          refused += 1
        }
        #expect(try place.bytes() == before)
      }
    }
    #expect(refused > 0)
  }

  /// Expects all content, whatever its names.
  private func expectAllContents() throws {
    let files = Set(try place.files().values)
    for (name, content) in place.contents where !content.isEmpty {
      #expect(files.contains(content), "\(name)")
    }
  }
}

extension CheckPlace {
  func journals() throws -> [SegmentNumber] { try numbers(.journal) }

  func numbers(_ kind: SegmentKind) throws -> [SegmentNumber] {
    try segmentFiles.list().numbers(of: kind)
  }

  private var segmentFiles: SegmentFiles {
    SegmentFiles(
      directory: store.store.directory, keys: store.keys, segmentSize: StorePlace.segmentSize)
  }

  func ownPaths() throws -> [String] {
    try SegmentKind.allCases.flatMap { kind in
      try numbers(kind).map { path(kind, $0) }
    }
  }

  func remove(_ kind: SegmentKind, _ number: SegmentNumber) throws {
    try store.store.directory.remove(path(kind, number))
  }

  func bothCheckpoints() throws -> (newest: CheckpointReference, former: CheckpointReference) {
    let space = try store.open(readOnly: true)
    defer { try? space.close() }
    return space.durability.journal.withLock {
      ($0.writer.position.checkpoint, $0.writer.position.formerCheckpoint)
    }
  }

  /// Returns all files of the space by path, with their content.
  func files(withThumbnails: Bool = false) throws -> [String: [UInt8]] {
    let space = try store.open(readOnly: true)
    defer { try? space.close() }
    var result: [String: [UInt8]] = [:]
    let found = space.read { catalog -> [(String, Int64, [Extent])] in
      var inodes: Set<InodeNumber> = []
      catalog.forEachInode { _, state in
        if state.kind == .regular, withThumbnails || !state.marks.contains(.madeThumbnail) {
          inodes.insert(state.number)
        }
      }
      let paths = CatalogPaths(catalog, of: inodes)
      return inodes.flatMap { inode in
        let index = catalog.index(of: inode)!
        let size = catalog.state(index).size
        let extents = catalog.extents(of: index, from: 0, to: size)
        return paths.all(inode).map { ($0, size, extents) }
      }
    }
    for (path, size, extents) in found { result[path] = try space.bytes(size, extents) }
    return result
  }
}

extension Space {
  /// Seals content that no frame will name.
  fileprivate func appendOnly(_ bytes: [UInt8]) throws -> Extent {
    var buffer = [UInt8](repeating: 0, count: ReadHeadroom.byteCount) + bytes
    return try unsafe buffer.withUnsafeMutableBytes {
      var held = try unsafe append(
        UnsafeMutableRawBufferPointer(rebasing: $0[ReadHeadroom.byteCount...]),
        of: InodeNumber(99), at: 0, fileLength: Int64(bytes.count))
      return held.take()[0]
    }
  }

  /// Follows a path.
  func find(_ path: String) -> InodeIndex? {
    read { catalog in
      var at = catalog.index(of: .root)
      for name in path.split(separator: "/") {
        at = at.flatMap { catalog.child(FileName(known: Array(name.utf8)), of: $0) }
      }
      return at
    }
  }
}
