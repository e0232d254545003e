import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumStore
import AlbumTestSupport
import Glibc
import Posix
import Testing

// Tests of the harness. With one precaution left out that the design relies on, the harness finds a state
// that breaks a promise, with a workload of a few operations. With the precaution in place, the same workload
// breaks no promise. A lying disk leaves out the precautions that concern the disk; `Precaution` leaves out
// the others.

@Suite struct TeethTests {
  /// A precaution that is left out, and a workload that shows it.
  struct Tooth: Sendable, CustomTestStringConvertible {
    var name: String
    var lies: Set<DiskLie> = []
    var omitted: Set<Precaution> = []
    var failsSync = false
    var operations: [Operation]
    var within: Operation?

    var testDescription: String { name }
  }

  static let teeth: [Tooth] = [
    Tooth(
      name: "a barrier takes its number first", omitted: [.barrierNumberFirst],
      operations: [.append("a", 400), .append("a", 300), .barrier, .syncFile("c")],
      within: .write("c", 600)),
    Tooth(
      name: "new names are synced", lies: [.ignoresDirectorySyncs],
      operations: [.append("a", 400), .syncFile("a")]),
    Tooth(
      name: "records and frames are synced", lies: [.ignoresFileSyncs],
      operations: [.append("a", 400), .syncFile("a")]),
    Tooth(
      name: "frames are chained", omitted: [.chainedFrames],
      operations: [.append("a", 400), .append("b", 400), .makeDirectory("B"), .create("c")]),
    Tooth(
      name: "what is believed is synced before the cut is stated", omitted: [.syncBeforeCut],
      operations: [.append("a", 400), .kill, .append("b", 400)]),
    Tooth(
      name: "a segment is retired before it is unlinked", omitted: [.retiredBeforeUnlinked],
      operations: [.append("a", 400), .sweep]),
    Tooth(
      name: "what is unlinked is proven unneeded then", omitted: [.provenAtUnlink],
      operations: [
        .checkpoint, .append("a", 400), .checkpoint, .append("a", 300), .checkpoint,
        .syncDirectory(""),
      ], within: .sweep),
    Tooth(
      name: "a move is compared when it is applied", omitted: [.comparedMove],
      operations: [.append("b", 100), .barrier, .compaction, .barrier],
      within: .overwrite("a", at: 300, 600)),
    Tooth(
      name: "a failed sync is not believed", lies: [.hidesFailedSyncs], failsSync: true,
      operations: [.append("a", 400), .syncFile("a"), .append("b", 300), .syncFile("b")]),
  ]

  @Test(arguments: teeth) func `a left-out precaution is noticed`(_ tooth: Tooth) throws {
    let prepared = try Circumstances.prepared()
    var circumstances = prepared
    circumstances.lies = tooth.lies
    circumstances.omitted = tooth.omitted
    var found: [String] = []
    for round in 0..<TeethTests.rounds where found.isEmpty {
      let seed = Harness.seed &+ UInt64(round)
      found = try TeethTests.search(tooth, circumstances, seed)
      let without = try TeethTests.search(tooth, prepared, seed)
      #expect(without.isEmpty, "seed \(seed): \(without.first ?? "")")
    }
    print("\(tooth.name): \(found.first ?? "nothing was found")")
    #expect(!found.isEmpty, "\(tooth.name): nothing found, seed \(Harness.seed)")
  }

  /// The number of times that the search draws other states.
  private static let rounds = 6

  /// Returns the first violations that the search finds.
  private static func search(_ tooth: Tooth, _ circumstances: Circumstances, _ seed: UInt64) throws
    -> [String]
  {
    let failing: [Int?] = tooth.failsSync ? Array(0..<6) : [nil]
    for count in failing {
      var circumstances = circumstances
      circumstances.failsSyncAfter = count
      let sequence = SystematicTests.Sequence(
        operations: tooth.operations, within: tooth.within)
      let workload = try sequence.run(circumstances)
      var examination = CrashExamination(workload, SeededRandom(seed: seed))
      examination.examineAll(samples: 6)
      let violations = workload.findings + examination.violations
      if !violations.isEmpty { return violations }
    }
    return []
  }

