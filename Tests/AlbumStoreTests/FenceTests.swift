import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

/// Two machines share a store, and their locks do not meet: over sshfs, or NFS after a long sleep.
struct FenceTests {
  let place: StorePlace
  let (first, second): (NetworkDisk, NetworkDisk)

  init() throws {
    place = try StorePlace()
    (first, second) = (
      try NetworkDisk(path: place.directory.path), try NetworkDisk(path: place.directory.path)
    )
  }

  private func open(
    _ disk: NetworkDisk, readOnly: Bool = false, aheadBy days: Int64 = 0, watch: Duration = .zero
  ) throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "test"))
    options.readOnly = readOnly
    options.worksInBackground = false
    options.watch = watch
    if days > 0 {
      options.time = TimeSource(
        wall: { SystemClock.wall() + .seconds(days * 86_400) },
        running: { SystemClock.sinceStart() })
    }
    let store = Store(directory: disk, segmentSize: StorePlace.segmentSize)
    return try Space.open(store, keys: place.keys, options: options)
  }

  /// A writes and syncs a file, which B has for common history.
  private func openFirst(writing name: String = "a", aheadBy days: Int64 = 0) throws -> Space {
    let a = try open(first, aheadBy: days)
    try a.write([1], to: name)
    try a.barrier()
    return a
  }

  /// B begins to write, and syncs a file.
  private func openSecond(writing name: String = "by B") throws -> Space {
    let b = try open(second)
    try b.write([2], to: name)
    try b.barrier()
    return b
  }

  /// B writes in three sessions of its own: 0, 1 and 2.
  private func letSecondWriteThreeTimes() throws {
    for session in 0..<3 { try openSecond(writing: "\(session)").close() }
  }

  /// Returns why a session can no longer write and sync; nil if it can.
  private func refusal(of space: Space, writing name: String = "late") -> StoreError.Code? {
    code {
      try space.write([3], to: name)
      try space.barrier()
    }
  }

  private func fences() throws -> [UInt32] {
    try place.segments().keys.compactMap { place.keys.segment(at: $0) }
      .filter { $0.kind == .fence }.map(\.number.rawValue).sorted()
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  /// What the store shows at the next mount, and after a repair.
  private func shown() throws -> [String: [UInt8]] {
    let space = try place.open(readOnly: true)
    defer { try? space.close() }
    return try space.files()
  }

  @Test func theSecondWriterStopsTheFirstAndNothingThatCountedIsLost() throws {
    let a = try openFirst(writing: "synced by A")
    let b = try openSecond()

    #expect(refusal(of: a, writing: "too late") == .inUse)
    #expect(a.isReadOnly)
    #expect(code { try a.barrier() } == .readOnly)
    #expect(throws: StoreError.self) { try a.close() }
    try b.write([4], to: "by B later")
    try b.close()
    let files = try shown()
    #expect(files["synced by A"] == [1])
    #expect(files["by B"] == [2])
    #expect(files["by B later"] == [4])
  }

  /// The mount sees the journal grow, and leaves the writer alone.
  @Test func nobodyTakesTheSpaceFromAWriterAtWork() throws {
    let a = try open(first)
    try a.write([1], to: "a")
    let isOver = Mutex(false, rank: .test)
    let writer = try PosixThread(name: "writer") {
      while !isOver.withLock({ $0 }) {
        try? a.write([1], to: "a")
        try? a.barrier()
      }
    }
    #expect(code { _ = try open(second, watch: .seconds(60)) } == .inUse)
    isOver.withLock { $0 = true }
    writer.join()
    try a.write([4], to: "after")
    try a.close()
    #expect(try shown()["after"] == [4])
  }

  /// A mount that read the journal before another one had ended its session does not overwrite that.
  @Test func aMountThatReadTooEarlyDoesNotWrite() throws {
    let a = try open(first)
    try a.write([1], to: "a")
    try a.close()
    let late = try open(second)
    let again = try open(first)
    try again.write([2], to: "b")
    try again.close()
    #expect(code { try late.write([3], to: "c") } == .inUse)
    #expect(late.isReadOnly)
    #expect(try shown() == ["a": [1], "b": [2]])
  }

  @Test func ofTwoIdleMountsOnlyOneBeginsToWrite() throws {
    let (a, b) = (try open(first), try open(second))
    try a.write([1], to: "a")
    try a.barrier()
    #expect(refusal(of: b, writing: "b") == .inUse)
    try a.close()
    #expect(try shown()["a"] == [1])
  }

  /// Neither barrier nor clock decides: the one that was stopped does not count, though its clock is a year
  /// ahead.
  @Test(arguments: [0, 400] as [Int64])
  func whatTheStoppedWriterHadNotFinishedComesBackByARepair(aheadBy days: Int64) throws {
    var content = [UInt8](repeating: 5, count: 200_000)
    content[0] = 6
    let a = try openFirst(writing: "both", aheadBy: days)
    let b = try openSecond()
    // Frames that no barrier covers: closed files, which nobody has synced.
    try a.write(content, to: "closed by A")
    try a.write([7, 7], to: "both")
    #expect(code { try a.barrier() } == .inUse)
    a.abandon()
    try b.close()

    var files = try shown()
    #expect(files["by B"] == [2])
    #expect(files["both"] == [1])
    #expect(files["closed by A"] == nil)
    let status = try place.open(readOnly: true)
    #expect(status.recovery.mayBeMixed)
    #expect(status.recovery.otherFiles.contains("closed by A"))
    try status.close()

    var options = CheckOptions()
    options.repairs = true
    let report = try SpaceCheck.run(place.store, keys: place.keys, options: options)
    #expect(report.repairs.contains { if case .otherTimeline = $0 { true } else { false } })
    let space = try place.open()
    #expect(!space.recovery.mayBeMixed)
    #expect(try space.recovered("closed by A") == content)
    #expect(try space.recovered("both") == [7, 7])
    try space.close()
    files = try shown()
    #expect(files["by B"] == [2])
    #expect(files["both"] == [1])
  }

  /// B mounts and writes in one call of A's session, whichever it is. What either has synced is there at the end.
  @Test func aSecondWriterMayBeginAtEveryCallOfTheFirst() throws {
    let calls = try session(secondAt: nil)
    let first = Int.random(in: 0..<6)
    print("every 6th call of \(calls), from \(first)")
    for call in stride(from: first, to: calls, by: 6) { _ = try session(secondAt: call) }
  }

  /// Returns the number of calls of A's session.
  private func session(secondAt call: Int?) throws -> Int {
    let test = try FenceTests()
    let synced = Mutex<[String: [UInt8]]>([:], rank: .test)
    let write: @Sendable (Space, String, [UInt8]) -> Void = { space, name, content in
      do {
        try space.write(content, to: name)
        try space.barrier()
        synced.withLock { $0[name] = content }
      } catch {}
    }
    let (disk, keys) = (test.second, test.place.keys)
    if let call {
      test.first.before(call: call) {
        var options = SpaceOpenOptions(
          logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        options.worksInBackground = false
        options.watch = .zero
        let store = Store(directory: disk, segmentSize: StorePlace.segmentSize)
        guard let space = try? Space.open(store, keys: keys, options: options) else { return }
        for file in 0..<2 { write(space, "by B \(file)", [2, UInt8(file)]) }
        try? space.close()
      }
    }
    let space = try? test.open(test.first)
    if let space {
      for file in 0..<4 { write(space, "by A \(file)", [1, UInt8(file)]) }
      try? space.close()
      space.abandon()
    }
    let shown = try test.shown()
    for (name, content) in synced.withLock({ $0 }) {
      #expect(shown[name] == content, "\(name), B at call \(call ?? 0)")
    }
    return test.first.calls
  }

  /// Without the look at the fence, what the first one syncs is lost: the tests above would notice.
  @Test func aWriterThatDoesNotLookLosesWhatItSynced() throws {
    var options = SpaceOpenOptions(logger: Logger(label: "test"))
    options.worksInBackground = false
    options.omitting = [.fence]
    let store = Store(directory: first, segmentSize: StorePlace.segmentSize)
    let a = try Space.open(store, keys: place.keys, options: options)
    try a.write([1], to: "a")
    try a.barrier()
    let b = try openSecond()
    #expect(refusal(of: a) == nil)
    a.abandon()
    try b.close()
    #expect(try shown()["late"] == nil)
  }

  @Test func aLostLockTurnsTheSpaceReadOnlyBeforeMoreIsPromised() throws {
    let a = try openFirst()
    first.loseLocks()
    try a.write([2], to: "b")
    #expect(code { try a.barrier() } == .inUse)
    #expect(a.isReadOnly)
  }

  @Test func aStoppedWriterRemovesNothing() throws {
    let a = try open(first)
    for file in 0..<4 { try a.write([UInt8](repeating: 1, count: 200_000), to: "\(file)") }
    try a.barrier()
    for file in 0..<3 { a.remove("\(file)") }
    try a.commit()
    for _ in 0..<2 { try a.durability.forcedBarrier() }
    _ = try openSecond(writing: "b")
    let before = try place.segments().keys
    #expect(throws: StoreError.self) {
      try a.compactor.retireEmptied()
      try a.compactor.removeRetired(grace: .zero)
    }
    #expect(Set(before).isSubset(of: try place.segments().keys))
  }

  @Test func aMountThatChangesNothingMakesNoFenceAndManySessionsKeepOne() throws {
    for session in 1...5 {
      let space = try open(first)
      try space.write([UInt8(session)], to: "a")
      try space.close()
      // The first was made with the space.
      #expect(try fences() == [UInt32(session + 1)])
      let idle = try open(first)
      _ = try idle.content(of: "a")
      try idle.close()
      #expect(try fences() == [UInt32(session + 1)])
    }
  }

  /// Its fence and the next ones are gone by then.
  @Test func aMachineThatSleptThroughManySessionsIsStopped() throws {
    let a = try openFirst()
    try letSecondWriteThreeTimes()
    #expect(refusal(of: a) == .inUse)
    #expect(a.isReadOnly)
    let files = try shown()
    #expect(files["a"] == [1])
    #expect(files["2"] == [2])
    #expect(files["late"] == nil)
  }

  /// A listed the store before B and C wrote; their fences are gone, so A can make one of B's number.
  @Test func aMachineThatListedTheStoreLongAgoDoesNotWrite() throws {
    let a = try open(first)
    try letSecondWriteThreeTimes()
    #expect(refusal(of: a) == .inUse)
    let files = try shown()
    #expect(files["2"] == [2])
    #expect(files["late"] == nil)
    let b = try open(second)
    try b.write([4], to: "again")
    try b.close()
    #expect(try shown()["again"] == [4])
  }

  /// B has made its fence and not begun its journal when A mounts.
  @Test func aMountThatSeesAFenceWithoutAJournalFindsItWhenItBegins() throws {
    let b = try open(second)
    try b.context.fence.take(spendsReserve: true)
    let a = try open(first)
    try b.write([2], to: "b")
    try b.barrier()
    #expect(refusal(of: a, writing: "a") == .inUse)
    try b.write([3], to: "more")
    try b.close()
    let files = try shown()
    #expect(files["b"] == [2])
    #expect(files["more"] == [3])
  }

  /// A user moves folders of the store about.
  @Test func aFenceThatSomebodyTookAwayIsMadeAgain() throws {
    let a = try open(first)
    try a.write([1], to: "a")
    let path = try #require(
      place.segments().keys.first { place.keys.segment(at: $0)?.kind == .fence })
    try first.remove(path)
    try a.barrier()
    #expect(!a.isReadOnly)
    #expect(try fences().last == 2)
    try a.close()
  }

  @Test func aFenceSaysWhoWrites() throws {
    let a = try open(first)
    try a.write([1], to: "a")
    let record = try #require(Fence.read(SegmentNumber(2), a.context.files))
    #expect(record.session == a.context.files.session)
    #expect(record.machine == AddressText.hostName)
    a.abandon()
  }

  /// 256 folders are listed once, by the mount.
  @Test func aSessionListsTheStoreOnce() throws {
    for folder in 0..<256 {
      try? first.makeDirectory("segments/\(folder < 16 ? "0" : "")\(String(folder, radix: 16))")
    }
    let before = try open(first)
    try before.write([1], to: "a")
    try before.close()
    _ = first.takeLists()
    let space = try open(first)
    try space.write([2], to: "a")
    var sweep = try space.compactor.beginSweep()
    try sweep.round(space.compactor)
    try space.durability.checkpoint()
    try sweep.round(space.compactor)
    try space.close()
    space.settleTimes()
    let lists = first.takeLists()
    #expect(lists.count >= 257)
    #expect(lists.filter { $0.value > 1 }.isEmpty)
  }
}

extension Space {
  /// The contents of all files that a repair brought back.
  func allRecovered() throws -> [String: [UInt8]] {
    let names = read { catalog in
      var index = catalog.index(of: .root)
      for step in ["Recovered", "Photo"] {
        index = index.flatMap { catalog.child(FileName(known: Array(step.utf8)), of: $0) }
      }
      var names: [String] = []
      if let index {
        catalog.forEachEntry(of: index, after: 0) { name, _, _ in
          names.append(name.text)
          return true
        }
      }
      return names
    }
    var contents: [String: [UInt8]] = [:]
    for name in names { contents[name] = try recovered(name) }
    return contents
  }

  /// The content of a file that a repair brought back.
  func recovered(_ name: String) throws -> [UInt8]? {
    let found = read { catalog -> (Int64, [Extent])? in
      var index = catalog.index(of: .root)
      for step in ["Recovered", "Photo", name] {
        index = index.flatMap { catalog.child(FileName(known: Array(step.utf8)), of: $0) }
      }
      guard let index else { return nil }
      let size = catalog.state(index).size
      return (size, catalog.extents(of: index, from: 0, to: size))
    }
    return try found.map { try bytes($0.0, $0.1) }
  }
}
