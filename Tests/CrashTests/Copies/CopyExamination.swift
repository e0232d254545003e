import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumStore

/// Compares copies of a life's store with its timeline.
struct CopyExamination {
  private(set) var states = 0
  private(set) var faults: [Fault] = []
  private let life: CopyLife
  private let omitted: Set<Precaution>
  private var random: SeededRandom
  /// The start of the machine in which copies are looked at.
  private var boot = BootIdentity.unknown

  init(_ life: CopyLife, _ random: SeededRandom, omitting omitted: Set<Precaution> = []) {
    self.life = life
    self.random = random
    self.omitted = omitted
  }

  private var timeline: Timeline { life.timeline }

  private mutating func add(_ found: [Fault], _ rule: String, _ circumstances: String) {
    for fault in found {
      faults.append(Fault("\(rule) \(fault.kind)", "\(fault.text) (\(circumstances))"))
    }
  }

  mutating func look(_ copy: StoreCopy) -> Sighting {
    states += 1
    return Sighting(copy, life.keys, boot: boot, omitting: omitted)
  }

  /// Chooses the start of the machine for what is looked at next.
  private mutating func restart(after position: Int) {
    boot = .any(beside: life.boot(at: position), &random)
  }

  // MARK: Two passes, and one

  /// Promise 1: the copy contains everything that was closed before the first of two runs began, and is not
  /// damaged. The second run takes less than the grace time. The first may take any time.
  mutating func examineTwoPasses() {
    var first = life.randomPass(from: 0, &random)
    var second = life.randomPass(from: first.window.upperBound, &random)
    second.deletes = Bool.random(using: &random)
    second.comparesFractions = Bool.random(using: &random)
    first.comparesFractions = second.comparesFractions
    if !life.isShort(second.window) { return }
    var copy = StoreCopy()
    var begin = first.window.lowerBound
    if Int.random(in: 0..<3, using: &random) == 0 {
      // An older copy is brought up to date.
      let older = CopyPass(Int.random(in: 0...begin, using: &random)...begin)
      older.run(life.chronicle, into: &copy, &random)
      begin = older.window.lowerBound
    }
    first.run(life.chronicle, into: &copy, &random)
    second.run(life.chronicle, into: &copy, &random)
    let rule = second.comparesFractions ? "P1" : "P1 whole seconds:"
    examine(copy, rule, from: first, to: second, since: begin)
  }

  /// Promise 2: one run that takes less than the grace time copies the same. A longer run may miss something,
  /// which a check reports.
  mutating func examineOnePass() {
    let pass = life.randomPass(from: 0, &random)
    var copy = StoreCopy()
    pass.run(life.chronicle, into: &copy, &random)
    if life.isShort(pass.window) {
      examine(copy, "P2", from: pass, to: pass)
    } else {
      examineLongPass(copy, pass)
    }
  }

  /// Examines the store itself, killed at any instant.
  mutating func examineKilled() {
    let position = Int.random(in: 0...life.chronicle.end, using: &random)
    let pass = CopyPass(position...position)
    examine(StoreCopy(of: life.chronicle, at: position), "killed", from: pass, to: pass)
  }

