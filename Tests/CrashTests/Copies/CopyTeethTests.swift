import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// Tests of the model of copies. The model reports each view that breaks a promise in one place. With a rule
// of the design left out, some state breaks a promise.

@Suite struct CopyTeethTests {
  // MARK: What the model notices

  /// Returns a timeline with a file of each fate, and the view at its end.
  private static func life() throws -> (CopyLife, Snapshot, since: Int) {
    var random = SeededRandom(seed: Harness.seed)
    var life = CopyLife(try Circumstances.prepared())
    try life.live(
      [
        .write("old", 900), .write("old", 950), .write("gone", 300), .write("one", 700),
        .write("two", 800), .makeDirectory(".f"), .write(".f/in", 400), .write("before", 250),
        .rename("before", "after"), .write("kept", 500), .replace("kept", 600),
        .unlink("gone"), .barrier,
      ], end: .unmount, &random)
    let sighting = Sighting(StoreCopy(of: life.chronicle, at: life.chronicle.end), life.keys)
    let view = try #require(sighting.view)
    #expect(life.findings.isEmpty && sighting.findings.isEmpty)
    return (life, view, life.timeline.promised(at: life.chronicle.end))
  }

  private static func faults(_ life: CopyLife, _ view: Snapshot, since: Int) -> [String] {
    let until = life.timeline.latest(at: life.chronicle.end)
    let faults =
      life.timeline.foreign(in: view, since: since)
      + life.timeline.missing(in: view, since: since, until: until)
    return faults.map { "\($0)" }.sorted()
  }

  @Test func `a view that keeps its promises has no fault`() throws {
    let (life, view, since) = try CopyTeethTests.life()
    #expect(CopyTeethTests.faults(life, view, since: since).isEmpty)
  }

  @Test func `a file that is not shown is noticed`() throws {
    let (life, view, since) = try CopyTeethTests.life()
    let doctored = view.pretending(nil, at: "one")
    #expect(CopyTeethTests.faults(life, doctored, since: since) == ["lost file: one"])
  }

