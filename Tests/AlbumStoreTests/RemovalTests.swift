import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumCheck
@testable import AlbumStore

// One rule: a segment file is removed only if it is proven unneeded at that very moment, whatever was decided
// before and however slow the disk is.

struct RemovalTests {
  /// Makes a space with two checkpoints, so that everything older is unneeded, on a disk that can be slow.
  private func spaceWithCheckpoints(_ run: RoomRun, background: Bool = false) throws -> Space {
    let space = try run.open(background: background)
    for round in 0..<3 {
      try space.write([UInt8(round)], to: "a\(round)")
      try space.durability.checkpoint()
    }
    return space
  }

  /// Runs `body` while the sync of a checkpoint under way takes long; then ends the session and mounts
  /// again.
  private func whileACheckpointIsWritten(_ body: (Space) throws -> Void) throws {
    let run = try RoomRun()
    let space = try spaceWithCheckpoints(run)
    try space.write([9], to: "last")
    try run.duringCheckpoint(of: space) { try body(space) }
    try space.close()
    let again = try run.open()
    #expect(again.status.recovery.checkpoint == .newest)
    #expect(!again.status.recovery.isDamaged)
    #expect(try again.content(of: "last") == [9])
    again.abandon()
    #expect(try run.check().isEmpty)
  }

  @Test func aSweepLeavesTheCheckpointUnderWayAlone() throws {
    try whileACheckpointIsWritten { space in
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<3 { try sweep.round(space.compactor) }
    }
  }

  @Test func compactionLeavesTheCheckpointUnderWayAlone() throws {
    try whileACheckpointIsWritten { space in try space.compact() }
  }

  @Test func aSweepProvesAgainThatASegmentIsUnneededBeforeItRemovesIt() throws {
    let run = try RoomRun()
    let space = try spaceWithCheckpoints(run)
    let needed = space.durability.journal.withLock { $0.neededCheckpoints }
    let ids = needed.map { SegmentID(kind: .checkpoint, number: $0.firstSegment) }
    let journal = SegmentID(
      kind: .journal, number: space.durability.journal.withLock { $0.writer.position.segment })
    let data = try #require(space.read { $0.segments.accounts.keys.first })
    // A caller decided wrongly, or long ago.
    #expect(
      try space.durability.unlink(ids + [journal, SegmentID(kind: .data, number: data)]) == 0)
    try space.close()
    let again = try run.open()
    #expect(!again.status.recovery.isDamaged)
    again.abandon()
  }

  /// Two callers compact at once while checkpoints are written and every sync is slow.
  @Test func compactionsAtOnceAndCheckpointsOnASlowDiskLoseNothing() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    var files: [String: [UInt8]] = [:]
    for session in 0..<3 {
      let space = try run.open(background: true)
      for file in 0..<12 {
        let name = "\(session)-\(file)"
        files[name] = random.bytes(60_000)
        try space.write(files[name]!, to: name)
      }
      run.disk.hold { call, _ in
        if call == .sync { beSlow(milliseconds: 3) }
        return false
      }
      let works: [@Sendable () throws -> Void] = [
        { _ = try space.compact() }, { _ = try space.compact() },
        { for _ in 0..<3 { try space.durability.checkpoint() } },
      ]
      let threads = try works.map { work in
        try PosixThread(name: "work") {
          do { try work() } catch { Issue.record("\(error)") }
        }
      }
      for file in stride(from: 0, to: 12, by: 2) {
        space.remove("\(session)-\(file)")
        files["\(session)-\(file)"] = nil
        try space.commit()
      }
      for thread in threads { thread.join() }
      run.disk.goOn()
      try space.close()
      let again = try run.open()
      #expect(!again.status.recovery.isDamaged)
      #expect(try again.files() == files)
      again.abandon()
      #expect(try run.check().isEmpty)
    }
  }
}

/// A space on a disk that can be slow and full, above one that forgets unsynced data.
struct RoomRun {
  static let segmentSize = 256 << 10
  let base: SimulatedDisk
  let disk: FaultyDisk
  let keys = SpaceKeys()

  init() throws {
    base = SimulatedDisk()
    disk = FaultyDisk(base)
    try disk.makeDirectory("segments")
    try disk.syncDirectory("")
    try Space.create(in: store(disk), keys: keys, options: SpaceOptions(owner: 0, group: 0))
  }

  private func store(_ disk: any StorageDirectory) -> Store {
    Store(directory: disk, segmentSize: RoomRun.segmentSize)
  }

  func open(
    background: Bool = false, grace: Int64 = 0, readOnly: Bool = false,
    on other: (any StorageDirectory)? = nil
  ) throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "room") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = background
    options.grace = .seconds(grace)
    options.readOnly = readOnly
    return try Space.open(store(other ?? disk), keys: keys, options: options)
  }

  func check() throws -> [CheckFinding] {
    try SpaceCheck.run(store(disk), keys: keys).findings.filter { $0.severity == .damage }
  }

  func repair() throws -> [CheckRepair] {
    var options = CheckOptions()
    options.repairs = true
    return try SpaceCheck.run(store(disk), keys: keys, options: options).repairs
  }

  /// Runs `body` while a checkpoint is written whose first sync takes until `body` is over.
  func duringCheckpoint(of space: Space, _ body: () throws -> Void) throws {
    let writer = Mutex<UInt>(0, rank: .test)
    disk.hold { call, _ in call == .sync && PosixThread.current == writer.withLock { $0 } }
    defer { disk.goOn() }
    let thread = try PosixThread(name: "checkpoint") {
      writer.withLock { $0 = PosixThread.current }
      do { try space.durability.checkpoint() } catch { Issue.record("\(error)") }
    }
    try waiting { disk.held > 0 }
    let result = Result { try body() }
    disk.goOn()
    thread.join()
    try result.get()
  }

  /// Returns the number of existing segments of the space.
  func segmentCount() throws -> Int {
    try disk.list("segments").reduce(0) { try $0 + disk.list("segments/\($1)").count }
  }
}
