import AlbumTestSupport
import Testing

@testable import AlbumStore

/// As it was seen: 20 files written and synced, the daemon killed, the store moved by a copying tool, one
/// segment lost. It costs the files that have content in it, a check calls it damage and names them, and
/// who writes to the store and compacts it does not lose the others.
@Suite struct LostSegmentTests {
  @Test func `one lost segment of a killed store costs its own files`() throws {
    var random = SeededRandom(seed: Harness.seed)
    var life = CopyLife(try Circumstances.prepared())
    let names = (1...20).map { "file \($0)" }
    let operations = names.flatMap {
      [Operation.write($0, Int.random(in: 3000...7000, using: &random)), .barrier]
    }
    try life.live(operations, end: .kill, &random)
    #expect(life.findings.isEmpty)
    let end = life.chronicle.end
    var copy = StoreCopy()
    CopyPass(end...end).run(life.chronicle, into: &copy, &random)
    let examination = try #require(LossExamination(copy, life.keys, life.timeline))
    #expect(Set(names).isSubset(of: examination.view.entries.keys))
    #expect(examination.segments.count > 5)
    for segment in examination.segments { try lose(segment, examination, life, &random) }
  }

  private func lose(
    _ segment: String, _ examination: LossExamination, _ life: CopyLife,
    _ random: inout SeededRandom
  ) throws {
    let affected = examination.affected(by: segment)
    if affected.isEmpty { return }
    let circumstances = "\(segment), with content of \(affected), seed \(Harness.seed)"
    let hurt = examination.without(segment)
    let seen = Sighting(hurt, life.keys)
    let faults =
      examination.faults(seen, without: segment)
      + examination.writingFaults(without: segment, seen, &random)
    #expect(faults.isEmpty, "\(circumstances): \(faults)")
    #expect(seen.isCheckDamaged, "\(circumstances): the check says \(seen.findings)")
    for times in StoreCopy.Times.allCases {
      let other = Sighting(hurt.with(times, now: life.now, &random), life.keys)
      let difference = other.difference(from: seen)
      #expect(difference == nil, "\(circumstances), times \(times): \(difference ?? "")")
    }
  }
}