  @Test func `bytes of another file are noticed`() throws {
    let (life, view, since) = try CopyTeethTests.life()
    var entry = try #require(view.entries["one"])
    entry.content = view.entries["two"]?.content ?? []
    let doctored = view.pretending(entry, at: "one")
    #expect(
      CopyTeethTests.faults(life, doctored, since: since) == [
        "foreign bytes: one", "lost file: one",
      ])
  }

  @Test func `one wrong byte is noticed`() throws {
    let (life, view, since) = try CopyTeethTests.life()
    var entry = try #require(view.entries["two"])
    entry.content[799] ^= 1
    let doctored = view.pretending(entry, at: "two")
    #expect(
      CopyTeethTests.faults(life, doctored, since: since) == [
        "foreign bytes: two", "lost file: two",
      ])
  }

  @Test func `content from before the copy began is noticed`() throws {
    let (life, view, since) = try CopyTeethTests.life()
    let former = try #require(
      life.timeline.versions(of: "old", in: view).first { $0.content.count == 900 })
    var entry = try #require(view.entries["old"])
    entry.content = former.content
    entry.state.modified = former.modified
    let doctored = view.pretending(entry, at: "old")
    #expect(
      CopyTeethTests.faults(life, doctored, since: since) == ["lost file: old", "old content: old"])
    // A store that lost the newer content may show this.
    #expect(life.timeline.foreign(in: doctored).isEmpty)
    // But not with the time of another content.
    entry.state.modified = view.entries["two"]?.state.modified ?? entry.state.modified
    let mixed = view.pretending(entry, at: "old")
    #expect(
      life.timeline.foreign(in: mixed).map(\.kind) == ["content and time of different instants"])
  }

  @Test func `names that a file never had, or has no longer, are noticed`() throws {
    let (life, view, since) = try CopyTeethTests.life()
    let one = try #require(view.entries["one"])
    let strange = view.pretending(nil, at: "one").pretending(one, at: "uno")
    #expect(
      CopyTeethTests.faults(life, strange, since: since) == ["foreign name: uno", "lost name: one"])
    let moved = try #require(view.entries["after"])
    let old = view.pretending(nil, at: "after").pretending(moved, at: "before")
    #expect(
      CopyTeethTests.faults(life, old, since: since) == ["lost name: after", "old name: before"])
  }

  @Test func `a removed file comes back only where that is allowed`() throws {
    let (life, view, since) = try CopyTeethTests.life()
    let number = try #require(life.timeline.inodes(named: "gone", in: view).first)
    let version = try #require(life.timeline.versions(of: number).last)
    var entry = try #require(view.entries["one"])
    entry.state.number = number
    entry.content = version.content
    entry.state.modified = version.modified
    let doctored = view.pretending(entry, at: "gone")
    #expect(CopyTeethTests.faults(life, doctored, since: since) == ["old name: gone"])
    #expect(life.timeline.foreign(in: doctored).isEmpty)
  }

  @Test func `a copier that misses a segment is noticed`() throws {
    let (life, _, since) = try CopyTeethTests.life()
    let whole = StoreCopy(of: life.chronicle, at: life.chronicle.end)
    let segments = try #require(LossExamination(whole, life.keys, life.timeline)).segments
    #expect(!segments.isEmpty)
    for segment in segments {
      var copy = whole
      copy.files[segment] = nil
      let seen = Sighting(copy, life.keys)
      let faults = seen.view.map { CopyTeethTests.faults(life, $0, since: since) }
      #expect(faults != [] || seen.isCheckDamaged, "\(segment)")
    }
  }

  // MARK: What the rules are for

  /// A rule of the design, and the beginning of the fault that the tests find if the rule is left out.
  struct Tooth: Sendable, CustomTestStringConvertible {
    var name: String
    var promise: String
    var omitted: Set<Precaution> = []
    var lies: Set<DiskLie> = []
    var keepsGrace = true

    init(_ precaution: Precaution, _ promise: String) {
      (name, self.promise, omitted) = ("\(precaution)", promise, [precaution])
    }

    init(_ name: String, _ promise: String, lies: Set<DiskLie> = [], keepsGrace: Bool = true) {
      (self.name, self.promise, self.lies, self.keepsGrace) = (name, promise, lies, keepsGrace)
    }

    var testDescription: String { name }
  }

  static let teeth: [Tooth] = [
    Tooth(.fallbackPerFile, "P"),
    Tooth(.wholeGrace, "P"),
    Tooth(.replacedComesBack, "P"),
    Tooth(.keptVersions, "P4"),
    Tooth(.recognisedTails, "P"),
    Tooth(.statedLoss, "journal lost"),
    Tooth(.recognisedTimelines, "forks"),
    Tooth(.recognisedStarts, "P"),
    Tooth(.recognisedFullJournal, "journal lost"),
    Tooth("what is not needed any more stays for the grace time", "P", keepsGrace: false),
    Tooth("the time of a segment is a checksum of its bytes", "P1 whole", lies: [.ignoresTimes]),
  ]

  /// Each commit leaves out some of the rules, the long run all.
  private static let leftOut: [Tooth] = {
    var random = SeededRandom(seed: Harness.seed)
    return Harness.isLong ? teeth : Array(teeth.shuffled(using: &random).prefix(2))
  }()

  @Test(arguments: leftOut)
  func `a rule left out is noticed`(_ tooth: Tooth) throws {
    var prepared = try Circumstances.prepared()
    let before = try CopyTeethTests.search(tooth, prepared, [], lives: 4)
    #expect(before == nil, "seed \(Harness.seed)")
    prepared.omitted = tooth.omitted
    prepared.lies = tooth.lies
    prepared.keepsGrace = tooth.keepsGrace
    let found = try CopyTeethTests.search(tooth, prepared, tooth.omitted, lives: 1000)
    print("\(tooth.name): \(found ?? "nothing was found")")
    #expect(found != nil, "\(tooth.name): nothing found, seed \(Harness.seed)")
  }

  private static func search(
    _ tooth: Tooth, _ circumstances: Circumstances, _ omitted: Set<Precaution>, lives: Int
  ) throws -> String? {
    for round in 0..<lives {
      var random = SeededRandom(seed: Harness.seed &+ UInt64(round))
      let faults = try faults(tooth.promise, circumstances, omitted, &random)
      if let fault = faults.first(where: { $0.kind.hasPrefix(tooth.promise) }) {
        return "\(fault)"
      }
    }
    return nil
  }

  private static func faults(
    _ promise: String, _ circumstances: Circumstances, _ omitted: Set<Precaution>,
    _ random: inout SeededRandom
  ) throws -> [Fault] {
    if promise == "forks" {
      let fork = try Fork(circumstances, &random)
      var examination = ForkExamination(
        fork, SeededRandom(seed: random.next()), omitting: omitted)
      for _ in 0..<3 {
        examination.refresh(deletes: false)
        examination.mixByHand()
      }
      return examination.faults
    }
    let life = try CopyLife.random(circumstances, &random)
    var examination = CopyExamination(
      life, SeededRandom(seed: random.next()), omitting: omitted)
    for _ in 0..<8 {
      examination.examineTwoPasses()
      examination.examineOnePass()
    }
    var losses: [Fault] = []
    let content = life.contentSegments()
    for _ in 0..<3 {
      let (copy, origin) = CopyTests.store(of: life, &random)
      losses +=
        CopyTests.lose(
          copy, life, origin, content: content, &random, omitting: omitted
        ).1
    }
    return examination.faults + losses
  }
}
