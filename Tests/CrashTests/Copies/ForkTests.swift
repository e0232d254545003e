import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// Two timelines of one store. A copy is mounted and lives a life of its own. Then two runs of rsync refresh
// it from the source, or a person merges both by hand. No file shows bytes of the other timeline. A copy that
// was refreshed with `--delete` equals the source. Any other mixture is recognised: the mount or a check
// reports it, and a session that writes removes nothing of the other timeline.

@Suite struct ForkTests {
  @Test(arguments: 0..<CopyTests.shards)
  func `two timelines of a store never mix`(_ shard: Int) throws {
    var tally = CopyTally("two timelines", shard)
    let prepared = try Circumstances.prepared()
    while tally.wants(1) {
      var random = tally.next()
      let fork = try Fork(prepared, &random)
      tally.add(fork.source.findings + fork.copy.findings)
      var examination = ForkExamination(fork, SeededRandom(seed: random.next()))
      for _ in 0..<3 {
        examination.refresh(deletes: true)
        examination.refresh(deletes: false)
        examination.mixByHand()
        // About one of 10,000 such mixtures cannot be told from a whole store (Decisions), so a normal run
        // would fail by chance.
        if Harness.isLong { examination.interrupt() }
      }
      tally.add(examination.states, examination.faults)
    }
    tally.report()
  }
}

/// A source, and a copy of it that was changed separately.
struct Fork {
  private(set) var source: CopyLife
  private(set) var copy: CopyLife
  /// The instant of the disk at which the copy was made.
  let position: Int

  init(_ prepared: Circumstances, _ random: inout SeededRandom) throws {
    source = try CopyLife.random(prepared, &random)
    position = Int.random(in: 0...source.chronicle.end, using: &random)
    copy = try source.forked(at: position)
    try copy.liveOn(sessions: Int.random(in: 1...2, using: &random), &random)
  }
}

/// Compares mixtures of two timelines with both.
struct ForkExamination {
  private(set) var states = 0
  private(set) var faults: [Fault] = []
  private let fork: Fork
  private let omitted: Set<Precaution>
  private var random: SeededRandom
  /// The start of the machine in which the last mixture was looked at.
  private var boot = BootIdentity.unknown

  init(_ fork: Fork, _ random: SeededRandom, omitting omitted: Set<Precaution> = []) {
    self.fork = fork
    self.random = random
    self.omitted = omitted
  }

  private mutating func add(_ found: [Fault], _ circumstances: String) {
    for fault in found {
      faults.append(Fault("forks: \(fault.kind)", "\(fault.text) (\(circumstances))"))
    }
  }

  private mutating func look(_ copy: StoreCopy) -> Sighting {
    states += 1
    boot = .any(
      beside: (Bool.random(using: &random) ? fork.source : fork.copy).lastBoot, &random)
    return Sighting(copy, fork.source.keys, boot: boot, omitting: omitted)
  }

  /// Refreshes the copy by two runs while the source continues to change.
  mutating func refresh(deletes: Bool) {
    let source = fork.source
    var first = source.randomPass(from: fork.position, &random)
    var second = source.randomPass(from: first.window.upperBound, &random)
    if !source.isShort(second.window) { return }
    (first.deletes, second.deletes) = (deletes, deletes)
    // Another promise covers writes within one second.
    (first.comparesFractions, second.comparesFractions) = (true, true)
    var mixed = StoreCopy(of: fork.copy.chronicle, at: fork.copy.chronicle.end)
    first.run(source.chronicle, into: &mixed, &random)
    second.run(source.chronicle, into: &mixed, &random)
    let circumstances = "\(first), \(second)"
    if deletes {
      examineRefreshed(mixed, first, second, circumstances)
    } else {
      examineMixture(mixed, circumstances)
    }
  }

