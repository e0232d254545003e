import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// A power cut costs at most the last 5 seconds, whatever runs in the background. Here the background work
// takes for ever, and barriers come all the same.

struct SlowDiskTests {
  /// Makes directories. Waits after each batch until a power cut would not lose it.
  private func expectBarriers(_ run: RoomRun, _ space: Space) throws {
    var random = SeededRandom()
    for batch in 0..<3 {
      for number in 0..<30 {
        space.makeDirectory("\(batch)-\(number)")
        beSlow(milliseconds: 10)
      }
      try waiting {
        let again = try run.open(on: run.base.crashed(&random))
        defer { again.abandon() }
        let names = again.names
        return (0..<30).allSatisfy { names.contains("\(batch)-\($0)") }
      }
    }
  }

  @Test func barriersComeWhileACheckpointIsWritten() throws {
    let run = try RoomRun()
    let space = try run.open(background: true, grace: 900)
    try space.write([1], to: "a")
    try run.duringCheckpoint(of: space) {
      try expectBarriers(run, space)
      // Neither close(2) nor fsync(2) wait.
      try space.write([2], to: "b")
      try space.barrier()
    }
    try space.close()
  }

  @Test func barriersComeWhileTheFirstSweepLooksAtTheStore() throws {
    let run = try RoomRun()
    try run.addForeignFiles(4)
    let space = try run.open(background: true, grace: 900)
    run.disk.hold { call, path in call == .open && RoomRun.isForeign(path) }
    try space.write([1], to: "a")
    try waiting { run.disk.held > 0 }
    let result = Result { try expectBarriers(run, space) }
    run.disk.goOn()
    try result.get()
    try space.close()
  }

  @Test func barriersComeWhileCompactionSyncs() throws {
    var random = SeededRandom()
    let run = try RoomRun()
    let space = try run.open(background: true, grace: 900)
    for file in 0..<20 { try space.write(random.bytes(100_000), to: "f\(file)") }
    for file in stride(from: 0, to: 20, by: 2) { space.remove("f\(file)") }
    try space.commit()
    let mover = Mutex<UInt>(0, rank: .test)
    run.disk.hold { call, _ in call == .sync && PosixThread.current == mover.withLock { $0 } }
    let thread = try PosixThread(name: "compact") {
      do {
        try space.compact { _ in
          mover.withLock { $0 = PosixThread.current }
          return true
        }
      } catch { Issue.record("\(error)") }
    }
    try waiting { run.disk.held > 0 }
    let result = Result { try expectBarriers(run, space) }
    run.disk.goOn()
    thread.join()
    try result.get()
    try space.close()
  }

  /// A store of 1 TiB has 262,144 files.
  @Test func aSweepLooksAtTheStoreInSlices() throws {
    let run = try RoomRun()
    try run.addForeignFiles(1000)
    let space = try run.open()
    try space.write([1], to: "a")
    try space.barrier()
    let opened = Mutex<Set<String>>([], rank: .test)
    run.disk.hold { call, path in
      if call == .open, let path, RoomRun.isForeign(path) {
        opened.withLock { _ = $0.insert(path) }
      }
      return false
    }
    var sweep = try space.compactor.beginSweep()
    var rounds = 1
    #expect(opened.withLock { $0.count } <= ShortFiles.filesPerRound)
    while sweep.hasUnexamined, rounds < 100 {
      let before = opened.withLock { $0.count }
      try sweep.round(space.compactor)
      rounds += 1
      #expect(opened.withLock { $0.count } - before <= ShortFiles.filesPerRound)
    }
    #expect(opened.withLock { $0.count } == 1000)
    #expect(rounds >= 4)
    run.disk.goOn()
    try space.close()
  }
}

extension RoomRun {
  /// True for the files of `addForeignFiles` and for no segment of the space itself, of which one in 256 lies
  /// in the same folder.
  static func isForeign(_ path: String?) -> Bool {
    path?.hasPrefix("segments/aa/aa" + String(repeating: "0", count: 20)) ?? false
  }

  /// Adds whole segments of another space.
  func addForeignFiles(_ count: Int) throws {
    try disk.makeDirectory("segments/aa")
    for number in 0..<count {
      let digits = String(number, radix: 16)
      let name = "aa" + String(repeating: "0", count: 30 - digits.count) + digits
      let file = try disk.open("segments/aa/\(name)", .createNew)
      let bytes = [UInt8](repeating: 7, count: count < 10 ? RoomRun.segmentSize : 1)
      try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
      // These are young: another process may be writing them, so the session examines them and leaves them as
      // they are.
      try file.setModificationTime(SystemClock.wall())
      try file.sync()
    }
    try disk.syncDirectory("segments/aa")
    try disk.syncDirectory("segments")
  }
}

extension Space {
  func makeDirectory(_ name: String) {
    change { catalog in
      let new = catalog.create(
        kind: .directory, permissions: 0o755, owner: 0, group: 0, time: Timestamp.now)
      catalog.insertEntry(
        FileName(known: Array(name.utf8)), in: catalog.index(of: .root)!, child: new)
      catalog.unpin(new)
    }
  }

  /// The names in the root.
  var names: Set<String> {
    read { catalog in
      var names: Set<String> = []
      catalog.forEachEntry(of: catalog.index(of: .root)!) { name, _, _ in
        names.insert(name.display)
        return true
      }
      return names
    }
  }
}
