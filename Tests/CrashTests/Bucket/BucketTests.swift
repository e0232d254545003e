import AlbumStore
import AlbumTestSupport
import Testing

// A store in an object storage. Random sessions write to it through the staging of one machine, are killed,
// and go on. Calls to the storage fail, arrive late or twice, or lose their replies. After every change of
// the bucket, another machine that finds it so and mounts it must see a state that was, and everything that
// was acknowledged as sent before. `TeethTests` says how the harness shows that it would notice.

@Suite struct BucketTests {
  private static let lives = Harness.isLong ? 200 : 6

  @Test(arguments: 0..<2) func `another machine sees at each moment a state that was`(_ shard: Int)
    throws
  {
    var states = 0
    for life in 0..<BucketTests.lives {
      let seed = Harness.seed &+ UInt64(1_000_000 * (shard + 1) + life)
      let (examined, violations) = try BucketTests.live(seed)
      states += examined
      for text in violations { Issue.record("life \(life), seed \(Harness.seed): \(text)") }
    }
    print("\(states) states of a bucket, seed \(Harness.seed)")
  }

  /// What each precaution is for: without it, another machine finds a state that breaks a promise.
  @Test(arguments: [Precaution.dataSentFirst, .announcedThere, .retiredThere])
  func `a left-out precaution is noticed in a bucket`(_ precaution: Precaution) throws {
    for round in 0..<UInt64(40) {
      let seed = Harness.seed &+ round
      let (_, violations) = try BucketTests.live(seed, omitting: [precaution])
      if let first = violations.first { return print("\(precaution): \(first)") }
    }
    Issue.record("nothing was found without \(precaution), seed \(Harness.seed)")
  }

  /// One life: some sessions and the examination of all states of the bucket.
  private static func live(
    _ seed: UInt64, omitting omitted: Set<Precaution> = []
  ) throws -> (Int, [String]) {
    var random = SeededRandom(seed: seed)
    var circumstances = try Circumstances.prepared()
    circumstances.omitted = omitted
    circumstances.boot = .random(&random)
    let bucket = try Bucket(circumstances.store.image.bucketFiles(), seed: random.next())
    let workload = try Workload(circumstances, bucket: bucket)
    let first = bucket.position
    for _ in 0..<Int.random(in: 10...40, using: &random) {
      let sends = Int.random(in: 0..<5, using: &random) == 0
      workload.perform(sends ? .send : Operation.random(&random))
    }
    workload.perform(.send)
    var examination = CrashExamination(workload, SeededRandom(seed: random.next()))
    for position in first...bucket.position {
      try examination.examine(bucket: bucket.store.recording[position - 1], at: position)
    }
    return (examination.states, workload.findings + examination.violations)
  }
}
