import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

// A disk that returns errors. Whichever call fails, the space continues correctly, or turns read-only and
// says why. Committed content stays readable while the space is mounted. Content that a barrier covers
// survives a power cut.

struct DiskErrorTests {
  @Test(arguments: FaultyDisk.Call.allCases, [Errno.io, .noSpace, .quota])
  func anErrorOfOneCallCostsNothing(_ call: FaultyDisk.Call, _ error: Errno) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for _ in 0..<3 {
      var run = try DiskErrorRun(&random)
      try run.run(failing: call, error, skipping: Int.random(in: 0..<12, using: &random), count: 1)
    }
  }

  @Test(arguments: FaultyDisk.Call.allCases) func aDiskThatFailsForGoodTurnsTheSpaceReadOnly(
    _ call: FaultyDisk.Call
  ) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var run = try DiskErrorRun(&random)
    try run.run(failing: call, .io, skipping: 3, count: .max)
  }

  /// The last session was killed, so a mount examines its last writes.
  @Test func aDataSegmentThatTheDiskCannotReadCostsItsFilesAlone() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    let first = try run.open(grace: 900)
    var files: [String: [UInt8]] = [:]
    for file in 0..<12 {
      files["f\(file)"] = random.bytes(100_000)
      try first.write(files["f\(file)"]!, to: "f\(file)")
    }
    try first.barrier()
    let segments = first.read { $0.segments.accounts.keys.sorted() }
    let paths = segments.map { first.context.files.path(SegmentID(kind: .data, number: $0)) }
    first.abandon()
    #expect(paths.count > 3)
    for path in paths {
      for sound: Int64 in [0, 8192] {
        run.disk.makeUnreadable(path, behind: sound)
        let space = try run.open(grace: 900)
        #expect(!space.status.recovery.isDamaged)
        var unreadable = 0
        for (name, content) in files {
          do { #expect(try space.content(of: name) == content) } catch let error as StoreError {
            #expect(error.code == .inputOutput)
            unreadable += 1
          }
        }
        #expect(unreadable > 0 && unreadable < 6, "\(path)")
        try space.close()
        run.disk.heal()
      }
    }
    let last = try run.open(grace: 900)
    for (name, content) in files { #expect(try last.content(of: name) == content) }
    try last.close()
    #expect(try run.check().isEmpty)
  }

  /// A cloud's client takes a folder away, or a cable is loose, just between the listing of the store and the
  /// reading of a segment. The session before ended with an unmount, so nothing of it is missing.
  @Test func segmentsThatGoAwayWhileAMountBeginsHideNothing() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    let first = try run.open(grace: 900)
    var files: [String: [UInt8]] = [:]
    for name in (0..<6).map({ "f\($0)" }) + ["f0", "f1"] {
      files[name] = random.bytes(100_000)
      try first.write(files[name]!, to: name)
    }
    let own = try first.context.files.list().own.keys
    // Random bytes and fences hold nothing that could be missed.
    let paths = own.filter { $0.kind != .reserve && $0.kind != .fence }.map {
      first.context.files.path($0)
    }
    try first.close()
    #expect(paths.count > 4)
    for path in paths {
      run.disk.takeAway(path)
      for readOnly in [false, true] {
        let space: Space
        do { space = try run.open(grace: 900, readOnly: readOnly) } catch let error as StoreError {
          #expect(error.code == .inputOutput && error.path == path)
          continue
        }
        #expect(space.status.recovery.incompleteFiles == [], "\(path)")
        if space.status.recovery.isDamaged {
          // It shows the space without this part of the journal, and says so.
          #expect(readOnly && space.unreadableFiles.contains { $0.path == path })
          try space.close()
          continue
        }
        for (name, content) in files {
          do { #expect(try space.content(of: name) == content) } catch let error as StoreError {
            #expect(error.path == path)
          }
        }
        try space.close()
      }
      #expect(try !run.check().isEmpty, "\(path)")
      run.disk.heal()
      #expect(try run.check().isEmpty, "\(path)")
    }
    let last = try run.open(grace: 900)
    for (name, content) in files { #expect(try last.content(of: name) == content) }
    try last.close()
  }

  /// A session that writes would continue without what it cannot read. A session that only reads shows the
  /// rest.
  @Test func aJournalThatTheDiskCannotReadIsShownAsFarAsItGoes() throws {
    let run = try RoomRun()
    let space = try run.open()
    try space.write([1], to: "first")
    let path = space.context.files.path(
      SegmentID(kind: .journal, number: space.durability.journal.withLock { $0.writer.newest }))
    try space.close()
    let next = try run.open()
    try next.write([2], to: "second")
    try next.close()
    run.disk.makeUnreadable(path, behind: 0)
    #expect {
      _ = try run.open()
    } throws: {
      ($0 as? StoreError)?.code == .inputOutput
    }
    let shown = try run.open(readOnly: true)
    #expect(shown.status.recovery.isDamaged)
    #expect(shown.unreadableFiles.contains { $0.path == path })
    shown.abandon()
    run.disk.heal()
    let again = try run.open()
    #expect(!again.status.recovery.isDamaged)
    #expect(try again.content(of: "first") == [1] && again.content(of: "second") == [2])
    again.abandon()
  }

  @Test func theContentOfADataSegmentIsWrittenAnewAfterItsSyncFailed() throws {
    var random = SeededRandom()
    var run = try DiskErrorRun(&random)
    let space = try run.open()
    for file in 0..<8 { try run.write(space, "f\(file)", &random) }
    run.disk.fail(.sync, with: .io)
    try space.barrier()
    #expect(run.disk.heal() == 1)
    #expect(!space.isReadOnly)
    space.abandon()
    try run.expectAllThereAfterPowerCuts(&random)
  }

  @Test func theContentOfAJournalSegmentIsWrittenAnewAfterItsSyncFailed() throws {
    var random = SeededRandom()
    var run = try DiskErrorRun(&random)
    let space = try run.open()
    for file in 0..<8 { try run.write(space, "f\(file)", &random) }
    // All content is synced, so the next sync is the journal's.
    try space.barrier()
    space.remove("f3")
    run.files["f3"] = nil
    run.disk.fail(.sync, with: .io)
    try space.barrier()
    #expect(run.disk.heal() == 1)
    #expect(!space.isReadOnly)
    try run.write(space, "after", &random)
    try space.barrier()
    space.abandon()
    try run.expectAllThereAfterPowerCuts(&random)
  }

  @Test func contentOfASegmentThatCannotBeWrittenGoesIntoAnother() throws {
    var random = SeededRandom()
    var run = try DiskErrorRun(&random)
    let space = try run.open()
    try run.write(space, "before", &random)
    run.disk.fail(.write, with: .io)
    try run.write(space, "at the error", &random)
    #expect(run.disk.heal() == 1)
    try space.barrier()
    #expect(!space.isReadOnly)
    try run.expectAllThere(space)
    space.abandon()
    try run.expectAllThereAfterPowerCuts(&random)
  }

  @Test func aDirectoryThatCannotBeSyncedTurnsTheSpaceReadOnly() throws {
    var random = SeededRandom()
    var run = try DiskErrorRun(&random)
    let space = try run.open()
    run.disk.fail(.syncDirectory, with: .io)
    try? run.write(space, "f", &random)
    #expect(throws: StoreError.self) { try space.barrier() }
    #expect(space.status.readOnlyReason?.contains("segments") == true)
    #expect(throws: StoreError.self) { try space.barrier() }
  }
}

