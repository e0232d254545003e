import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

// A full disk: the writer gets an error. No other file is harmed, and everything stays readable. Files can be
// removed, and their room comes back. Then writing continues without a new mount.

struct FullDiskTests {
  /// `statfs` shows a full disk beforehand, but not a quota.
  @Test(arguments: [Errno.noSpace, .quota])
  func aFullDiskRefusesWhatDoesNotFitAndHarmsNothingElse(_ error: Errno) throws {
    var run = try FullDiskRun()
    let space = try run.open()
    run.disk.limit(run.disk.used + 24 << 18, with: error)
    try run.fill(space, expecting: error == .quota ? .quotaExceeded : .noSpace)
    #expect(space.status.shortage != nil)
    #expect(!space.isReadOnly)
    try run.expectAllThere(space)

    try run.removeHalf(space)
    try run.sweep(space)
    try run.expectAllThere(space)
    // There is room again for about as much as was removed.
    for file in 0..<3 { try run.write(space, "again \(file)", 100_000) }
    #expect(space.status.shortage == nil)
    try space.close()
    try run.expectAllThere(try run.open())
  }

  @Test func onADiskThatWasFullAtTheMountFilesCanBeRemoved() throws {
    var run = try FullDiskRun()
    let space = try run.open()
    run.disk.limit(run.disk.used + 24 << 18)
    try run.fill(space, expecting: .noSpace)
    try space.close()

    let again = try run.open()
    #expect(throws: StoreError.self) { try run.write(again, "more", 100_000) }
    try run.removeHalf(again)
    try run.sweep(again)
    try run.write(again, "more", 100_000)
    try again.close()
    try run.expectAllThere(try run.open())
  }

  /// Another program takes all the room just before accepted content is written.
  @Test func acceptedContentIsWrittenAlthoughOthersFilledTheDisk() throws {
    var run = try FullDiskRun()
    let space = try run.open()
    try run.write(space, "before", 300_000)
    let content = [UInt8](repeating: 7, count: 200_000)
    let sealed = try space.seal(content, for: "taken over")
    run.disk.limit(run.disk.used)
    space.state(sealed)
    run.files["taken over"] = content
    try space.barrier()
    #expect(throws: StoreError.self) { try run.write(space, "no more", 300_000) }
    try run.removeHalf(space)
    run.disk.limit(nil)
    try run.write(space, "more", 300_000)
    try run.expectAllThere(space)
    space.abandon()
    try run.expectAllThere(try run.open())
  }

  /// The disk has room for a dozen segments, and the fence. In each short session the user fills it and removes everything.
  @Test func afterManyShortSessionsASmallDiskTakesFilesAgain() throws {
    var run = try FullDiskRun()
    run.disk.limit(13 << 18)
    for session in 0..<16 {
      let space = try run.open()
      try run.expectAllThere(space)
      var hasFilled = false
      for file in 0..<100 where !hasFilled {
        do { try run.write(space, "f\(file)", 100_000) } catch let error as StoreError {
          #expect(error.code == .noSpace)
          run.files["f\(file)"] = nil
          hasFilled = true
        }
      }
      #expect(hasFilled)
      for name in try space.files().keys { space.remove(name) }
      run.files = [:]
      try space.commit()
      try run.write(space, "after", 1_000)
      if session % 3 == 0 { space.abandon() } else { try space.close() }
      let report = try run.check()
      #expect(report.findings.filter { $0.severity == .damage } == [], "session \(session)")
    }
  }

  @Test func nothingIsLostWhileNothingCanBeWritten() throws {
    var run = try FullDiskRun()
    let space = try run.open()
    try run.write(space, "before", 300_000)
    let content = [UInt8](repeating: 7, count: 100_000)
    space.state(try space.seal(content, for: "late"))
    run.files["late"] = content
    // The reserve does not help: no byte can be written, not even over existing ones.
    run.disk.fail(.write, with: .noSpace, count: .max)
    run.disk.fail(.create, with: .noSpace, count: .max)
    #expect(throws: StoreError.self) { try space.commit() }
    space.remove("before")
    #expect(throws: StoreError.self) { try space.commit() }
    #expect(!space.isReadOnly)
    run.disk.heal()
    try space.barrier()
    run.files["before"] = nil
    space.abandon()
    try run.expectAllThere(try run.open())
  }
}

/// A disk that takes back the room of removed files only with its next commit, as btrfs does.
struct LateRoomTests {
  @Test(arguments: [Errno.noSpace, .quota])
  func whatIsRemovedMakesRoom(_ error: Errno) throws {
    var run = try FullDiskRun()
    run.disk.limit(40 * 256 << 10, with: error)
    run.disk.returnRoomLate()
    for round in 0..<6 {
      let space = try run.open()
      try run.fill(space, expecting: error == .quota ? .quotaExceeded : .noSpace)
      // Another program takes the rest, to the last byte.
      run.disk.limit(run.disk.used, with: error)
      for name in run.files.keys { space.remove(name) }
      run.files = [:]
      try space.commit()
      try run.write(space, "again", 300_000)
      if round % 2 == 0 { space.abandon() } else { try space.close() }
      let next = try run.open()
      #expect(next.names.sorted() == ["again"])
      try run.expectAllThere(next)
      try run.write(next, "more", 300_000)
      try run.expectAllThere(next)
      for name in run.files.keys { next.remove(name) }
      run.files = [:]
      try next.close()
      run.disk.limit(40 * 256 << 10, with: error)
    }
  }
}

/// A space on a small disk, and the files that it should contain.
struct FullDiskRun {
  let disk = FaultyDisk(SimulatedDisk())
  var files: [String: [UInt8]] = [:]
  private let keys = SpaceKeys()
  private var random = SeededRandom()
  private let store: Store

  init() throws {
    try disk.makeDirectory("segments")
    store = Store(directory: disk, segmentSize: 256 << 10)
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
    print("seed \(random.seed)")
  }

  func open(time: TimeSource = .system) throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "full") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    options.time = time
    return try Space.open(store, keys: keys, options: options)
  }

  mutating func write(_ space: Space, _ name: String, _ count: Int) throws {
    let content = random.bytes(count)
    try space.write(content, to: name)
    files[name] = content
  }

  /// Writes until the space refuses.
  mutating func fill(_ space: Space, expecting code: StoreError.Code) throws {
    for file in 100..<1000 {
      do { try write(space, "f\(file)", 100_000) } catch let error as StoreError {
        #expect(error.code == code)
        space.remove("f\(file)")
        try space.commit()
        #expect(files.count > 10)
        return
      }
    }
    Issue.record("the disk was never full")
  }

  /// Removes the older half of the files, so that whole segments become empty.
  mutating func removeHalf(_ space: Space) throws {
    for name in files.keys.sorted().prefix(files.count / 2) {
      space.remove(name)
      files[name] = nil
    }
    try space.commit()
  }

  func check() throws -> CheckReport { try SpaceCheck.run(store, keys: keys) }

  func sweep(_ space: Space) throws {
    var sweep = try space.compactor.beginSweep()
    for _ in 0..<3 { try sweep.round(space.compactor) }
  }

  func expectAllThere(_ space: Space) throws {
    for (name, content) in files { #expect(try space.content(of: name) == content) }
  }
}
