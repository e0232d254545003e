import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

/// The network is away for a while, or the server is. A session that writes waits and goes on. Nothing that
/// it promised is lost, and nobody gets an error.
struct OutageTests {
  private let keys = SpaceKeys()
  private let disk: SimulatedDisk
  private let random: SeededRandom

  init() throws {
    random = SeededRandom()
    print("seed \(random.seed)")
    disk = SimulatedDisk()
    try disk.makeDirectory("segments")
    try disk.syncDirectory("")
    try Space.create(
      in: OutageTests.store(disk), keys: keys, options: SpaceOptions(owner: 0, group: 0))
  }

  private static func store(_ disk: any StorageDirectory) -> Store {
    Store(directory: disk, segmentSize: RoomRun.segmentSize)
  }

  private static func open(_ disk: any StorageDirectory, _ keys: SpaceKeys) throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "out") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    options.watch = .zero
    return try Space.open(store(disk), keys: keys, options: options)
  }

  private func content(_ file: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(file) + 1)
    return random.bytes(file % 2 == 0 ? 150_000 : 3_000)
  }

  /// One session of a user: files, a sync, a checkpoint, more files, an unmount.
  private func useSpace(_ space: Space) throws {
    for file in 0..<4 { try space.write(content(file), to: "\(file)") }
    try space.barrier()
    // One that fails is taken again later.
    _ = try? space.durability.checkpoint()
    for file in 4..<8 { try space.write(content(file), to: "\(file)") }
    try space.barrier()
    #expect(try space.content(of: "0") == content(0))
    try space.close()
  }

  private func expectAll(_ network: CuttableNetwork, _ cuts: Set<Int>) throws {
    let again = try OutageTests.open(network.disk, keys)
    defer { again.abandon() }
    #expect(!again.status.recovery.isDamaged, "cut at \(cuts)")
    for file in 0..<8 {
      #expect(try again.content(of: "\(file)") == content(file), "\(file), cut at \(cuts)")
    }
  }

  private func network() -> CuttableNetwork {
    CuttableNetwork(SimulatedDisk(disk.image), random)
  }

  @Test func aSessionGoesOnWhereverTheNetworkIsCut() throws {
    let whole = network()
    let space = try OutageTests.open(whole.directory(), keys)
    let begin = whole.calls
    try useSpace(space)
    let end = whole.calls
    var random = random
    let first = begin + 1 + Int.random(in: 0..<7, using: &random)
    for call in stride(from: first, to: end, by: 7) {
      let network = network()
      let space = try OutageTests.open(network.directory(), keys)
      // Sometimes it is cut again while the space writes anew what may be lost.
      let later = call + Int.random(in: 1...20, using: &random)
      let cuts: Set = Bool.random(using: &random) ? [call] : [call, later]
      network.cut(at: cuts)
      do {
        try useSpace(space)
        try expectAll(network, cuts)
      } catch {
        Issue.record("cut at \(cuts): \(error)")
        space.abandon()
      }
    }
  }

  /// The other machine had the store while this one had no network.
  @Test func aSessionEndsWhereAnotherOneWroteMeanwhile() throws {
    let network = network()
    let space = try OutageTests.open(network.directory(), keys)
    try space.write([1], to: "before")
    try space.barrier()
    network.beforeReturn { [keys] disk in
      let other = try? PosixThread(name: "other machine") {
        do {
          let other = try OutageTests.open(disk, keys)
          try other.write([2], to: "of the other")
          try other.close()
        } catch {
          Issue.record(error)
        }
      }
      other?.join()
    }
    network.cut(at: [network.calls + 2])
    #expect {
      try space.write([3], to: "late")
      try space.barrier()
    } throws: {
      ($0 as? StoreError)?.code == .inUse
    }
    #expect(space.isReadOnly)
    space.abandon()
    let again = try OutageTests.open(network.disk, keys)
    #expect(try again.content(of: "before") == [1])
    #expect(try again.content(of: "of the other") == [2])
    again.abandon()
  }
}
