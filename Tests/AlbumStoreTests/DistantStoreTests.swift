import AlbumFormat
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

/// A store of many segments on a server far away. What counts is how many calls wait for one another: at 40 ms
/// each, 250 of them take 10 seconds, and 125 take 5.
struct DistantStoreTests {
  private static let segmentSize = 16 << 10
  private static let (own, all) = (300, 10_000)
  private let keys = SpaceKeys()

  /// Its segments are smaller than in any real store.
  private func store(_ disk: any StorageDirectory) -> Store {
    var configuration = StoreConfiguration(
      segmentSize: SegmentLayout.minimumByteCount,
      derivations: [
        KeyDerivation(
          number: 1, cost: .interactive,
          salt: [UInt8](repeating: 0, count: KeyDerivation.saltByteCount))
      ])
    configuration.segmentSize = DistantStoreTests.segmentSize
    return Store(disk, configuration)
  }

  private func open(_ disk: any StorageDirectory, readOnly: Bool = false) throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "far") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    options.watch = .zero
    options.readOnly = readOnly
    return try Space.open(store(disk), keys: keys, options: options)
  }

  /// A space of many segments among far more that it does not own.
  private func makeStore() throws -> SimulatedDisk {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let disk = SimulatedDisk()
    try disk.makeDirectory("segments")
    let folders = (0..<256).map { String(0x100 | $0, radix: 16).dropFirst() }
    for folder in folders { try disk.makeDirectory("segments/\(folder)") }
    _ = Store(directory: disk, segmentSize: SegmentLayout.minimumByteCount)
    try Space.create(in: store(disk), keys: keys, options: SpaceOptions(owner: 0, group: 0))
    let space = try open(disk)
    for file in 0..<DistantStoreTests.own { try space.write(random.bytes(12_000), to: "\(file)") }
    try space.close()
    for number in DistantStoreTests.own..<DistantStoreTests.all {
      let name = random.bytes(15).map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined()
      let folder = folders[number % folders.count]
      let file = try disk.open("segments/\(folder)/\(folder)\(name)", .createNew)
      let last = [UInt8](repeating: 7, count: 1)
      try unsafe last.withUnsafeBytes {
        try unsafe file.write($0, at: Int64(DistantStoreTests.segmentSize - 1))
      }
    }
    return disk
  }

  @Test func aMountOfTenThousandSegmentsWaitsForFewCallsInTurn() throws {
    let disk = try makeStore()
    for readOnly in [true, false] {
      let distant = DistantDisk(disk)
      let space = try open(distant, readOnly: readOnly)
      let mount = distant.takeRounds()
      #expect(mount.rounds <= 250, "mount, read-only \(readOnly): \(mount)")
      if !readOnly {
        try space.write([1], to: "new")
        try space.barrier()
        #expect(try space.content(of: "0")?.count == 12_000)
        _ = distant.takeRounds()
      }
      try space.close()
      let end = distant.takeRounds()
      #expect(end.rounds <= 125, "unmount, read-only \(readOnly): \(end)")
      print("read-only \(readOnly): mount \(mount), unmount \(end)")
    }
  }
}
