import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

/// A copy of a store is mounted and written to. Then a copying tool adds what the source wrote since.
struct TimelineTests {
  let source: StorePlace
  init() throws { source = try StorePlace() }

  /// Returns whether the mixture is recognised. After the copy was made, the source makes the changes of
  /// `body`. The tool then copies segments of these kinds.
  private func isRecognised(
    bringing kinds: Set<SegmentKind> = [.journal, .data], after body: (Space) throws -> Void
  ) throws -> Bool {
    let space = try source.open(background: false)
    try space.write([1], to: "before")
    let copy = try StorePlace(copyOf: source)
    try body(space)
    space.abandon()

    let other = try copy.open(background: false)
    try other.write([2], to: "of the copy")
    other.abandon()
    for (path, bytes) in try source.segments() where try copy.segments()[path] != bytes {
      if let kind = source.keys.segment(at: path)?.kind, kinds.contains(kind) {
        try copy.replace(path, bytes)
      }
    }
    let mixed = try copy.open(readOnly: true)
    defer { try? mixed.close() }
    return mixed.status.recovery.mayBeMixed
  }

  @Test func contentThatTheSourceSyncedShows() throws {
    #expect(
      try isRecognised { space in
        try space.write([3], to: "after")
        try space.barrier()
      })
  }

  /// Every mount accepts a frame that refers to no content. So the copy's session did not have it.
  @Test func theBarrierAloneShows() throws {
    #expect(try isRecognised { try $0.barrier() })
  }

  /// A session leaves a frame out only if its content is missing, and content never comes back by itself.
  @Test func contentThatTheSourceDidNotSyncShows() throws {
    #expect(try isRecognised { try $0.write([3], to: "after") })
  }

  /// The session of the copy may have seen that frame and lacked its content after a power cut.
  @Test func aFrameWithoutItsContentDoesNot() throws {
    #expect(try !isRecognised(bringing: [.journal]) { try $0.write([3], to: "after") })
  }

  /// Before the newest checkpoints, journal segments of both timelines have the same numbers. Recovery reads
  /// there how a file was whose newest content is missing.
  @Test func aFileThatFallsBackDoesNotReadTheOtherTimeline() throws {
    // Which of two segments is found first depends on their random births.
    for _ in 0..<6 {
      let source = try StorePlace()
      var space = try source.open(background: false)
      try space.write([1], to: "a")
      try space.barrier()
      let copy = try StorePlace(copyOf: source)

      let other = try copy.open(background: false)
      try other.write([9, 9, 9], to: "a")
      try other.close()

      try space.write([5, 6], to: "a")
      try space.close()
      space = try source.open(background: false)
      for name in ["b", "c", "d"] {
        try space.write([], to: name)
        try space.durability.checkpoint()
      }
      space.abandon()

      // The mixture has only the data of the copy, without the newest content of the source.
      for (path, bytes) in try copy.segments() {
        let kind = source.keys.segment(at: path)?.kind
        let isNew = try source.segments()[path] == nil
        if kind == .data || kind == .journal && isNew {
          try source.replace(path, bytes)
        }
      }
      let mixed = try source.open(readOnly: true)
      defer { try? mixed.close() }
      // A file that cannot be read is named.
      if let seen = try? mixed.content(of: "a") { #expect(seen == [1]) }
    }
  }

  /// A killed session of the source left a segment that no frame names, and the copy has one of the same
  /// number. The copy's journal lies before the source's oldest checkpoint. Former fault: of the two segments
  /// the mount removed the one that came last in the order of names.
  @Test func theSegmentOfTheOtherTimelineStaysWhereAKilledSessionLeftOneOfItsNumber() throws {
    for _ in 0..<6 {
      let source = try StorePlace()
      var space = try source.open(background: false)
      try space.write([1], to: "a")
      try space.close()
      let copy = try StorePlace(copyOf: source)
      for name in ["b", "c"] {
        space = try copy.open(background: false)
        try space.write([2], to: name)
        try space.close()
      }
      space = try source.open(background: false)
      for name in ["d", "e", "f", "g"] {
        try space.write([3], to: name)
        try space.durability.checkpoint()
      }
      try space.close()
      space = try source.open(background: false)
      // More than the writer holds in memory.
      _ = try space.seal([UInt8](repeating: 4, count: StorePlace.segmentSize), for: "h")
      space.abandon()
      let own = try source.segments()
      let foreign = try copy.segments().filter { own[$0.key] == nil }
      for (path, bytes) in foreign { try source.replace(path, bytes) }
      let before = try source.segments()
      let data = before.keys.compactMap { source.keys.segment(at: $0) }.filter { $0.kind == .data }
      #expect(Set(data.map(\.number)).count == data.count - 2, "two numbers are used twice")

      space = try source.open(grace: 0, background: false)
      try space.write([5], to: "i")
      try space.durability.checkpoint()
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<3 { try sweep.round(space.compactor) }
      try space.close()
      let left = try source.segments()
      let gone = foreign.keys.filter { left[$0] != before[$0] }
      #expect(gone == [])
    }
  }

  /// Both timelines give a segment the same number. Its birth is in its name, and the name is authenticated
  /// with each record: the copy's segment in the place of the source's is damage, and its bytes never show.
  @Test func noRecordOfTheOtherTimelineDecrypts() throws {
    var space = try source.open(background: false)
    try space.write([1], to: "a")
    try space.close()
    let copy = try StorePlace(copyOf: source)
    var made: [String] = []
    for (place, bytes) in [(source, [3, 3]), (copy, [9, 9])] as [(StorePlace, [UInt8])] {
      let known = Set(try place.segments().keys)
      space = try place.open(background: false)
      try space.write(bytes, to: "a")
      try space.close()
      let new = Set(try place.segments().keys).subtracting(known)
      made.append(try #require(new.first { place.keys.segment(at: $0)?.kind == .data }))
    }
    #expect(source.keys.segment(at: made[0])?.number == copy.keys.segment(at: made[1])?.number)
    try source.replace(made[0], copy.segments()[made[1]] ?? [])
    let mixed = try source.open(readOnly: true)
    #expect(throws: StoreError.self) { try mixed.content(of: "a") }
    try mixed.close()
  }

  /// Fills the source, and returns a copy in which one of its two files was changed.
  private func forkedCopy() throws -> StorePlace {
    let space = try source.open(background: false)
    for name in ["a", "b"] { try space.write([1], to: name) }
    try space.close()
    let copy = try StorePlace(copyOf: source)
    let other = try copy.open(background: false)
    try other.write([9, 9, 9], to: "a")
    try other.close()
    return copy
  }

  /// A head names 15 segments before it by number and birth. All but the last of them are missing, and the
  /// copy has one of that number.
  @Test func behindManyMissingSegmentsTheJournalIsStillTheSources() throws {
    let copy = try forkedCopy()
    let known = Set(source.keys.numbers(.journal, among: try source.segments().keys))
    for session in 1...16 {
      let space = try source.open(background: false)
      try space.write([UInt8(session)], to: "b")
      if session == 1 { try space.write([2], to: "a") }
      try space.close()
    }
    let journals = source.keys.numbers(.journal, among: try source.segments().keys)
      .filter { !known.contains($0) }
    #expect(journals.count == JournalHead.ancestorLimit + 2)
    for path in try source.segments().keys {
      guard let segment = source.keys.segment(at: path), segment.kind == .journal else { continue }
      if journals[1..<15].contains(segment.number) { try source.store.directory.remove(path) }
    }
    for (path, bytes) in try copy.segments() where try source.segments()[path] == nil {
      try source.replace(path, bytes)
    }
    let mixed = try source.open(readOnly: true)
    #expect(mixed.status.recovery.isMixed)
    #expect(try mixed.content(of: "a") == [2] && mixed.content(of: "b") == [16])
    try mixed.close()
  }

  /// A refresh of the copy was interrupted. The source's newest journal segment is there, but those before it
  /// are missing, more than a head names, and so are the checkpoints. The next lower segment is the copy's.
  /// Former fault: the file showed the copy's bytes.
  @Test func aJournalThatLacksMoreThanAHeadNamesDoesNotLeadToTheOtherTimeline() throws {
    let copy = try forkedCopy()

    for session in 1...18 {
      let space = try source.open(background: false)
      try space.write([UInt8(session)], to: "b")
      if session > 16 { try space.durability.checkpoint() }
      try space.close()
    }
    let whole = try source.segments()
    let journals = source.keys.numbers(.journal, among: whole.keys)
    let missing = Set(journals.dropFirst().dropLast())
    #expect(missing.count > 1 + JournalHead.ancestorLimit)
    for path in whole.keys {
      guard let segment = source.keys.segment(at: path) else { continue }
      let isMissing = segment.kind == .journal && missing.contains(segment.number)
      if segment.kind == .checkpoint || isMissing { try source.store.directory.remove(path) }
    }
    for (path, bytes) in try copy.segments() where try source.segments()[path] == nil {
      if copy.keys.segment(at: path)?.kind != .checkpoint { try source.replace(path, bytes) }
    }

    #expect(throws: StoreError.self) { try source.open(readOnly: true) }
    let report = try SpaceCheck.run(source.store, keys: source.keys, options: CheckOptions())
    #expect(report.isDamaged)
    // The next run of the tool completes the refresh.
    for (path, bytes) in whole { try source.replace(path, bytes) }
    let refreshed = try source.open(readOnly: true)
    #expect(try refreshed.content(of: "a") == [1] && refreshed.content(of: "b") == [18])
    try refreshed.close()
  }
}

extension StorePlace {
  /// The same store in another directory.
  init(copyOf other: StorePlace) throws {
    directory = TemporaryDirectory()
    let storage = try PosixDirectory(path: directory.path)
    try storage.makeDirectory("segments")
    store = Store(directory: storage, segmentSize: StorePlace.segmentSize)
    keys = other.keys
    for (path, bytes) in try other.segments() { try replace(path, bytes) }
  }

  /// The content of each segment, by path.
  func segments() throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for path in store.directory.segmentPaths() {
      found[path] = try store.directory.contents(of: path, limit: StorePlace.segmentSize)
    }
    return found
  }

  func replace(_ path: String, _ bytes: [UInt8]) throws {
    if let slash = path.lastIndex(of: "/") {
      try? store.directory.makeDirectory(String(path[..<slash]))
    }
    try? store.directory.remove(path)
    let file = try store.directory.open(path, .createNew)
    try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
  }
}