  /// Examines it like any other copy of the source.
  private mutating func examineRefreshed(
    _ copy: StoreCopy, _ first: CopyPass, _ second: CopyPass, _ circumstances: String
  ) {
    let timeline = fork.source.timeline
    let seen = look(copy)
    guard let view = seen.view else {
      return add([Fault("refreshed with --delete does not mount", seen.refusal)], circumstances)
    }
    let since = timeline.promised(at: first.window.lowerBound)
    let until = timeline.latest(at: second.window.upperBound)
    if fork.source.hasPowerCut(in: first.window) || fork.source.hasPowerCut(in: second.window) {
      return
    }
    let errors: Set<String> = ["unreadable", "thumbnail does not open"]
    let hasBoundary = fork.source.hasBoundary(in: second.window)
    let found =
      (timeline.foreign(in: view, since: since)
      + timeline.missing(in: view, since: since, until: until, nameless: seen.nameless))
      .filter { !hasBoundary || !errors.contains($0.kind) }
    var faults = found.map { Fault("refreshed with --delete, \($0.kind)", $0.text) }
    let isLeft = fork.source.isLeftByPowerCut(
      seen.findings, in: fork.position...second.window.upperBound)
    if seen.isCheckDamaged, !hasBoundary, !isLeft {
      faults.append(Fault("refreshed with --delete, check reports damage", "\(seen.findings)"))
    }
    add(faults, circumstances)
    Explanation.explain(copy, fork.source, faults, circumstances, seen)
  }

  /// Mixes the files of both; for each name it takes the file of one or the other.
  mutating func mixByHand() {
    let (one, other) = (fork.source.chronicle, fork.copy.chronicle)
    var mixed = StoreCopy(of: one, at: one.end)
    let copy = StoreCopy(of: other, at: other.end)
    mixed.directories.formUnion(copy.directories)
    for path in copy.files.keys.sorted() {
      if mixed.files[path] == nil || Bool.random(using: &random) {
        mixed.files[path] = copy.files[path]
      }
    }
    examineMixture(mixed, "by hand")
  }

  /// Refreshes the copy by a run of a tool that is interrupted: each file is as the run leaves it, or as it
  /// was before. The run has done different shares of the kinds of segments, and has not come to some journal
  /// segments in a row.
  mutating func interrupt() {
    let keys = fork.source.keys
    var pass = fork.source.randomPass(from: fork.position, &random)
    (pass.deletes, pass.comparesFractions) = (true, true)
    let before = StoreCopy(of: fork.copy.chronicle, at: fork.copy.chronicle.end)
    var mixed = before
    pass.run(fork.source.chronicle, into: &mixed, &random)
    var shares: [SegmentKind: Double] = [:]
    for kind in SegmentKind.allCases { shares[kind] = Double.random(in: 0.1...0.9, using: &random) }
    let journals = keys.numbers(.journal, among: mixed.files.keys)
    let first = journals.randomElement(using: &random)?.rawValue ?? 1
    let hole = first..<first + UInt32.random(in: 0...5, using: &random)
    for path in Set(before.files.keys).union(mixed.files.keys).sorted() {
      let segment = keys.segment(at: path)
      let isUnsent =
        segment.map { $0.kind == .journal && hole.contains($0.number.rawValue) }
        ?? false
      let share = segment.flatMap { shares[$0.kind] } ?? 0.5
      if isUnsent || Double.random(in: 0..<1, using: &random) > share {
        mixed.files[path] = before.files[path]
      }
    }
    examineMixture(mixed, "interrupted: \(pass)")
  }

