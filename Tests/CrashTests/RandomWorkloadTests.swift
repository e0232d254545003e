import AlbumTestSupport
import Testing

// Long lives: random sessions with more names than the systematic ones have. Each session ends in a crash,
// and the next session starts from one of the states that this crash can leave. So the remains of one crash
// meet the next one. The promises are the same.

@Suite struct RandomWorkloadTests {
  private static let lives = Harness.isLong ? 400 : 8
  private static let crashes = 5
  /// The number of examined states besides the one in which a life continues.
  private static let samples = 6

  @Test(arguments: 0..<2) func `life goes on after crash upon crash`(_ shard: Int) throws {
    let prepared = try Circumstances.prepared()
    var states = 0
    for life in 0..<RandomWorkloadTests.lives {
      var random = SeededRandom(seed: Harness.seed &+ UInt64(1_000_000 * (shard + 1) + life))
      var circumstances = prepared
      circumstances.boot = .random(&random)
      for crash in 0..<RandomWorkloadTests.crashes {
        let workload = try session(circumstances, &random)
        var examination = CrashExamination(workload, SeededRandom(seed: random.next()))
        for _ in 0..<RandomWorkloadTests.samples { examination.crash(&random) }
        let next = examination.crash(&random)
        states += examination.states
        let violations = workload.findings + examination.violations
        for text in violations {
          Issue.record("crash \(crash) of life \(life), seed \(Harness.seed): \(text)")
        }
        guard let next, violations.isEmpty else { break }
        circumstances.store.image = next.image
        circumstances.tree = next.tree
        circumstances.boot = next.boot
      }
    }
    print("\(states) crash states of long random workloads, seed \(Harness.seed)")
  }

  private func session(_ circumstances: Circumstances, _ random: inout SeededRandom) throws
    -> Workload
  {
    let workload = try Workload(circumstances)
    for _ in 0..<Int.random(in: 5...30, using: &random) {
      workload.perform(Operation.random(&random))
    }
    return workload
  }
}
