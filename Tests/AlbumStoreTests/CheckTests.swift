import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumCheck
@testable import AlbumStore

// The core of `albumfs check`. It finds nothing in a healthy space, names each kind of damage by path and
// bytes and nothing else, and changes nothing.

struct CheckTests {
  let place: CheckPlace
  init() throws { place = try CheckPlace() }

  @Test func aHealthySpaceFindsNothing() throws {
    let report = try place.check()
    #expect(report.findings == [])
    #expect(report.totals.files == place.contents.count + 1)
    #expect(report.totals.bytes >= Int64(place.contents.values.reduce(0) { $0 + $1.count }))
    #expect(report.isComplete)
  }

  @Test func aSpaceThatWasKilledFindsNothing() throws {
    let space = try place.store.open()
    try space.write([1, 2, 3], to: "late")
    space.remove("big")
    try space.commit()
    space.abandon()
    #expect(try place.check().findings == [])
  }

  /// A part of the journal segment that the session was beginning may be on disk.
  @Test(arguments: [0, 256]) func aHeadTornByAPowerCutIsNoDamage(_ head: Int) throws {
    var space = try place.store.open()
    try space.write([1, 2, 3], to: "late")
    let journal = space.durability.journal.withLock { $0.writer.position.segment }
    space.abandon()
    try place.flip(.journal, journal, at: head + 40)
    #expect(try place.check().findings == [])
    space = try place.store.open()
    try space.write([4], to: "later")
    try space.close()
    #expect(try place.check().findings == [])
  }

  @Test func aCheckChangesNothing() throws {
    let before = try place.bytes()
    _ = try place.check()
    #expect(try place.bytes() == before)
  }

  @Test func aMountedSpaceIsRefused() throws {
    let space = try place.store.open()
    defer { space.abandon() }
    #expect { try place.check() } throws: { ($0 as? StoreError)?.code == .inUse }
  }

  @Test func aDamagedRecordIsNamedByPathAndBytes() throws {
    let extent = try place.extent(of: "big", at: 70_000)
    try place.flip(.data, extent.segment, at: Int(extent.grid) * 256 + 100)
    let report = try place.check()
    #expect(report.damagedPaths == ["big"])
    #expect(report.findings.map(\.kind) == [.unreadableContent])
    #expect(report.findings.first?.ranges == [65_536..<131_072])
    #expect(report.findings.first?.detail == .unreadable(isThumbnail: false, missing: []))
  }

  @Test func aDamagedThumbnailIsNamedWhereThumbShowsIt() throws {
    let extent = try place.extent(of: place.thumbnail, at: 0)
    try place.flip(.data, extent.segment, at: Int(extent.grid) * 256 + 60)
    let report = try place.check()
    #expect(report.findings.map(\.kind) == [.unreadableThumbnail])
    #expect(report.damagedPaths == ["Trip/Thumb/IMG_1.jpg"])
  }

  @Test func aMissingSegmentIsReportedWithAllItsFiles() throws {
    let extent = try place.extent(of: "big", at: 0)
    let affected = try place.paths(in: extent.segment)
    try place.store.store.directory.remove(place.path(.data, extent.segment))
    let report = try place.check()
    #expect(report.findings.contains { $0.kind == .segmentMissing })
    #expect(!affected.isEmpty)
    #expect(report.damagedPaths == affected, "\(report.findings)")
  }

  @Test func aShortSegmentIsReportedWithTheFilesBehindItsEnd() throws {
    let extent = try place.extent(of: "big", at: 200_000)
    try place.cut(.data, extent.segment, to: Int(extent.grid) * 256)
    let report = try place.check()
    #expect(report.findings.contains { $0.kind == .segmentShort && $0.severity == .damage })
    #expect(report.damagedPaths.contains("big"))
    #expect(!report.damagedPaths.contains("first"))
  }

  @Test func anExtendedSegmentIsReportedAndCostsNothing() throws {
    let extent = try place.lastExtent()
    let path = place.path(.data, extent.segment)
    let file = try place.store.store.directory.open(path, .readWrite)
    try unsafe [UInt8(0)].withUnsafeBytes { try unsafe file.write($0, at: 4 << 40) }
    let report = try place.check()
    #expect(report.findings.map(\.segments) == [[path]] && report.isDamaged)
    #expect(report.damagedPaths == [])
  }