  private mutating func examine(
    _ copy: StoreCopy, _ rule: String, from first: CopyPass, to last: CopyPass,
    since begin: Int? = nil
  ) {
    restart(after: last.window.upperBound)
    let isSameStart = boot.isSame(as: life.boot(at: last.window.upperBound))
    let circumstances =
      (first.window == last.window ? "\(first)" : "\(first), \(last)")
      + (isSameStart ? ", same start" : "")
    let seen = look(copy)
    let since = timeline.promised(at: first.window.lowerBound)
    let until = timeline.latest(at: last.window.upperBound)
    let before = faults.count
    defer { Explanation.explain(copy, life, Array(faults[before...]), circumstances, seen) }
    if isSameStart, life.isWithinSession(first.window.lowerBound...last.window.upperBound) {
      add(seen.cutFault, rule, circumstances)
    }
    let all = (begin ?? first.window.lowerBound)...last.window.upperBound
    if life.isLeftByPowerCut(seen.findings, in: all) {
      return compareTimes(copy, seen, circumstances)
    }
    // One session writes during the copy. If sessions begin or end then, what the copy lacks may look like
    // damage, and check reports it.
    let span = first.window.lowerBound...last.window.upperBound
    if life.hasPowerCut(in: first.window) || life.hasPowerCut(in: last.window)
      || !last.deletes && life.hasPowerCut(in: span)
    {
      return compareTimes(copy, seen, circumstances)
    }
    let mayLookDamaged =
      seen.isCheckDamaged
      && (rule == "P2" && lacksEarlierSegments(copy, last) || endsBehindNewSegment(copy, last))
    if life.hasBoundary(in: last.window) || mayLookDamaged {
      if let view = seen.view {
        let errors: Set<String> = ["unreadable", "thumbnail does not open"]
        // A copy after one run shows nothing that never existed, and reports what is missing.
        let isTold = rule == "P2" && !seen.findings.isEmpty
        let found =
          isTold
          ? timeline.foreign(in: view)
          : timeline.foreign(in: view, since: since)
            + timeline.missing(
              in: view, since: since, until: until, nameless: seen.nameless)
        add(found.filter { !errors.contains($0.kind) }, rule, circumstances)
      } else if !seen.isCheckDamaged {
        add([Fault("does not mount, and check is clean", seen.refusal)], rule, circumstances)
      }
      return compareTimes(copy, seen, circumstances)
    }
    if let view = seen.view {
      add(timeline.foreign(in: view, since: since), rule, circumstances)
      add(
        timeline.missing(
          in: view, since: since, until: until, nameless: seen.nameless), rule, circumstances)
      if seen.isMountDamaged { add([Fault("mount reports damage", "")], rule, circumstances) }
    } else {
      add([Fault("does not mount", seen.refusal)], rule, circumstances)
    }
    if seen.isCheckDamaged {
      let said = seen.findings.filter { $0.severity == .damage }.map { "\($0)" }
      add(
        [Fault("check reports damage", "\(said) \(seen.checkRefusal)")], rule, circumstances)
    }
    compareTimes(copy, seen, circumstances)
    if Int.random(in: 0..<8, using: &random) == 0 { examineWriting(copy, seen, circumstances) }
  }

  /// True if a run that reads files in any order left out segments of the newest session and copied a later
  /// one. rsync reads folders in the order of their names. So this looks like damage if the copied history
  /// ends with a barrier, or if the later one lies in the same folder or in an earlier one.
  private func lacksEarlierSegments(_ copy: StoreCopy, _ pass: CopyPass) -> Bool {
    guard pass.order == .any else { return false }
    let missing = earlierSegments(missingIn: copy, pass)
    return missing.count > 1
      || missing.contains { path in
        guard let segment = life.keys.segment(at: path) else { return false }
        return copy.files.keys.contains { other in
          guard let later = life.keys.segment(at: other) else { return false }
          return later.kind == segment.kind && later.birth == segment.birth
            && later.number > segment.number
            && DiskImage.parent(other) <= DiskImage.parent(path)
        }
      }
  }

  /// The segments of the newest copied session that the store had at the end of a run, and the copy has not,
  /// though it has a later one of that kind.
  private func earlierSegments(missingIn copy: StoreCopy, _ pass: CopyPass) -> [String] {
    let all = life.chronicle.firstInstants.filter { $0.value <= pass.window.upperBound }
      .sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      .compactMap { path, _ in life.keys.segment(at: path).map { (path: path, segment: $0) } }
    let copied = all.filter { copy.files[$0.path] != nil }
    guard let newest = copied.last?.segment.birth else { return [] }
    let missing = all.filter { path, segment in
      segment.birth == newest && copy.files[path] == nil
        && life.chronicle.file(path, at: pass.window.upperBound) != nil
        && copied.contains { $0.segment.kind == segment.kind && $0.segment.number > segment.number }
    }
    return missing.map(\.path)
  }

