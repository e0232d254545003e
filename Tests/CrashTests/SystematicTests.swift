import AlbumTestSupport
import Glibc
import Posix
import Testing

// Crashes, systematically, in the manner of ACE and CrashMonkey (OSDI 2018), whose authors found that
// nearly all crash bugs of file systems show with three operations or fewer. A workload runs on a disk
// that records every call; from each prefix of the recording the states are built that a crash then
// may leave, and each is mounted. Promised (Design.md): it mounts and reports no damage; it is
// what the space was at some instant, names, contents, attributes, links and thumbnails, no older
// than the last fsync or barrier that returned, and where the process was killed no older than the
// last close; every record opens; and it can be written to.
//
// All sequences of one and two operations, and all pairs of which one comes within the other's sync,
// are run always; of those of three as many as 20,000 states take, or ALBUMFS_CRASH_STATES, and with
// ALBUMFS_LONG_TESTS all: more than a million states.

@Suite struct SystematicTests {
  private static let shards = 2
  private static let progress = Mutex(Progress(), rank: .test)

  private struct Progress {
    var states = 0
    var workloads = 0
    var violations = 0
    var next = 0
    var shardsDone = 0
  }

  @Test(arguments: 0..<shards)
  func `each state that a crash leaves is an instant of history`(_ shard: Int) throws {
    let circumstances = try Circumstances.prepared()
    let all = SystematicTests.workloads()
    while let place = next(all) {
      let workload = try all.sequences[place].run(circumstances)
      var examination = CrashExamination(
        workload, SeededRandom(seed: Harness.seed &+ UInt64(place)))
      examination.examineAll(samples: Harness.isLong ? 3 : 1)
      let violations = workload.findings + examination.violations
      for text in violations.prefix(3) {
        Issue.record("\(all.sequences[place]), seed \(Harness.seed): \(text)")
      }
      SystematicTests.progress.withLock { progress in
        progress.states += examination.states
        progress.workloads += 1
        progress.violations += violations.count
        if Harness.isLong && progress.workloads % 500 == 0 {
          print("\(progress.states) states, \(progress.violations) violations until now")
          fflush(nil)
        }
      }
    }
    report(all.sequences.count)
  }

  /// The next sequence: all of those that are always run, unless a number was asked for, then more
  /// until there were enough states.
  private func next(_ all: (sequences: [Sequence], always: Int)) -> Int? {
    SystematicTests.progress.withLock { progress in
      let isFree = progress.next >= all.always || Harness.isLimited
      let isEnough = isFree && progress.states >= Harness.wantedStates
      if isEnough || progress.next == all.sequences.count { return nil }
      defer { progress.next += 1 }
      return progress.next
    }
  }

  private func report(_ count: Int) {
    let progress = SystematicTests.progress.withLock { progress in
      progress.shardsDone += 1
      return progress
    }
    if progress.shardsDone < SystematicTests.shards { return }
    print(
      "\(progress.states) crash states of \(progress.workloads) workloads (of \(count)), "
        + "\(progress.violations) violations, seed \(Harness.seed)")
    #expect(progress.states >= min(Harness.wantedStates, 20_000))
  }

  /// A sequence, or two operations of which one comes within the other.
  struct Sequence: CustomStringConvertible, Sendable {
    var operations: [Operation]
    /// Comes within the first sync of a file that the last operation but one waits for.
    var within: Operation?

    var description: String {
      let names = operations.map { "\($0)" }.joined(separator: ", ")
      return within.map { "\(names), and within the last but one's sync \($0)" } ?? names
    }

    func run(_ circumstances: Circumstances) throws -> Workload {
      let workload = try Workload(circumstances)
      for (place, operation) in operations.enumerated() {
        if let within, place == operations.count - 2 {
          workload.perform(operation, interruptedBy: within)
        } else {
          workload.perform(operation)
        }
      }
      return workload
    }
  }

  /// All of one and two operations, which are always run, and then those of three in an order of the
  /// seed's.
  static func workloads() -> (sequences: [Sequence], always: Int) {
    let all = Operation.all
    var result = all.map { Sequence(operations: [$0]) }
    for first in all { result += all.map { Sequence(operations: [first, $0]) } }
    for outer in Operation.interrupted {
      result += Operation.interrupting.map {
        // The first begins the journal and syncs for that; what the second writes waits for `outer`,
        // but compaction has a barrier of its own first, and is to be interrupted after that.
        let second: Operation = outer == .compaction ? .barrier : .append("a", 300)
        return Sequence(
          operations: [.append("a", 400), second, outer, .syncDirectory("")], within: $0)
      }
    }
    result += Operation.besideCheckpoint.map {
      Sequence(
        operations: [.checkpoint, .append("a", 400), .checkpoint, .checkpoint, .syncDirectory("")],
        within: $0)
    }
    var triples: [Sequence] = []
    for first in all {
      for second in all { triples += all.map { Sequence(operations: [first, second, $0]) } }
    }
    var random = SeededRandom(seed: Harness.seed)
    triples.shuffle(using: &random)
    return (result + triples, result.count)
  }
}

/// How the tests of this target were called.
enum Harness {
  /// With ALBUMFS_CRASH_SEED a failed run is done again, but for the store's random names and keys.
  static let seed: UInt64 = variable("ALBUMFS_CRASH_SEED") ?? UInt64.random(in: 0...UInt64.max)
  static let isLong = unsafe getenv("ALBUMFS_LONG_TESTS") != nil
  static let isLimited = unsafe getenv("ALBUMFS_CRASH_STATES") != nil
  static let wantedStates =
    variable("ALBUMFS_CRASH_STATES").map { Int($0) } ?? (isLong ? .max : 20_000)

  /// How many states of copies are looked at; nil: as many as `CopyTally` says.
  static let wantedCopies =
    variable("ALBUMFS_COPY_STATES").map { Int($0) } ?? (isLong ? 1_000_000 : nil)

  private static func variable(_ name: String) -> UInt64? {
    guard let text = unsafe getenv(name) else { return nil }
    return unsafe UInt64(String(cString: text))
  }
}