  /// The fault shows only in the crash after a crash, with frames that the first crash left behind a gap and
  /// that the mount in between cut off.
  @Test func `frames behind a recorded cut never count`() throws {
    let prepared = try Circumstances.prepared()
    var circumstances = prepared
    circumstances.omitted = [.statedCut]
    #expect(try TeethTests.searchTwoCrashes(prepared).isEmpty, "seed \(Harness.seed)")
    #expect(try !TeethTests.searchTwoCrashes(circumstances).isEmpty, "seed \(Harness.seed)")
  }

  /// Searches for broken promises after a second session, for each of the last writes that the first one may
  /// lose.
  private static func searchTwoCrashes(_ circumstances: Circumstances) throws -> [String] {
    let first = try SystematicTests.Sequence(
      operations: [.append("a", 400), .append("b", 400), .makeDirectory("B"), .append("a", 300)]
    ).run(circumstances)
    var examination = CrashExamination(first, SeededRandom(seed: Harness.seed))
    for remains in examination.crashesLosingOne() {
      var second = circumstances
      second.store.image = remains.image
      second.tree = remains.tree
      let next = try SystematicTests.Sequence(operations: [.create("c"), .barrier]).run(second)
      var nextExamination = CrashExamination(next, SeededRandom(seed: Harness.seed))
      nextExamination.examineAll(samples: 1)
      let violations = next.findings + nextExamination.violations
      if !violations.isEmpty { return violations }
    }
    return []
  }

  // MARK: The lock around `keys`

  /// Two people change different passwords at the same time, at every point of each other's change.
  @Test func `without the lock around keys one of two changes is lost`() throws {
    #expect(try changesLost(lies: []) == 0)
    #expect(try changesLost(lies: [.ignoresLocks]) > 0)
  }

  private func changesLost(lies: Set<DiskLie>) throws -> Int {
    var random = SeededRandom(seed: 1)
    let first = SimulatedDisk(try CrashStore().image)
    try Store.open(first).addSpace(password: secret("two"), birth: CrashStore.birth)
    let image = first.image.afterPowerCut(.everything, &random)
    var lost = 0
    for call in 0..<10 {
      let disk = SimulatedDisk(image, lies: lies)
      let other = Other(disk)
      var left = call
      disk.interrupt(when: { _ in
        left -= 1
        return left < 0
      }) { other.start() }
      let isChanged =
        (try? Store.open(disk).changePassword(old: secret("one"), new: secret("uno"))) != nil
      other.join()
      let store = try Store.open(disk)
      for (password, isTold) in [("uno", isChanged), ("dos", other.isChanged)] {
        if isTold, (try? store.unlock(password: secret(password))) == nil { lost += 1 }
      }
      if lies.isEmpty { #expect(isChanged && other.isChanged) }
    }
    return lost
  }

  /// The other person, on a thread of their own.
  private final class Other: Sendable {
    private let disk: SimulatedDisk
    private let outcome = Monitor<Bool?>(nil, rank: .test)
    private let thread = Mutex<PosixThread?>(nil, rank: .test)

    init(_ disk: SimulatedDisk) { self.disk = disk }

    /// Begins the change. Returns when the change is made or waits for the lock.
    func start() {
      let begun = try? PosixThread(name: "other") {
        let isChanged =
          (try? Store.open(self.disk).changePassword(old: secret("two"), new: secret("dos"))) != nil
        self.outcome.withLock { $0 = isChanged }
      }
      thread.withLock { $0 = begun }
      _ = eventually { outcome.withLock { $0 != nil } || disk.hasWaiters }
    }

    func join() {
      if thread.withLock({ $0 == nil }) { start() }
      thread.withLock { $0 }?.join()
    }

    /// True if the change was reported as made.
    var isChanged: Bool { outcome.withLock { $0 } == true }
  }
}
