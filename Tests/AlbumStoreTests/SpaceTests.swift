import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

// The promises of a space across sessions: committed content is there again, after an unmount and after a
// kill of the process. All segments have one size. Unneeded segments go.

struct SpaceTests {
  let place: StorePlace
  init() throws { place = try StorePlace() }

  @Test func writtenFilesAreThereAfterUnmountAndMount() throws {
    var random = SeededRandom()
    let content = random.bytes(300_000)
    let space = try place.open()
    try space.write(content, to: "IMG_1.jpg")
    try space.close()
    let again = try place.open()
    #expect(try again.content(of: "IMG_1.jpg") == content)
    #expect(again.status.recovery.wasClean)
    try again.close()
  }

  @Test func committedFilesSurviveAKillOfTheProcess() throws {
    var random = SeededRandom()
    var kept: [String: [UInt8]] = [:]
    for round in 0..<4 {
      let space = try place.open()
      for (name, content) in kept { #expect(try space.content(of: name) == content) }
      for file in 0..<5 {
        let name = "\(round)-\(file)"
        kept[name] = random.bytes(Int.random(in: 1...200_000, using: &random))
        try space.write(kept[name]!, to: name)
        if file % 2 == 0 { try space.barrier() }
      }
      space.abandon()
    }
    let space = try place.open()
    for (name, content) in kept { #expect(try space.content(of: name) == content) }
    #expect(!space.status.recovery.isDamaged)
    try space.close()
  }

  @Test func aSessionThatChangesNothingWritesNothing() throws {
    let space = try place.open()
    try space.write([1, 2, 3], to: "a")
    try space.close()
    let before = try place.snapshot()
    let again = try place.open()
    #expect(try again.content(of: "a") == [1, 2, 3])
    try again.close()
    #expect(try place.snapshot() == before)
  }

  @Test func allSegmentsHaveOneSize() throws {
    var random = SeededRandom()
    let space = try place.open()
    for file in 0..<6 { try space.write(random.bytes(150_000), to: "f\(file)") }
    space.abandon()
    #expect(Set(try place.snapshot().values.map(\.size)) == [Int64(StorePlace.segmentSize)])
  }

  @Test func removedFilesGiveTheirSegmentsBack() throws {
    var random = SeededRandom()
    let space = try place.open(grace: 0)
    for file in 0..<20 { try space.write(random.bytes(200_000), to: "f\(file)") }
    let full = try place.snapshot().count
    for file in 0..<20 { space.remove("f\(file)") }
    try space.commit()
    try space.compactor.retireEmptied()
    try space.compactor.removeRetired()
    #expect(try place.snapshot().count < full / 2)
    try space.close()
    let again = try place.open()
    #expect(!again.status.recovery.isDamaged)
    try again.close()
  }

  @Test func aHalfFilledSegmentIsCarriedOverByTheNextSession() throws {
    var random = SeededRandom()
    let content = random.bytes(50_000)
    var space = try place.open(grace: 0)
    try space.write(content, to: "kept")
    try space.close()
    space = try place.open(grace: 0)
    try space.write([1], to: "new")
    var sweep = try space.compactor.beginSweep()
    for _ in 0..<3 { try sweep.round(space.compactor) }
    try space.close()
    space = try place.open()
    #expect(try space.content(of: "kept") == content)
    #expect(try space.content(of: "new") == [1])
    #expect(space.status.segments == 1)
    try space.close()
  }

  @Test func aCheckpointShortensReplayAndLosesNothing() throws {
    var random = SeededRandom()
    var space = try place.open(grace: 0)
    var kept: [String: [UInt8]] = [:]
    for file in 0..<300 {
      kept["f\(file)"] = random.bytes(100)
      try space.write(kept["f\(file)"]!, to: "f\(file)")
    }
    try space.durability.checkpoint()
    try space.write([9], to: "f0")
    space.remove("f1")
    try space.commit()
    kept["f0"] = [9]
    kept["f1"] = nil
    space.abandon()
    space = try place.open()
    for (name, content) in kept { #expect(try space.content(of: name) == content) }
    #expect(space.read { $0.entryCount(of: $0.index(of: .root)!) } == kept.count)
    try space.close()
  }

  /// The user moves folders of a mounted store away.
  @Test func aCheckpointThatGoesWhileMountedIsTakenAgainAtTheUnmount() throws {
    var space = try place.open(grace: 0)
    for file in 0..<20 { try space.write([UInt8(file)], to: "f\(file)") }
    try space.durability.checkpoint()
    let taken = space.durability.journal.withLock { $0.writer.position.checkpoint.firstSegment }
    let id = SegmentID(kind: .checkpoint, number: taken)
    try place.store.directory.remove(space.context.files.path(id))
    try space.write([100], to: "later")
    try space.close()
    space = try place.open()
    #expect(!space.status.recovery.isDamaged)
    for file in 0..<20 { #expect(try space.content(of: "f\(file)") == [UInt8(file)]) }
    #expect(try space.content(of: "later") == [100])
    try space.close()
  }

  @Test func aFileThatAPowerCutLeftShortIsFilledUpAndKeepsItsBytes() throws {
    let name = String(repeating: "a", count: 32)
    try? place.store.directory.makeDirectory("segments/aa")
    let short = try place.store.directory.open("segments/aa/\(name)", .createNew)
    try unsafe [UInt8](1...100).withUnsafeBytes { try unsafe short.write($0, at: 0) }
    try short.setModificationTime(Timestamp(seconds: 1_000_000_000))
    let space = try place.open()
    try space.write([1], to: "a")
    // The content of users comes first.
    try space.barrier()
    _ = try space.compactor.beginSweep()
    try space.close()
    let bytes = try place.store.directory.contents(
      of: "segments/aa/\(name)", limit: StorePlace.segmentSize)
    #expect(bytes.count == StorePlace.segmentSize)
    #expect(Array(bytes.prefix(100)) == [UInt8](1...100))
    #expect(Set(bytes[100...]).count == 256, "the rest is random")
  }

  @Test func aDamagedCheckpointCostsALongerReplayAndNothingElse() throws {
    var random = SeededRandom()
    var space = try place.open()
    var kept: [String: [UInt8]] = [:]
    for round in 0..<3 {
      for file in 0..<20 {
        kept["\(round)-\(file)"] = random.bytes(300)
        try space.write(kept["\(round)-\(file)"]!, to: "\(round)-\(file)")
      }
      if round < 2 { try space.durability.checkpoint() }
    }
    let newest = space.durability.journal.withLock { $0.writer.position.checkpoint.firstSegment }
    let path = space.context.files.path(SegmentID(kind: .checkpoint, number: newest))
    try space.close()
    let file = try place.store.directory.open(path, .readWrite)
    try unsafe random.bytes(4096).withUnsafeBytes { try unsafe file.write($0, at: 0) }
    space = try place.open()
    #expect(space.status.recovery.checkpoint != .newest)
    for (name, content) in kept { #expect(try space.content(of: name) == content) }
    try space.write([1], to: "goes on")
    try space.close()
    space = try place.open()
    #expect(try space.content(of: "goes on") == [1])
    try space.close()
  }

  @Test func aReadOnlySpaceChangesNothingAndSaysSo() throws {
    let space = try place.open(readOnly: true)
    #expect(throws: StoreError.self) { try space.requireWritable() }
    try space.close()
  }
}

/// A store in a directory of its own with one space.
struct StorePlace {
  static let segmentSize = 256 << 10
  let directory: TemporaryDirectory
  let store: Store
  let keys: SpaceKeys

  init() throws {
    directory = TemporaryDirectory()
    let storage = try PosixDirectory(path: directory.path)
    try storage.makeDirectory("segments")
    store = Store(directory: storage, segmentSize: StorePlace.segmentSize)
    keys = SpaceKeys()
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
  }

  func open(
    readOnly: Bool = false, grace: Int64 = 900, background: Bool = true, addsChaff: Bool = false,
    trace: SpaceTrace = SpaceTrace(), time: TimeSource = .system
  ) throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "test"))
    options.readOnly = readOnly
    options.worksInBackground = background
    options.grace = .seconds(grace)
    options.addsChaff = addsChaff
    options.trace = trace
    options.time = time
    return try Space.open(store, keys: keys, options: options)
  }

  struct Status: Equatable {
    var size: Int64
    var modified: Timestamp
  }

  /// The segments, also while compaction removes some of them.
  func snapshot() throws -> [String: Status] {
    var result: [String: Status] = [:]
    for folder in try store.directory.list("segments") {
      for name in try store.directory.list("segments/\(folder)") {
        guard let file = try segment("segments/\(folder)/\(name)") else { continue }
        result[name] = Status(size: try file.size(), modified: try file.modificationTime())
      }
    }
    return result
  }

  /// Returns nil if compaction has removed it.
  private func segment(_ path: String) throws -> (any StorageFile)? {
    do { return try store.directory.open(path, .read) } catch Errno.noEntry { return nil }
  }
}

extension Space {
  /// Ends the session as a killed process does.
  func abandon() {
    context.keeper.stop()
    context.lock?.release()
  }

  func write(_ bytes: [UInt8], to name: String, in lane: ContentLane = .files) throws {
    state(try seal(bytes, for: name, in: lane))
    try commit()
  }

  /// Sealed content that no frame describes yet.
  struct Sealed {
    var index: InodeIndex
    var extents: [Extent]
    var size: Int64
  }

  /// Creates the file if it is missing.
  func seal(
    _ bytes: [UInt8], for name: String, in lane: ContentLane = .files
  ) throws -> Sealed {
    let name = FileName(known: Array(name.utf8))
    let (number, index) = change { catalog in
      let root = catalog.index(of: .root)!
      if let old = catalog.child(name, of: root) { return (catalog.state(old).number, old) }
      let new = catalog.create(
        kind: .regular, permissions: 0o644, owner: 0, group: 0, time: Timestamp.now)
      catalog.insertEntry(name, in: root, child: new)
      catalog.unpin(new)
      return (catalog.state(new).number, new)
    }
    var extents: [Extent] = []
    let headroom = ReadHeadroom.byteCount
    for start in stride(from: 0, to: bytes.count, by: 65_536) {
      let part = Array(bytes[start..<min(start + 65_536, bytes.count)])
      var buffer = [UInt8](repeating: 0, count: headroom) + part
      extents += try unsafe buffer.withUnsafeMutableBytes {
        let content = unsafe UnsafeMutableRawBufferPointer(rebasing: $0[headroom...])
        let (offset, length) = (Int64(start), Int64(bytes.count))
        var held =
          lane == .files
          ? try unsafe appendPieces(content, of: number, at: offset, fileLength: length)
          : try unsafe append(content, of: number, at: offset, fileLength: length, in: lane)
        return held.take()
      }
    }
    return Sealed(index: index, extents: extents, size: Int64(bytes.count))
  }

  func state(_ sealed: Sealed) {
    change { catalog in
      catalog.replaceExtents(of: sealed.index, from: 0, to: .max, with: sealed.extents)
      catalog.update(sealed.index) { $0.size = sealed.size }
    }
  }

  func content(of name: String) throws -> [UInt8]? {
    let found = read { catalog -> (Int64, [Extent])? in
      guard
        let index = catalog.child(FileName(known: Array(name.utf8)), of: catalog.index(of: .root)!)
      else {
        return nil
      }
      let size = catalog.state(index).size
      return (size, catalog.extents(of: index, from: 0, to: size))
    }
    guard let (size, extents) = found else { return nil }
    return try bytes(size, extents)
  }

  /// Returns the content of these extents, with zeros between them.
  func bytes(_ size: Int64, _ extents: [Extent]) throws -> [UInt8] {
    let headroom = ReadHeadroom.byteCount
    var bytes = [UInt8](repeating: 0, count: headroom + Int(size))
    for extent in extents {
      // The record's header lands before the content and is put back.
      try unsafe bytes.withUnsafeMutableBytes {
        let from = headroom + Int(extent.offset)
        try unsafe read(
          extent,
          into: UnsafeMutableRawBufferPointer(rebasing: $0[from..<from + Int(extent.length)]))
      }
    }
    return Array(bytes[headroom...])
  }

  func remove(_ name: String) {
    change { catalog in
      _ = catalog.removeEntry(FileName(known: Array(name.utf8)), in: catalog.index(of: .root)!)
    }
  }
}
