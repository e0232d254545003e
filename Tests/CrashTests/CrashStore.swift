import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix

@testable import AlbumStore

/// A store at rest on a simulated disk, and the password of its first space. Its segments are small, so that
/// states are cheap and segments fill up within a few operations. Passwords have the least cost.
struct CrashStore: Sendable {
  static let password = "one"
  /// Smaller than in any real store. No record of the workloads is larger.
  static let segmentSize = 16 << 10

  var image: DiskImage
  let keys: SpaceKeys

  /// Creates a store with an empty space.
  init() throws {
    let disk = SimulatedDisk()
    var options = StoreOptions()
    options.cost = .forTests
    options.segmentSize = SegmentLayout.minimumByteCount
    options.chaffByteCount = 0
    let store = try Store.create(
      in: disk, options: options, password: secret(CrashStore.password), birth: CrashStore.birth)
    keys = try store.unlock(password: secret(CrashStore.password))
    var random = SeededRandom(seed: 0)
    image = disk.image.afterPowerCut(.everything, &random).withoutEmptyFolders()
  }

  /// The store as spaces see it. Code that changes `keys` uses `Store.open`.
  static func store(on disk: any StorageDirectory) -> Store {
    let salt = [UInt8](repeating: 0, count: KeyDerivation.saltByteCount)
    var configuration = StoreConfiguration(
      segmentSize: SegmentLayout.minimumByteCount,
      derivations: [KeyDerivation(number: 1, cost: .interactive, salt: salt)])
    configuration.segmentSize = segmentSize
    return Store(disk, configuration)
  }

  @Sendable static func birth(_ store: Store, _ keys: SpaceKeys) throws(StoreError) {
    try Space.create(
      in: CrashStore.store(on: store.directory), keys: keys,
      options: SpaceOptions(owner: 1000, group: 1000))
  }
}

/// A mounted space of that store. Only explicit calls do anything in it.
struct MountedSpace {
  let space: Space
  let fileSystem: FileSystem

  init(
    _ disk: any StorageDirectory, _ keys: SpaceKeys, clock: TestClock,
    boot: BootIdentity = .unknown, omitting omitted: Set<Precaution> = [], graceSeconds: Int64 = 0,
    readOnly: Bool = false
  ) throws(StoreError) {
    var options = SpaceOpenOptions(logger: Logger(label: "crash") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    options.grace = .seconds(graceSeconds)
    options.readOnly = readOnly
    options.omitting = omitted
    options.boot = boot
    options.watch = .zero
    options.time = clock.storeTime
    options.watch = .zero
    space = try Space.open(CrashStore.store(on: disk), keys: keys, options: options)
    fileSystem = FileSystem(space: space, clock: clock.clock)
  }

  /// Unmounts the space.
  func close() throws {
    if let error = fileSystem.close() { throw error }
    try space.close()
  }

  /// Ends as a killed process does: nothing more is written.
  func kill() {
    space.context.keeper.stop()
    space.context.lock?.release()
  }
}

/// A clock that advances a little with each reading, so that the times of files show changes.
final class TestClock: Sendable {
  private let nanoseconds: Mutex<Int64>
  /// True if the times in the store are ahead of this clock. Store time then goes on from the newest of them.
  let isSetBack: Bool

  /// Starts in 2096, after every time that the real clock stated in a store; in 1970 if it was set back.
  init(isSetBack: Bool = false) {
    self.isSetBack = isSetBack
    nanoseconds = Mutex(
      isSetBack ? 1_000_000_000_000_000 : 4_000_000_000_000_000_000, rank: .test)
  }

  func advance(seconds: Int64) { nanoseconds.withLock { $0 += seconds * 1_000_000_000 } }

  var seconds: Int64 { nanoseconds.withLock { $0 / 1_000_000_000 } }

  /// Store time, which passes with `advance` alone, but for microseconds.
  var storeTime: TimeSource {
    TimeSource(
      wall: { Timestamp(nanoseconds: self.nanoseconds.withLock { $0 }) },
      running: { .nanoseconds(self.nanoseconds.withLock { $0 }) })
  }

  var clock: FileSystemClock {
    FileSystemClock(
      now: {
        self.nanoseconds.withLock { now in
          now += 1000
          return Timestamp(nanoseconds: now)
        }
      }, monotonic: { MonotonicTime(nanoseconds: self.nanoseconds.withLock { $0 }) })
  }
}

func secret(_ text: String) -> SecretBytes {
  var bytes = Array(text.utf8)
  return SecretBytes(wiping: &bytes)
}
