import AlbumFormat
import AlbumTestSupport
import Glibc
import Posix
import Testing

@testable import AlbumStore

// Copies of a store that is being written. Sessions run on a disk that records every call. Tools copy the
// disk file by file, each at an instant of its own, in one run or in two. Stores and copies lose a segment.
// The tests compare what a mount shows and what a check reports with the timeline of the space (`Timeline`),
// which knows nothing of how recovery works.
//
// 1. After two runs of rsync, of which the second takes less than the grace time, everything that was closed
//    before the first began is there, and nothing counts as damaged.
// 2. The same holds after one run that takes less than the grace time.
// 3. A lost segment costs the files that have content in it, and nothing else.
// 4. A session that writes to such a store does not remove content that is not shown.
// 5. Times of files decide nothing, whatever happens to them.
// 6. Two timelines of one store never mix: `ForkTests`.
// 7. A repair makes a store of what is there: `RepairExamination`.
//
// The number of states is ALBUMFS_COPY_STATES, else a quarter of ALBUMFS_CRASH_STATES, else 6,000; with
// ALBUMFS_LONG_TESTS a million. ALBUMFS_CRASH_SEED repeats a run, except for random names and keys.

@Suite struct CopyTests {
  static let shards = 2

  @Test(arguments: 0..<shards)
  func `copies hold what was closed before`(_ shard: Int) throws {
    var tally = CopyTally("copies", shard)
    let prepared = try Circumstances.prepared()
    while tally.wants(5) {
      var random = tally.next()
      let life = try CopyLife.random(prepared, &random)
      tally.add(life.findings)
      var examination = CopyExamination(life, SeededRandom(seed: random.next()))
      for _ in 0..<12 {
        examination.examineTwoPasses()
        examination.examineOnePass()
      }
      for _ in 0..<4 { examination.examineKilled() }
      tally.add(examination.states, examination.faults)
    }
    tally.report()
  }

  @Test(arguments: 0..<shards)
  func `a lost segment costs its own files alone`(_ shard: Int) throws {
    var tally = CopyTally("lost segments", shard)
    let prepared = try Circumstances.prepared()
    while tally.wants(4) {
      var random = tally.next()
      let life = try CopyLife.random(prepared, &random)
      tally.add(life.findings)
      let content = life.contentSegments()
      for _ in 0..<4 {
        let (copy, origin) = CopyTests.store(of: life, &random)
        let (states, faults) = CopyTests.lose(copy, life, origin, content: content, &random)
        tally.add(states, faults)
      }
    }
    tally.report()
  }

  /// Returns a store that was killed or unmounted, or a copy.
  static func store(of life: CopyLife, _ random: inout SeededRandom) -> (StoreCopy, String) {
    let position = Int.random(in: 0...life.chronicle.end, using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return (life.killed(at: position), "killed at \(position)")
    case 1:
      let rest = life.rests.randomElement(using: &random)
      return (life.killed(at: rest ?? life.chronicle.end), "at rest")
    default: break
    }
    var copy = StoreCopy()
    let first = life.randomPass(from: 0, &random)
    first.run(life.chronicle, into: &copy, &random)
    if Bool.random(using: &random) { return (copy, "copied: \(first)") }
    var second = life.randomPass(from: first.window.upperBound, &random)
    second.deletes = Bool.random(using: &random)
    second.run(life.chronicle, into: &copy, &random)
    return (copy, "copied: \(first), \(second)")
  }

