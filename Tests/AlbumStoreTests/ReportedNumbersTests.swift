import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

/// No number that a disk or a clock reports ends a session.
struct ReportedNumbersTests {
  let directory = TemporaryDirectory()
  let disk: ReportingDisk
  let store: Store
  let keys = SpaceKeys()

  init() throws {
    disk = ReportingDisk(try PosixDirectory(path: directory.path))
    try disk.makeDirectory("segments")
    store = Store(directory: disk, segmentSize: 256 << 10)
  }

  private func options(_ time: TimeSource = .system) -> SpaceOpenOptions {
    var options = SpaceOpenOptions(logger: Logger(label: "test"))
    options.time = time
    return options
  }

  /// Everything that a session asks the disk for.
  private func use(_ time: TimeSource = .system) throws {
    let space = try Space.open(store, keys: keys, options: options(time))
    _ = (try? space.capacity(), space.isNearlyFull, space.status)
    try? space.write([1, 2, 3], to: "file")
    try? space.commit()
    try? space.barrier()
    _ = try? space.compact()
    space.remove("file")
    try? space.close()
    _ = try? SpaceCheck.run(store, keys: keys)
    _ = try? store.availableBytes()
    _ = try? ChaffRule.randomByteCountAtBirth(of: store)
  }

  @Test(
    arguments: [
      0, 1, 4096, 1 << 52, 1 << 62, 1 << 63, UInt(bitPattern: -4096), .max,
    ] as [UInt])
  func anyRoomOfTheDiskIsLivedWith(_ number: UInt) throws {
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
    for unit in [0, 512, 4096, .max] as [UInt] {
      disk.report(
        ReportingDisk.Report(
          capacity: StorageCapacity(
            f_bsize: unit, f_frsize: unit, f_blocks: number, f_bfree: number, f_bavail: number,
            f_files: number, f_ffree: number)))
      try use()
    }
  }

  @Test(arguments: [0, 1, 511, 1 << 40, 1 << 62] as [Int64])
  func anySizeOfItsFilesIsLivedWith(_ size: Int64) throws {
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
    try use()
    disk.report(ReportingDisk.Report(size: size))
    try? use()
    disk.report(ReportingDisk.Report())
    try use()
  }

  @Test(arguments: [Int64.min, -1, 0, 1 << 33, 9_223_372_037, 1 << 55, .max])
  func anyTimeOfTheClockAndOfFilesIsLivedWith(_ seconds: Int64) throws {
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
    disk.report(ReportingDisk.Report(time: Timestamp(seconds: seconds)))
    let time = Timestamp(seconds: seconds, nanoseconds: 5)
    try use(TimeSource(wall: { time }, running: { .nanoseconds(seconds) }))
    disk.report(ReportingDisk.Report())
    try use()
    let space = try Space.open(store, keys: keys, options: options())
    #expect(!space.status.recovery.isDamaged)
    try space.close()
  }
}
