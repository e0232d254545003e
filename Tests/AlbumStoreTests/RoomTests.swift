import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// A full disk is no dead end. Sessions that change little take no room. Removal always works and frees room.
// No write is refused while room can be reclaimed.

struct RoomTests {
  private static let size = Int64(RoomRun.segmentSize)

  /// Fills the space until it refuses more. Returns its files.
  private func fill(_ space: Space, _ random: inout SeededRandom) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for file in 100..<1000 {
      let content = random.bytes(100_000)
      do { try space.write(content, to: "f\(file)") } catch let error as StoreError {
        #expect(error.isShortage)
        space.remove("f\(file)")
        try space.commit()
        return files
      }
      files["f\(file)"] = content
    }
    Issue.record("the disk was never full")
    return files
  }

  /// Either the store filled the disk by itself, or another program took the rest, to the last byte.
  @Test(arguments: [false, true], [Errno.noSpace, .quota])
  func shortSessionsOnAFullDiskTakeNoRoom(_ toTheLastByte: Bool, _ error: Errno) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    run.disk.limit(30 * RoomTests.size, with: error)
    var space = try run.open(grace: 900)
    var files = try fill(space, &random)
    try space.close()
    if toTheLastByte { run.disk.limit(run.disk.used, with: error) }
    for session in 0..<20 {
      space = try run.open(grace: 900)
      #expect(!space.status.recovery.isDamaged)
      space.makeDirectory("session \(session)")
      try space.commit()
      if session % 3 == 0 { try space.barrier() }
      // Some sessions are killed.
      if session % 4 == 3 { space.abandon() } else { try space.close() }
    }
    space = try run.open(grace: 900)
    // A quota shows itself only when accepted content is written, which takes one segment of the reserve.
    #expect(space.context.files.missingReserve <= (error == .quota ? 1 : 0))
    for session in 0..<20 { #expect(space.names.contains("session \(session)")) }
    for (name, content) in files { #expect(try space.content(of: name) == content) }
    // Removal works, and room comes back before the session ends.
    let used = run.disk.used
    for name in files.keys.sorted().prefix(files.count / 2) {
      space.remove(name)
      files[name] = nil
    }
    try space.close()
    #expect(run.disk.used < used - RoomTests.size * Int64(files.count) / 4)
    space = try run.open(grace: 900)
    try space.write(random.bytes(100_000), to: "more")
    for (name, content) in files { #expect(try space.content(of: name) == content) }
    try space.close()
    #expect(try run.check().isEmpty)
  }

  /// Half of each segment is living content, and there is no room for copies of all of it.
  @Test func aFullDiskCanBeCompacted() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    run.disk.limit(60 * RoomTests.size)
    var space = try run.open(grace: 900)
    var files = try fill(space, &random)
    for (place, name) in files.keys.sorted().enumerated() where place % 2 == 1 {
      space.remove(name)
      files[name] = nil
    }
    try space.commit()
    let report = try space.compact()
    let living = Int64(files.count) * 100_000
    #expect(Double(report.taken) < Double(living) * 1.15 + 24 * Double(RoomTests.size))
    #expect(run.disk.used < 60 * RoomTests.size * 3 / 4)
    try space.close()
    space = try run.open(grace: 900)
    for (name, content) in files { #expect(try space.content(of: name) == content) }
    try space.close()
    #expect(try run.check().isEmpty)
  }

  /// 97 % of the disk is garbage that waits for the end of its grace.
  @Test(arguments: [false, true])
  func overwritingAgainAndAgainIsNeverRefused(_ background: Bool) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    run.disk.limit(40 * RoomTests.size)
    let space = try run.open(background: background, grace: 900)
    var last: [UInt8] = []
    for round in 0..<40 {
      last = random.bytes(1_500_000)
      try space.write(last, to: "big")
      try space.write([UInt8(round)], to: "small \(round)")
    }
    #expect(try space.content(of: "big") == last)
    #expect(space.status.shortage == nil)
    try space.close()
    let again = try run.open()
    for round in 0..<40 { #expect(try again.content(of: "small \(round)") == [UInt8(round)]) }
    #expect(try again.content(of: "big") == last)
    again.abandon()
    #expect(try run.check().isEmpty)
  }

  /// A journal may have 8 MiB since the last checkpoint, which is most of a small disk.
  @Test func aLongJournalGivesWayBeforeAWriteIsRefused() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    run.disk.limit(40 * RoomTests.size)
    var space = try run.open(grace: 900)
    try space.write([7], to: "first")
    while space.durability.journal.withLock({ $0.writer.newest.rawValue }) < 20 {
      for _ in 0..<50 {
        space.makeDirectory("directory")
        space.remove("directory")
      }
      try space.commit()
    }
    let files = try fill(space, &random)
    let living = Int64(files.count) * 100_000
    #expect(living > 22 * RoomTests.size, "\(files.count) files fit")
    try space.close()
    space = try run.open(grace: 900)
    #expect(!space.status.recovery.isDamaged)
    for (name, content) in files { #expect(try space.content(of: name) == content) }
    try space.close()
    #expect(try run.check().isEmpty)
  }

  /// Here no segment is all garbage.
  @Test(arguments: [false, true])
  func garbageIsCompactedBeforeAWriteIsRefused(_ background: Bool) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    run.disk.limit(40 * RoomTests.size)
    let space = try run.open(background: background, grace: 900)
    var files: [String: [UInt8]] = [:]
    for number in 0..<22 {
      files["kept \(number)"] = random.bytes(20_000)
      try space.write(files["kept \(number)"]!, to: "kept \(number)")
      try space.write(random.bytes(220_000), to: "gone \(number)")
    }
    for number in 0..<22 { space.remove("gone \(number)") }
    try space.commit()
    for number in 0..<25 {
      files["new \(number)"] = random.bytes(200_000)
      try space.write(files["new \(number)"]!, to: "new \(number)")
    }
    for (name, content) in files { #expect(try space.content(of: name) == content) }
    try space.close()
    #expect(try run.check().isEmpty)
  }

  @Test func theNextMountSweepsWhatASessionLeft() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let run = try RoomRun()
    var space = try run.open(grace: 900)
    for number in 0..<30 { try space.write(random.bytes(100_000), to: "\(number)") }
    for number in 1..<30 { space.remove("\(number)") }
    try space.close()
    let before = try run.segmentCount()
    // This session changes nothing.
    space = try run.open(background: true, grace: 0)
    try waiting { try run.segmentCount() < before - 8 }
    try space.close()
    // After that, nothing is left to do.
    let events = run.base.callCount
    let test = PosixThread.current
    let looks = Mutex(0, rank: .test)
    run.disk.hold { _, _ in
      if PosixThread.current != test { looks.withLock { $0 += 1 } }
      return false
    }
    space = try run.open(background: true, grace: 0)
    // The housekeeping thread has begun a round, which `close` lets end.
    try waiting { looks.withLock { $0 } > 0 }
    try space.close()
    #expect(run.base.callCount == events, "a session that finds nothing to reclaim writes nothing")
  }

  @Test func aCheckpointDoesNotTakeTheReserve() throws {
    var random = SeededRandom()
    let run = try RoomRun()
    let space = try run.open(grace: 900)
    for number in 0..<5 { try space.write(random.bytes(100_000), to: "\(number)") }
    run.disk.limit(run.disk.used)
    let before = try run.segmentCount()
    for _ in 0..<3 { try space.durability.checkpoint() }
    #expect(space.context.files.missingReserve == 0)
    #expect(try run.segmentCount() == before, "what came of it is gone")
    run.disk.limit(nil)
    try space.close()
  }

  @Test func whenRoomReturnsTheReserveIsMadeFullFirst() throws {
    var random = SeededRandom()
    let run = try RoomRun()
    let space = try run.open(background: true, grace: 900)
    for number in 0..<5 { try space.write(random.bytes(100_000), to: "\(number)") }
    #expect(space.context.files.spendReserve())
    run.disk.limit(run.disk.used)
    space.makeDirectory("a")
    try space.barrier()
    #expect(space.context.files.missingReserve == 1)
    run.disk.limit(nil)
    space.makeDirectory("b")
    try waiting { space.context.files.missingReserve == 0 }
    try space.close()
  }
}