  /// Loses two of the segments in turn: one that held content according to `content`, and one that did not.
  static func lose(
    _ copy: StoreCopy, _ life: CopyLife, _ origin: String, content: Set<String>,
    _ random: inout SeededRandom, omitting omitted: Set<Precaution> = []
  ) -> (Int, [Fault]) {
    let boot = BootIdentity.any(beside: life.boot(at: life.chronicle.end), &random)
    guard
      let examination = LossExamination(
        copy, life.keys, life.timeline, boot: boot, omitting: omitted)
    else {
      return (1, [])
    }
    // If a copy lacks something already, nobody can say what a loss adds.
    if !examination.seen.findings.isEmpty { return (1, []) }
    var states = 1
    var faults: [Fault] = []
    for segment in examination.segments.shuffled(using: &random).prefix(2) {
      let hurtCopy = examination.without(segment)
      let hurt = examination.look(hurtCopy)
      var found = examination.faults(hurt, without: segment).map { Fault("P3 \($0.kind)", $0.text) }
      let times = StoreCopy.Times.allCases.dropFirst().randomElement(using: &random)!
      let other = examination.look(hurtCopy.with(times, now: life.now, &random))
      if let text = other.difference(from: hurt) {
        found.append(Fault("times of a store with a loss, \(times)", text))
      }
      found += examination.writingFaults(without: segment, hurt, &random)
        .map { Fault("P4 \($0.kind)", $0.text) }
      found += RepairExamination.faults(hurtCopy, life.keys, boot: boot, before: hurt)
        .map { Fault("P7 \($0.kind)", $0.text) }
      faults += found.map { Fault($0.kind, "\($0.text) (\(origin), \(segment) lost)") }
      Explanation.explain(hurtCopy, life, found, "\(origin) without \(segment)", hurt)
      states += 4
    }
    for segment in examination.former(content).shuffled(using: &random).prefix(1) {
      let hurt = examination.look(examination.without(segment))
      faults += examination.faults(hurt, without: segment).map {
        Fault("former content lost: \($0.kind)", "\($0.text) (\(origin), \(segment) lost)")
      }
      states += 1
    }
    for segment in examination.others(content).shuffled(using: &random).prefix(1) {
      let found = examination.otherFaults(without: segment, &random).map {
        Fault("journal lost: \($0.kind)", "\($0.text) (\(origin), \(segment) lost)")
      }
      if !found.isEmpty {
        let hurt = examination.without(segment)
        Explanation.explain(
          hurt, life, found, origin, examination.look(hurt))
      }
      faults += found
      states += 3
    }
    return (states, faults)
  }
}

/// The findings of a test of copies so far.
struct CopyTally {
  private let name: String
  private let shard: Int
  private var round = 0
  private var states = 0
  private var counts: [String: Int] = [:]
  private var examples: [String: String] = [:]

  init(_ name: String, _ shard: Int) {
    self.name = name
    self.shard = shard
  }

  static let wanted: Int =
    Harness.wantedCopies ?? (Harness.isLimited ? Harness.wantedStates / 4 : 6000)

  /// True if this shard should continue. The test examines this many tenths of all states.
  func wants(_ tenths: Int) -> Bool {
    Explanation.life != nil
      ? round == 0 : states < CopyTally.wanted * tenths / 10 / CopyTests.shards
  }

  /// The seed of the next life.
  mutating func next() -> SeededRandom {
    round = Explanation.life ?? round + 1
    return SeededRandom(seed: Harness.seed &+ UInt64(round * 16 + shard))
  }

  mutating func add(_ findings: [String]) {
    for text in findings { count(Fault("while it was lived", text)) }
  }

  mutating func add(_ states: Int, _ faults: [Fault]) {
    let before = self.states
    self.states += states
    for fault in faults { count(fault) }
    if Harness.isLong, before / 10_000 != self.states / 10_000 {
      print("\(self.states) states of \(name), shard \(shard), \(counts) until now")
      fflush(nil)
    }
  }

  private mutating func count(_ fault: Fault) {
    counts[fault.kind, default: 0] += 1
    if examples[fault.kind] == nil { examples[fault.kind] = "life \(round): \(fault.text)" }
  }

  /// Fails for each broken promise, and prints how often it was broken.
  func report() {
    var lines = ["\(states) states of \(name), \(round) lives, seed \(Harness.seed)"]
    for (kind, count) in counts.sorted(by: { $0.key < $1.key }) {
      let example = examples[kind]?.prefix(400) ?? ""
      lines.append("  \(count) times \(kind), as in \(example)")
      Issue.record(
        "\(name), shard \(shard), seed \(Harness.seed): \(count) times \(kind): \(example)")
    }
    print(lines.joined(separator: "\n"))
    fflush(nil)
    #expect(states > 0)
  }
}