  /// True if a run left out a segment that was begun meanwhile and copied a later one, and its journal ends
  /// with a barrier. A session that was killed after that barrier, and whose store lost the segment, leaves
  /// the same.
  private func endsBehindNewSegment(_ copy: StoreCopy, _ pass: CopyPass) -> Bool {
    let missing = earlierSegments(missingIn: copy, pass)
    if missing.isEmpty { return false }
    let isNew = missing.allSatisfy {
      (life.chronicle.firstInstants[$0] ?? 0) > pass.window.lowerBound
    }
    let journals = life.keys.numbers(.journal, among: copy.files.keys)
    guard isNew, let newest = journals.max() else { return false }
    let store = CrashStore.store(on: CopiedDisk(copy))
    let files = SegmentFiles(
      directory: store.directory, keys: life.keys, segmentSize: store.configuration.segmentSize)
    let id = SegmentID(kind: .journal, number: newest)
    guard let birth = try? files.list().own[id]?.last?.birth else { return false }
    files.use(id, birth)
    let scan = try? JournalScan(id, files: files)
    return scan?.frames.last?.frame.barrier != nil
  }

  /// Examines a copy that took longer than the grace time: everything that it shows existed, and it reports
  /// what it does not show.
  private mutating func examineLongPass(_ copy: StoreCopy, _ pass: CopyPass) {
    restart(after: pass.window.upperBound)
    let seen = look(copy)
    let since = timeline.promised(at: pass.window.lowerBound)
    let until = timeline.latest(at: pass.window.upperBound)
    guard let view = seen.view else {
      if !seen.isCheckDamaged {
        add([Fault("does not mount, and check is clean", "")], "P2 long", "\(pass)")
      }
      return
    }
    // A thumbnail from before the grace time may be missing. Then check says so.
    let foreign = timeline.foreign(in: view).filter {
      $0.kind != "thumbnail does not open" || seen.findings.isEmpty
    }
    add(foreign, "P2 long", "\(pass)")
    Explanation.explain(copy, life, foreign, "\(pass)", seen)
    let missing = timeline.missing(
      in: view, since: since, until: until, nameless: seen.nameless)
    if seen.findings.isEmpty, !isOlderInAll(copy, pass) {
      add(missing, "P2 long, not told", "\(pass)")
      Explanation.explain(copy, life, missing, "\(pass)", seen)
    }
    compareTimes(copy, seen, "\(pass)")
  }

  /// True if a run copied none of the journal segments that were the newest when it began, or came later. The
  /// copy is then the store as it was before, and nothing in it shows that.
  private func isOlderInAll(_ copy: StoreCopy, _ pass: CopyPass) -> Bool {
    let journals = life.chronicle.firstInstants.filter { path, first in
      first <= pass.window.lowerBound && life.keys.segment(at: path)?.kind == .journal
    }
    let newest = journals.keys.compactMap { life.keys.segment(at: $0)?.number }.max()
    guard let newest else { return false }
    let copied = life.keys.numbers(.journal, among: copy.files.keys).max()
    return copied.map { $0 < newest } ?? true
  }

  // MARK: Times

  /// File times decide nothing: whatever they are, the tree, its contents and the findings are the same.
  mutating func compareTimes(_ copy: StoreCopy, _ seen: Sighting, _ circumstances: String) {
    let times = StoreCopy.Times.allCases.dropFirst().randomElement(using: &random)!
    let other = look(copy.with(times, now: life.now, &random))
    if let text = other.difference(from: seen) {
      add([Fault("\(times)", text)], "times", circumstances)
    }
  }

  // MARK: Life goes on

  /// Examines a copy that takes the place of the store. What it showed stays, even after a kill and a long
  /// time, and what a session writes is there.
  private mutating func examineWriting(
    _ copy: StoreCopy, _ seen: Sighting, _ circumstances: String
  ) {
    guard let view = seen.view else { return }
    var session = WritingSession(copy, life.keys, boot: boot, omitting: omitted)
    session.run(&random)
    if let failure = session.failure {
      add([Fault("cannot be written to", failure)], "writing", circumstances)
      return
    }
    if session.wasReadOnly { return }
    let after = look(session.copy)
    guard let later = after.view else {
      add([Fault("does not mount any more", after.refusal)], "writing", circumstances)
      return
    }
    add(session.faults(in: later, after: view), "writing", circumstances)
    if after.isCheckDamaged, !seen.isCheckDamaged {
      add([Fault("check reports damage", "\(after.findings)")], "writing", circumstances)
    }
  }
}
