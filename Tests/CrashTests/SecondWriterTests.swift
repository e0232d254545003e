import AlbumCheck
import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// Two machines whose locks do not meet write one space. The second one begins within any call of the first, does
// what a session does, and ends or is killed. Whatever either of them synced is there at the end, after a power
// cut too: in the tree, or in `Recovered` after a repair.

@Suite struct SecondWriterTests {
  @Test(arguments: [false, true])
  func `what either of two writers synced is there, or comes back by a repair`(_ losesPower: Bool)
    throws
  {
    var random = SeededRandom(seed: Harness.seed)
    let prepared = try Circumstances.prepared()
    let wanted = Harness.isLong ? 20_000 : 70
    var (lives, stopped) = (0, 0)
    while lives < wanted {
      let seed = random.next()
      let calls = TwoWriters(prepared, seed: seed, secondAt: nil).calls
      for _ in 0..<10 {
        let call = Int.random(in: 1...calls, using: &random)
        let writers = TwoWriters(prepared, seed: seed, secondAt: call)
        for fault in try writers.faults(losesPower: losesPower, &random) {
          Issue.record("seed \(Harness.seed), life \(seed), second at \(call): \(fault)")
        }
        lives += 1
        if writers.isStopped { stopped += 1 }
      }
    }
    print("\(lives) lives; in \(stopped) of them one writer stopped the other")
    #expect(stopped > lives / 4)
  }

  /// The harness notices a writer that does not look whether another one has begun.
  @Test func `without the look at the fence something that was synced is lost`() throws {
    var random = SeededRandom(seed: Harness.seed)
    let prepared = try Circumstances.prepared()
    for _ in 0..<300 {
      let seed = random.next()
      let calls = TwoWriters(prepared, seed: seed, secondAt: nil).calls
      let call = Int.random(in: 1...calls, using: &random)
      let writers = TwoWriters(prepared, seed: seed, secondAt: call, omitting: [.fence])
      if try !writers.faults(losesPower: false, &random).isEmpty { return }
    }
    Issue.record("nothing was lost, seed \(Harness.seed)")
  }
}

/// Two sessions on one disk, of which each call of the first can be the one within which the second takes place.
/// What they do follows from a seed.
final class TwoWriters {
  private let disk: SimulatedDisk
  private let circumstances: Circumstances
  private let omitted: Set<Precaution>
  /// The number of calls of the first one; of a life without a second one.
  private(set) var calls = 0
  /// What a writer synced, by name.
  private let synced = Mutex<[String: [UInt8]]>([:], rank: .test)
  /// True if one of them was refused, because the other one had begun.
  private(set) var isStopped = false

  init(
    _ circumstances: Circumstances, seed: UInt64, secondAt call: Int?,
    omitting omitted: Set<Precaution> = []
  ) {
    self.circumstances = circumstances
    self.omitted = omitted
    disk = SimulatedDisk(circumstances.store.image, lies: [.ignoresLocks])
    // Only one of the two threads is at work at any time.
    nonisolated(unsafe) let writers = self
    disk.interrupt(when: { _ in
      unsafe writers.calls += 1
      return unsafe writers.calls == call
    }) {
      let other = try? PosixThread(name: "other machine") {
        unsafe writers.session("second", SeededRandom(seed: seed &+ 1))
      }
      other?.join()
    }
    session("first", SeededRandom(seed: seed))
  }

  private func open(_ disk: SimulatedDisk, _ omitted: Set<Precaution> = []) throws -> MountedSpace {
    try MountedSpace(
      DistantDisk(disk), circumstances.store.keys, clock: TestClock(), omitting: omitted)
  }

  private func session(_ writer: String, _ seeded: SeededRandom) {
    var random = seeded
    guard let mounted = try? open(disk, omitted) else { return }
    defer { mounted.kill() }
    var sweep: Sweep?
    for step in 0..<Int.random(in: 3...8, using: &random) {
      let content = random.bytes(Int.random(in: 1...3000, using: &random))
      do {
        switch Int.random(in: 0..<9, using: &random) {
        case 0..<4: try write(content, "\(writer) \(step)", to: mounted, syncs: true)
        case 4: try write(content, "\(writer) \(step) in memory", to: mounted, syncs: false)
        case 5: try mounted.space.durability.checkpoint()
        case 6: try mounted.space.compact()
        case 7: try mounted.space.barrier()
        default:
          if sweep == nil { sweep = try mounted.space.compactor.beginSweep() }
          try sweep?.round(mounted.space.compactor)
        }
      } catch {
        isStopped = true
      }
    }
    if Bool.random(using: &random) { try? mounted.close() }
  }

  private func write(_ content: [UInt8], _ name: String, to mounted: MountedSpace, syncs: Bool)
    throws
  {
    let (entry, file) = try mounted.fileSystem.create(
      FileName(name), in: .root, permissions: 0o644, mode: OpenMode(writes: true),
      for: Caller(user: 1000, group: 1000))
    defer { file.release() }
    try unsafe content.withUnsafeBytes { try unsafe file.write($0, at: 0) }
    try file.flush()
    if !syncs { return }
    try mounted.fileSystem.synchronize(entry.attributes.inode)
    synced.withLock { $0[name] = content }
  }

  /// What was synced and is neither there at the end nor after a repair, and what else is wrong.
  func faults(losesPower: Bool, _ random: inout SeededRandom) throws -> [String] {
    let image = losesPower ? disk.image.afterPowerCut(.random, &random) : disk.image
    let end = SimulatedDisk(image)
    if try missing(on: end).isEmpty { return [] }
    var options = CheckOptions()
    options.repairs = true
    _ = try SpaceCheck.run(
      CrashStore.store(on: end), keys: circumstances.store.keys, options: options)
    return try missing(on: end)
  }

  private func missing(on disk: SimulatedDisk) throws -> [String] {
    let mounted = try open(disk)
    defer { mounted.kill() }
    let shown = try Snapshot(mounted, toleratesErrors: true)
    let contents = Set(shown.entries.values.map(\.content))
    var faults = shown.unreadable.keys.map { "\($0) cannot be read" }
    for (name, content) in synced.withLock({ $0 }) where !contents.contains(content) {
      faults.append("\(name) is lost")
    }
    return faults
  }
}