  @Test func aFlipInTheRandomTailIsNoConcern() throws {
    let extent = try place.lastExtent()
    try place.flip(.data, extent.segment, at: StorePlace.segmentSize - 1)
    #expect(try place.check().findings == [])
  }

  @Test func aDamagedCheckpointIsReportedAndCostsNothing() throws {
    let position = try place.checkpoints()
    try place.flip(.checkpoint, position.firstSegment, at: 256 + 60)
    let report = try place.check()
    #expect(report.findings.map(\.kind) == [.checkpoint])
    #expect(report.damagedPaths == [])
  }

  @Test func aMissingFrameNamesItsFiles() throws {
    // The frames of one session, in a journal segment that has a successor. No checkpoint, which a slow machine
    // may get meanwhile, has the same.
    var space = try place.store.open(background: false)
    try space.write([UInt8](repeating: 7, count: 5000), to: "only here")
    try space.write([UInt8](repeating: 8, count: 6000), to: "first")
    try space.barrier()
    let journal = space.durability.journal.withLock { $0.writer.position.segment }
    try space.close()
    space = try place.store.open(background: false)
    try space.write([9], to: "later")
    try space.close()
    try place.zero(.journal, journal)
    let report = try place.check()
    #expect(report.findings.contains { $0.kind == .lostFile })
    #expect(report.findings.contains { $0.kind == .lostChanges && $0.path == "first" })
    #expect(!report.damagedPaths.contains("later"))
    #expect(!report.damagedPaths.contains("big"))
  }

  @Test func theEndOfTheJournalIsMissingAndItsFilesAreNamed() throws {
    let space = try place.store.open()
    try space.write([UInt8](repeating: 7, count: 5000), to: "only here")
    let journal = space.durability.journal.withLock { $0.writer.position.segment }
    try space.close()
    try place.remove(.journal, journal)
    let report = try place.check()
    #expect(report.recovery.end == .missing)
    #expect(report.findings.contains { $0.kind == .lostFile })
    #expect(!report.damagedPaths.contains("big"))
  }

  @Test func aLinkCountAndAnOrphanAreReported() throws {
    let space = try place.store.open()
    space.change { catalog in
      let first = catalog.child(FileName(literal: "first"), of: catalog.index(of: .root)!)!
      catalog.update(first) { $0.links = 5 }
      let lost = catalog.create(
        kind: .regular, permissions: 0o600, owner: 0, group: 0, time: Timestamp.now)
      catalog.update(lost) { $0.links = 1 }
    }
    try space.close()
    let report = try place.check()
    #expect(Set(report.findings.map(\.kind)) == [.linkCount, .orphan])
    #expect(report.damagedPaths.contains("first"))
  }

  @Test func aCheckCanBeStopped() throws {
    let report = try SpaceCheck.run(place.store.store, keys: place.store.keys) { progress in
      progress.step != .records
    }
    #expect(!report.isComplete)
  }

  @Test func keysOfAnotherStoreAreDistinguishedFromALostJournal() throws {
    #expect {
      try SpaceCheck.run(place.store.store, keys: SpaceKeys())
    } throws: {
      ($0 as? StoreError)?.code == .missing
    }
  }
}

/// A space with some files, an album with a photo and its thumbnail, a checkpoint and a former one.
struct CheckPlace {
  let store: StorePlace
  private(set) var contents: [String: [UInt8]] = [:]
  let thumbnail: InodeNumber

  init() throws {
    store = try StorePlace()
    var random = SeededRandom()
    let space = try store.open()
    contents["first"] = random.bytes(3000)
    contents["big"] = random.bytes(400_000)
    for file in 0..<8 { contents["f\(file)"] = random.bytes(40_000 + file) }
    for name in contents.keys.sorted() { try space.write(contents[name]!, to: name) }
    try space.write(random.bytes(30_000), to: "IMG_1.jpg")
    try space.write(random.bytes(2000), to: "thumbnail")
    thumbnail = space.arrangeAlbum()
    contents["Trip/Photo/IMG_1.jpg"] = random.bytes(0)
    try space.durability.checkpoint()
    try space.durability.checkpoint()
    try space.write([1], to: "last")
    contents["last"] = [1]
    try space.close()
  }

  func check(repairs: Bool = false) throws -> CheckReport {
    var options = CheckOptions()
    options.repairs = repairs
    return try SpaceCheck.run(store.store, keys: store.keys, options: options)
  }

  // MARK: Where things are