/// A space on a disk that returns errors, over one that loses writes that were not synced.
struct DiskErrorRun {
  let disk: FaultyDisk
  private let base = SimulatedDisk()
  var files: [String: [UInt8]] = [:]
  private let keys = SpaceKeys()
  private let store: Store

  init(_ random: inout SeededRandom) throws {
    disk = FaultyDisk(base)
    try disk.makeDirectory("segments")
    store = Store(directory: disk, segmentSize: 256 << 10)
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
    let space = try open()
    for file in 0..<4 { try write(space, "old \(file)", &random) }
    try space.close()
  }

  func open(_ other: (any StorageDirectory)? = nil) throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "error") { _ in SwiftLogNoOpLogHandler() })
    // Each mount may be behind a power cut.
    options.boot = .unknown
    options.worksInBackground = false
    options.grace = .zero
    let store = other.map { Store(directory: $0, segmentSize: 256 << 10) } ?? store
    return try Space.open(store, keys: keys, options: options)
  }

  mutating func write(_ space: Space, _ name: String, _ random: inout SeededRandom) throws {
    let content = random.bytes(Int.random(in: 1...90_000, using: &random))
    do { space.state(try space.seal(content, for: name)) } catch {
      space.remove(name)
      throw error
    }
    // The file is in the space from now on, whether its content can be written yet or not.
    files[name] = content
    try space.commit()
  }

  /// Runs a session in which calls fail. After each step, everything in the space is readable.
  mutating func run(failing call: FaultyDisk.Call, _ error: Errno, skipping: Int, count: Int) throws
  {
    var random = SeededRandom()
    let space = try open()
    disk.fail(call, with: error, skipping: skipping, count: count)
    var confirmed = files
    for step in 0..<20 {
      let before = files
      do {
        try self.step(space, step, &random)
        try space.barrier()
        confirmed = files
      } catch let error as StoreError {
        #expect(error.message.isEmpty == false)
        if space.isReadOnly {
          #expect(space.status.readOnlyReason != nil)
          files = before
          break
        }
      }
    }
    disk.heal()
    if space.isReadOnly {
      #expect(
        error == .io || call == .syncDirectory || call == .sync,
        "for want of room alone: \(space.status.readOnlyReason ?? "")")
      #expect(throws: StoreError.self) { try space.close() }
      files = confirmed
      try expectConfirmed(confirmed, &random)
    } else {
      try expectAllThere(space)
      try space.barrier()
      space.abandon()
      try expectAllThereAfterPowerCuts(&random)
    }
  }

  private mutating func step(_ space: Space, _ step: Int, _ random: inout SeededRandom) throws {
    switch step % 5 {
    case 0, 1, 2: try write(space, "new \(step)", &random)
    case 3:
      space.remove("new \(step - 2)")
      files["new \(step - 2)"] = nil
      try space.commit()
    default:
      if step == 9 { try space.durability.checkpoint() }
      var sweep = try space.compactor.beginSweep()
      try sweep.round(space.compactor)
    }
  }

  func expectAllThere(_ space: Space) throws {
    for (name, content) in files { #expect(try space.content(of: name) == content, "\(name)") }
  }

  /// Expects all confirmed files. Writes that no barrier covers may be missing.
  private func expectConfirmed(_ confirmed: [String: [UInt8]], _ random: inout SeededRandom) throws
  {
    let space = try open(base.crashed(&random))
    let found = try space.files()
    for (name, content) in confirmed where name.hasPrefix("old") {
      #expect(found[name] == content, "\(name)")
    }
    for (name, content) in confirmed {
      if let other = found[name] { #expect(other == content, "\(name)") }
    }
    #expect(!space.status.recovery.isDamaged)
  }

  func expectAllThereAfterPowerCuts(_ random: inout SeededRandom) throws {
    for _ in 0..<3 {
      let space = try open(base.crashed(&random))
      let found = try space.files()
      #expect(found.keys.sorted() == files.keys.sorted())
      for (name, content) in files { #expect(found[name] == content, "\(name)") }
      #expect(!space.status.recovery.isDamaged)
    }
  }
}
