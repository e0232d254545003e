import AlbumCheck
import AlbumTestSupport
import Testing

@testable import AlbumStore

/// A case from practice: 20 files are written and synced, the daemon is killed, a copying tool moves the
/// store, and one segment is lost. The loss costs the files with content in that segment. A check calls it
/// damage and names them. A session that writes to the store and compacts it does not lose the others. The
/// store is mounted in the same start of the machine, and after another.
@Suite struct LostSegmentTests {
  @Test(arguments: Boot.allCases)
  func `one lost segment of a killed store costs its own files`(_ boot: Boot) throws {
    var random = SeededRandom(seed: Harness.seed)
    let faults = try LostSegmentTests.faults(try Circumstances.prepared(), boot, &random)
    var tally = CopyTally("one store that was killed", 0)
    tally.add(1, faults)
    tally.report()
  }

  static func faults(
    _ prepared: Circumstances, _ boot: Boot, _ random: inout SeededRandom
  ) throws -> [Fault] {
    var life = CopyLife(prepared)
    let names = (1...20).map { "file \($0)" }
    let operations = names.flatMap {
      [Operation.write($0, Int.random(in: 3000...7000, using: &random)), .barrier]
    }
    try life.live(operations, end: .kill, &random)
    let end = life.chronicle.end
    var copy = StoreCopy()
    CopyPass(end...end).run(life.chronicle, into: &copy, &random)
    let examination = try #require(
      LossExamination(
        copy, life.keys, life.timeline, boot: boot.identity(beside: life.boot(at: end), &random),
        isSameStart: boot == .same))
    #expect(life.findings.isEmpty && Set(names).isSubset(of: examination.view.entries.keys))
    #expect(examination.segments.count > 5)
    return examination.segments.flatMap { lose($0, examination, life.now, &random) }
  }

  private static func lose(
    _ segment: String, _ examination: LossExamination, _ now: Int64,
    _ random: inout SeededRandom
  ) -> [Fault] {
    let affected = examination.affected(by: segment)
    if affected.isEmpty { return [] }
    let hurt = examination.without(segment)
    let seen = examination.look(hurt)
    var faults =
      examination.faults(seen, without: segment)
      + examination.writingFaults(without: segment, seen, &random)
    // Only for the newest segment nobody can say that it existed when the store was copied. The check still
    // names each file.
    let isNewest = segment == examination.newestSegment
    let isNamed = affected.allSatisfy { path in seen.findings.contains { $0.path == path } }
    if !seen.isCheckDamaged, !(isNewest && isNamed) {
      faults.append(Fault("no damage", "\(seen.findings)"))
    }
    for times in StoreCopy.Times.allCases {
      let other = examination.look(hurt.with(times, now: now, &random))
      if let text = other.difference(from: seen) { faults.append(Fault("times \(times)", text)) }
    }
    return faults.map {
      Fault("section 1: \($0.kind)", "\($0.text) (\(segment) with content of \(affected) lost)")
    }
  }
}