  func path(_ kind: SegmentKind, _ number: SegmentNumber) -> String {
    store.keys.path(kind, number, among: store.store.directory.segmentPaths())
      ?? "no such segment"
  }

  private func reading<T>(_ body: (borrowing Catalog) throws -> T) throws -> T {
    let space = try store.open(readOnly: true)
    defer { try? space.close() }
    return try space.read(body)
  }

  func extent(of name: String, at offset: Int64) throws -> Extent {
    try reading { catalog in
      let index = catalog.child(FileName(known: Array(name.utf8)), of: catalog.index(of: .root)!)!
      return catalog.extents(of: index, from: offset / 65_536 * 65_536, to: offset + 1)[0]
    }
  }

  func extent(of inode: InodeNumber, at offset: Int64) throws -> Extent {
    try reading { $0.extents(of: $0.index(of: inode)!, from: offset, to: offset + 1)[0] }
  }

  func lastExtent() throws -> Extent { try reading { $0.recordUses().last!.extent } }

  func checkpoints() throws -> CheckpointReference {
    let space = try store.open(readOnly: true)
    defer { try? space.close() }
    return space.durability.journal.withLock { $0.writer.position.checkpoint }
  }

  /// Returns the paths of all files with content in a segment, sorted.
  func paths(in segment: SegmentNumber) throws -> [String] {
    try reading { catalog in
      let inodes = Set(catalog.recordUses().filter { $0.extent.segment == segment }.map(\.inode))
      let paths = CatalogPaths(catalog, of: inodes)
      return inodes.flatMap { paths.all($0) }.sorted()
    }
  }

  /// Returns all files of the store.
  func bytes() throws -> [String: [UInt8]] {
    var result: [String: [UInt8]] = [:]
    for name in try store.snapshot().keys {
      let path = "segments/\(name.prefix(2))/\(name)"
      result[path] = try store.store.directory.contents(of: path, limit: StorePlace.segmentSize)
    }
    return result
  }

  // MARK: Damage

  func flip(_ kind: SegmentKind, _ number: SegmentNumber, at offset: Int) throws {
    try store.store.directory.damage(path(kind, number)) { $0[offset] ^= 1 }
  }

  func zero(_ kind: SegmentKind, _ number: SegmentNumber) throws {
    try store.store.directory.damage(path(kind, number)) { bytes in
      bytes = [UInt8](repeating: 0, count: bytes.count)
    }
  }

  func cut(_ kind: SegmentKind, _ number: SegmentNumber, to count: Int) throws {
    try store.store.directory.damage(path(kind, number)) { $0.removeLast($0.count - count) }
  }
}

extension StorageDirectory {
  /// Changes the bytes of a file.
  func damage(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
    var bytes = try contents(of: path, limit: 64 << 20)
    change(&bytes)
    try remove(path)
    let file = try open(path, .createNew)
    try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
  }
}

extension Space {
  /// Makes the album Trip, with the root's IMG_1.jpg as a photo and `thumbnail` as its thumbnail.
  fileprivate func arrangeAlbum() -> InodeNumber {
    change { catalog in
      let root = catalog.index(of: .root)!
      func directory(_ name: String, in parent: InodeIndex, _ marks: InodeState.Marks)
        -> InodeIndex
      {
        let made = catalog.create(
          kind: .directory, permissions: 0o755, owner: 0, group: 0, time: Timestamp.now)
        catalog.update(made) { $0.marks = marks }
        catalog.insertEntry(FileName(known: Array(name.utf8)), in: parent, child: made)
        catalog.unpin(made)
        return made
      }
      let album = directory("Trip", in: root, .album)
      let photos = directory("Photo", in: album, .photoDirectory)
      _ = directory("Thumb", in: album, [.thumbDirectory, .implicit])
      let name = FileName(literal: "IMG_1.jpg")
      catalog.moveEntry(name, of: root, to: name, in: photos)
      let photo = catalog.child(name, of: photos)!
      let thumbnail = catalog.child(FileName(literal: "thumbnail"), of: root)!
      catalog.pin(thumbnail)
      catalog.removeEntry(FileName(literal: "thumbnail"), in: root)
      catalog.update(thumbnail) { $0.marks = .madeThumbnail }
      catalog.setThumbnail(thumbnail, of: photo)
      catalog.update(photo) { $0.thumbnailState = .made }
      catalog.unpin(thumbnail)
      return catalog.state(thumbnail).number
    }
  }
}
