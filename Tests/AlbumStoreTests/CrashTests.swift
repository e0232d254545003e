import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

// Power cuts, with a disk that forgets unsynced data. A random session is cut at a random call to the disk,
// and one of the states that this may leave is mounted. The promise (Design.md): the space equals, content
// included, what it was at some commit, no older than the last barrier that returned. Nothing is reported as
// damage, and the space can be written to.

struct CrashTests {
  @Test(arguments: 0..<4) func aPowerCutLeavesAnInstantOfThePastNoOlderThanTheLastBarrier(
    _ round: Int
  ) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for _ in 0..<15 {
      var run = try CrashRun(&random)
      try run.run(&random, cuts: 4)
    }
  }

  @Test func aKilledProcessLosesNoCommittedFile() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for _ in 0..<40 {
      var run = try CrashRun(&random)
      let space = try run.open()
      for _ in 0..<Int.random(in: 1...30, using: &random) { try run.step(space, &random) }
      try run.commit(space)
      space.context.lock?.release()
      let after = try run.open()
      #expect(try after.files() == run.history.last)
      #expect(!after.status.recovery.isDamaged)
    }
  }
}

/// A store on a simulated disk, and the files that it may contain after a cut.
struct CrashRun {
  private(set) var disk: SimulatedDisk
  private let keys = SpaceKeys()
  /// The files at each attempted commit, in order.
  fileprivate(set) var history: [[String: [UInt8]]] = [[:]]
  /// The index in `history` of the state that the last returned barrier covers.
  fileprivate var floor = 0
  fileprivate var files: [String: [UInt8]] = [:]

  init(_ random: inout SeededRandom) throws {
    disk = SimulatedDisk()
    try disk.makeDirectory("segments")
    try disk.syncDirectory("")
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
  }

  private var store: Store { Store(directory: disk, segmentSize: 256 << 10) }

  func open() throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "crash") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    options.grace = .zero
    // A power cut may have come before each mount.
    options.boot = .unknown
    return try Space.open(store, keys: keys, options: options)
  }

  /// Runs sessions that each end in a power cut.
  mutating func run(_ random: inout SeededRandom, cuts: Int) throws {
    for _ in 0..<cuts {
      disk.fail(from: disk.callCount + Int.random(in: 0...120, using: &random))
      do {
        let space = try open()
        for _ in 0..<Int.random(in: 1...80, using: &random) { try step(space, &random) }
        history.append(files)
        try space.close()
        floor = history.count - 1
      } catch is StoreError {
        // The power cut.
      }
      try recover(&random)
    }
  }

  private mutating func recover(_ random: inout SeededRandom) throws {
    let before = disk
    let tries = 3
    for attempt in 1...tries {
      disk = before.crashed(&random)
      let space = try open()
      let found = try space.files()
      guard let instant = history.lastIndex(of: found), instant >= floor else {
        let matching = history.lastIndex(of: found)
        Issue.record(
          "mounted state is instant \(matching.map(String.init) ?? "none") of \(history.count), floor \(floor): \(space.status.recovery)"
        )
        return
      }
      #expect(!space.status.recovery.isDamaged)
      if attempt == tries {
        history = [found]
        floor = 0
        files = found
      }
    }
  }

  mutating func commit(_ space: Space) throws {
    history.append(files)
    try space.commit()
  }

  mutating func step(_ space: Space, _ random: inout SeededRandom) throws {
    let name = "f\(Int.random(in: 0..<6, using: &random))"
    switch Int.random(in: 0..<23, using: &random) {
    case 0..<8:
      let content = random.bytes(Int.random(in: 1...100_000, using: &random))
      // The helper creates the file and commits again with its content, which makes two instants.
      if files[name] == nil {
        files[name] = []
        history.append(files)
      }
      files[name] = content
      history.append(files)
      try space.write(content, to: name)
    case 8..<11:
      space.remove(name)
      files[name] = nil
    case 11..<13:
      let other = "g\(Int.random(in: 0..<6, using: &random))"
      space.rename(name, to: other)
      if let content = files.removeValue(forKey: name) { files[other] = content }
    case 13..<16: try commit(space)
    case 16..<18:
      try commit(space)
      let covered = history.count - 1
      try space.barrier()
      floor = covered
    case 18:
      try commit(space)
      try space.durability.checkpoint()
    case 19: try compact(space)
    case 20..<22: try share(name, space, &random)
    default:
      try commit(space)
      var sweep = try space.compactor.beginSweep()
      try sweep.round(space.compactor)
    }
  }
}

extension CrashRun {
  /// Moves living content and removes the emptied segments, which is no instant of history.
  private mutating func compact(_ space: Space) throws {
    try commit(space)
    let covered = history.count - 1
    try space.compact()
    floor = covered
  }

  /// Makes another file that shares content with one, as copy_file_range does.
  private mutating func share(
    _ name: String, _ space: Space, _ random: inout SeededRandom
  ) throws {
    guard let content = files[name], !content.isEmpty else { return }
    let other = "s\(Int.random(in: 0..<3, using: &random))"
    // The helper empties the file first and commits that too.
    files[other] = []
    history.append(files)
    let length = Int.random(in: 1...content.count, using: &random)
    files[other] = Array(content[..<length])
    history.append(files)
    try space.share(name, 0..<Int64(length), as: other)
  }
}

extension Space {
  /// Returns all files of the root with their content.
  func files() throws -> [String: [UInt8]] {
    let names = read { catalog in
      var names: [String] = []
      catalog.forEachEntry(of: catalog.index(of: .root)!) { name, _, _ in
        names.append(name.display)
        return true
      }
      return names
    }
    var result: [String: [UInt8]] = [:]
    for name in names { result[name] = try content(of: name) }
    return result
  }

  func rename(_ name: String, to other: String) {
    change { catalog in
      let root = catalog.index(of: .root)!
      guard catalog.child(FileName(known: Array(name.utf8)), of: root) != nil else { return }
      catalog.removeEntry(FileName(known: Array(other.utf8)), in: root)
      catalog.moveEntry(
        FileName(known: Array(name.utf8)), of: root, to: FileName(known: Array(other.utf8)),
        in: root)
    }
  }
}
