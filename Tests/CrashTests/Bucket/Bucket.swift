import AlbumFormat
import AlbumTestSupport
import ObjectStores
import Posix

/// An object storage that records its states, and fails when it is told to, and the staging of one machine.
final class Bucket: Sendable {
  let store: MemoryObjectStore
  private let disk = Mutex(SimulatedDisk(), rank: .random)
  private let faults: Faults

  /// Holds these files at first.
  init(_ files: [String: [UInt8]], seed: UInt64) throws {
    let faults = Faults(seed: seed)
    self.faults = faults
    store = MemoryObjectStore(records: true) { verb, _, _ in faults.next(verb) }
    for (name, bytes) in files { try store.save(name, bytes, .any) }
    faults.begin()
  }

  var staging: SimulatedDisk { disk.withLock { $0 } }

  /// Each second time, the machine loses its power with the session, and starts anew.
  func mayCutPower() -> BootIdentity? {
    var random = faults.random()
    if Bool.random(using: &random) { return nil }
    let left = staging.crashed(&random)
    disk.withLock { $0 = left }
    return .random(&random)
  }

  /// The number of states so far.
  var position: Int { store.recording.count }

  func directory() -> StagedDirectory { StagedDirectory(store, staging: staging, limit: 1 << 30) }

  /// Lets calls fail while `body` runs.
  func withFaults<Result>(_ body: () throws -> Result) rethrows -> Result {
    faults.set(true)
    defer { faults.set(false) }
    return try body()
  }
}

/// Chooses which calls fail.
private final class Faults: Sendable {
  private struct State {
    var random: SeededRandom
    var isOn = false
    var hasBegun = false
  }
  private let state: Mutex<State>
  /// Of so many calls one fails.
  private static let share = 6

  init(seed: UInt64) { state = Mutex(State(random: SeededRandom(seed: seed)), rank: .random) }

  func random() -> SeededRandom { state.withLock { SeededRandom(seed: $0.random.next()) } }
  func begin() { state.withLock { $0.hasBegun = true } }
  func set(_ isOn: Bool) { state.withLock { $0.isOn = isOn } }

  /// A session makes its fence between the other calls of a workload, and waits until it has it.
  func next(_ verb: MemoryObjectStore.Verb) -> MemoryObjectStore.Fault? {
    state.withLock { state in
      if !state.hasBegun || !state.isOn && verb != .save { return nil }
      // A mount makes 16 calls that list, and reads much.
      let share = verb == .save || verb == .remove ? Faults.share : 16 * Faults.share
      if Int.random(in: 0..<share, using: &state.random) > 0 { return nil }
      switch Int.random(in: 0..<5, using: &state.random) {
      case 0: return .lostRequest
      case 1: return .lostReply
      case 2: return .doubled
      case 3: return .late
      default: return .error(.unreachable(.status(503)))
      }
    }
  }
}

extension DiskImage {
  /// The files, as a copy of a store in an object storage has them.
  func bucketFiles() throws -> [String: [UInt8]] {
    let disk = SimulatedDisk(self)
    var files: [String: [UInt8]] = [:]
    for name in try disk.list("") where name != "segments" {
      files[name] = try disk.contents(of: name, limit: 1 << 20)
    }
    for folder in try disk.list("segments") {
      for name in try disk.list("segments/\(folder)") {
        let path = "segments/\(folder)/\(name)"
        files[path] = try disk.contents(of: path, limit: 1 << 20)
      }
    }
    return files
  }
}
