import AlbumTestSupport
import Glibc
import Posix
import Testing

// Systematic crashes in the manner of ACE and CrashMonkey (OSDI 2018). Their authors found that nearly all
// crash bugs of file systems show with three operations or fewer. A workload runs on a disk that records
// every call. From each prefix of the recording, the tests build the states that a crash may leave, and mount
// each. The promises (Design.md): the space mounts and reports no damage. It equals what it was at some
// instant, with names, contents, attributes, links and thumbnails. That instant is no older than the last
// fsync or barrier that returned and, if the process was killed, no older than the last close. Every record
// decrypts. The space can be written to.
//
// The tests always run all sequences of one and two operations, and all pairs of which one comes within the
// other's sync. Of the sequences of three they run as many as 20,000 states take, or ALBUMFS_CRASH_STATES;
// with ALBUMFS_LONG_TESTS all, which are more than a million states.

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
      var random = SeededRandom(seed: Harness.seed &+ UInt64(place))
      var circumstances = circumstances
      circumstances.boot = .random(&random)
      let workload = try all.sequences[place].run(circumstances)
      var examination = CrashExamination(workload, random)
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

  /// A photo was removed while a program had it open, and the process was killed. The next session keeps
  /// neither the photo nor its thumbnail, and removes their segment. A power cut then leaves the inodes of both
  /// in the catalog. That their content is gone does not show that the store is a copy.
  @Test(arguments: 0..<4)
  func `a thumbnail that goes with its photo does not count as missing`(_ number: Int) throws {
    let sequence = Sequence(operations: [
      .write("a", 1500), .write("b", 900), .leaveOpen("A/Photo/x", 503), .unlink("A/Photo/x"),
      .write("c", 2952), .kill, .sweep, .create(".d/b"), .write("A/Photo/y", 1614),
    ])
    var random = SeededRandom(seed: Harness.seed &+ UInt64(number))
    var circumstances = try Circumstances.prepared()
    circumstances.boot = .random(&random)
    let workload = try sequence.run(circumstances)
    var examination = CrashExamination(workload, random)
    examination.examineAll(samples: 4)
    for text in workload.findings + examination.violations {
      Issue.record("seed \(Harness.seed): \(text)")
    }
  }

  /// Returns the next sequence: all that always run, unless ALBUMFS_CRASH_STATES is set, then more until
  /// there are enough states.
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

  /// A sequence of operations, or two of which one comes within the other.
  struct Sequence: CustomStringConvertible, Sendable {
    var operations: [Operation]
    /// The operation that comes within the first sync of a file for which the last operation but one waits.
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

  /// Returns all sequences of one and two operations, which always run, and then those of three in an order
  /// that the seed decides.
  static func workloads() -> (sequences: [Sequence], always: Int) {
    let all = Operation.all
    var result = all.map { Sequence(operations: [$0]) }
    for first in all { result += all.map { Sequence(operations: [first, $0]) } }
    for outer in Operation.interrupted {
      result += Operation.interrupting.map {
        // The first operation begins the journal and syncs for that. The writes of the second wait for
        // `outer`. Compaction has a barrier of its own first and is to be interrupted after that.
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

/// The settings of a run.
enum Harness {
  /// ALBUMFS_CRASH_SEED repeats a failed run, except for the store's random names and keys.
  static let seed: UInt64 = variable("ALBUMFS_CRASH_SEED") ?? SeededRandom().seed
  static let isLong = unsafe getenv("ALBUMFS_LONG_TESTS") != nil
  static let isLimited = unsafe getenv("ALBUMFS_CRASH_STATES") != nil
  static let wantedStates =
    variable("ALBUMFS_CRASH_STATES").map { Int($0) } ?? (isLong ? .max : 20_000)

  /// The number of states of copies to examine; nil: as many as `CopyTally` says.
  static let wantedCopies =
    variable("ALBUMFS_COPY_STATES").map { Int($0) } ?? (isLong ? 1_000_000 : nil)

  private static func variable(_ name: String) -> UInt64? {
    guard let text = unsafe getenv(name) else { return nil }
    return unsafe UInt64(String(cString: text))
  }
}