  /// With `repairs`, a repair has to keep every file that the mount shows.
  private mutating func examineMixture(
    _ mixed: StoreCopy, _ circumstances: String, repairs: Bool = true
  ) {
    let seen = look(mixed)
    // The copy alone writes: to a name of its own, or to a name that both use.
    let (ofCopy, ofSource) = (
      strangers(of: fork.copy, in: mixed, to: fork.source),
      strangers(of: fork.source, in: mixed, to: fork.copy)
    )
    if !ofCopy.isEmpty, !ofSource.isEmpty, seen.view != nil, !seen.isMountDamaged,
      seen.findings.isEmpty
    {
      let fault = Fault("a mixture that nobody speaks of", "\(ofCopy) and \(ofSource)")
      add([fault], circumstances)
      Explanation.explain(mixed, fork.source, [fault], circumstances, seen)
    }
    guard let view = seen.view else {
      if !seen.isCheckDamaged {
        add([Fault("does not mount, and check is clean", seen.refusal)], circumstances)
      }
      return
    }
    let found = foreign(in: view)
    add(found, circumstances)
    Explanation.explain(mixed, fork.source, found, circumstances, seen)
    // The shown timeline continues, and may remove its own content.
    let isOfSource = fork.source.timeline.foreign(in: view).isEmpty
    let isOfCopy = fork.copy.timeline.foreign(in: view).isEmpty
    if repairs, Bool.random(using: &random) {
      states += 1
      let lost = RepairExamination.faults(mixed, fork.source.keys, boot: boot, before: seen)
      add(lost, circumstances)
      Explanation.explain(mixed, fork.source, lost, circumstances, seen)
    }
    if isOfSource != isOfCopy, Bool.random(using: &random) {
      examineWriting(mixed, isOfSource ? ofCopy : ofSource, circumstances, seen)
    }
  }

  /// Returns the segments that a timeline never had and that reveal another timeline. Segments of the
  /// reserve, and checkpoints that no journal names, reveal none. Neither does a data segment of a session
  /// whose journal this timeline has in full, because a killed session leaves segments that no frame names.
  /// If the session continued in `other`, and the mixture lacks that content, this looks like the result of a
  /// power cut.
  private func strangers(
    of other: CopyLife, in mixed: StoreCopy, to timeline: CopyLife
  ) -> [String] {
    let keys = fork.source.keys
    let end = StoreCopy(of: timeline.chronicle, at: timeline.chronicle.end)
    let otherEnd = StoreCopy(of: other.chronicle, at: other.chronicle.end)
    let lacking = Set(
      otherEnd.files.compactMap { path, file in
        mixed.files[path]?.bytes == file.bytes ? nil : keys.segment(at: path)
      }.filter { $0.kind == .data }.map(\.birth))
    let journals = mixed.files.filter { path, file in
      guard let segment = keys.segment(at: path), segment.kind == .journal,
        let known = end.files[path]
      else { return false }
      return known.bytes == file.bytes || lacking.contains(segment.birth)
    }
    let told = Set(journals.keys.compactMap { keys.segment(at: $0)?.birth })
    return mixed.files.keys.filter { path in
      guard let segment = keys.segment(at: path), !timeline.chronicle.knows(path) else {
        return false
      }
      return segment.kind == .journal || segment.kind == .data && !told.contains(segment.birth)
    }
  }

  /// Returns the content that belongs to neither timeline.
  private func foreign(in view: Snapshot) -> [Fault] {
    let isOfSource = fork.source.timeline.foreign(in: view)
    let isOfCopy = Dictionary(
      fork.copy.timeline.foreign(in: view).map { ($0.text, $0) }, uniquingKeysWith: { $1 })
    return isOfSource.filter { isOfCopy[$0.text] != nil && $0.kind != "thumbnail does not open" }
  }

  private mutating func examineWriting(
    _ mixed: StoreCopy, _ strangers: [String], _ circumstances: String, _ seen: Sighting
  ) {
    var session = WritingSession(mixed, fork.source.keys, boot: boot, omitting: omitted)
    session.run(&random)
    // A mixture may refuse a session that writes.
    let gone = strangers.filter { path in
      let (old, new) = (mixed.files[path]?.bytes ?? [], session.copy.files[path]?.bytes)
      return !(new?.starts(with: old) ?? false)
    }
    if let path = gone.first {
      let kind = fork.source.keys.segment(at: path).map { "\($0.kind)" } ?? "other"
      let fault = Fault("something of the other timeline is removed", "\(kind) \(path)")
      add([fault], circumstances)
      Explanation.explain(mixed, fork.source, [fault], circumstances, seen)
    }
  }
}
