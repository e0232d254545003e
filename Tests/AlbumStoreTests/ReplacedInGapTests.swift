import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

/// A program replaces a file while the store is copied: it writes a new one and renames it over the old one.
struct ReplacedInGapTests {
  let place: StorePlace
  init() throws { place = try StorePlace() }

  private func journals() -> Set<String> {
    segments().filter { place.keys.segment(at: $0)?.kind == .journal }
  }

  /// The copy has the checkpoint behind the change. It lacks the journal segment that records the change, and
  /// the segment of the new content. The file was closed before the copy began, so it must be in it.
  @Test func theCopyShowsTheOldFileWhereItLacksTheChangeAndTheNewContent() throws {
    var space = try place.open(background: false)
    try space.write([1, 2, 3], to: "a")
    try space.close()
    space = try place.open(background: false)
    try space.durability.checkpoint()
    let before = segments()
    let journal = try #require(journals().max { number($0) < number($1) })
    try space.write([4, 5, 6, 7], to: "a.new")
    let data = try made(.data, since: before)
    space.rename("a.new", to: "a")
    try space.commit()
    try space.durability.checkpoint()
    try space.close()

    try place.store.directory.remove(journal)
    try place.store.directory.remove(data)
    let copy = try place.open(readOnly: true)
    #expect(try copy.content(of: "a") == [1, 2, 3])
    #expect(copy.status.recovery.incompleteFiles.map(\.outcome) == [.leftOut])
    try copy.close()
  }

  /// A program rewrites an old file while the store is copied. No remaining frame states the old content:
  /// only the checkpoint from before the grace time has it.
  @Test func theCopyShowsTheOldContentOfAFileThatOnlyLostFramesChanged() throws {
    let time = PassingTime()
    func open(readOnly: Bool = false) throws -> Space {
      var options = SpaceOpenOptions(logger: Logger(label: "test"))
      options.readOnly = readOnly
      options.worksInBackground = false
      options.time = time.source
      return try Space.open(place.store, keys: place.keys, options: options)
    }
    var space = try open()
    try space.write([1, 2, 3], to: "a")
    try space.durability.checkpoint()
    try space.close()
    time.pass(StoreTime.grace + .seconds(60))
    space = try open()
    try space.write([9], to: "b")
    try space.close()
    let before = segments()
    space = try open()
    try space.write([4, 5, 6, 7], to: "a")
    let data = try made(.data, since: before)
    let change = try made(.journal, since: before)
    try space.durability.checkpoint()
    try space.close()

    try place.store.directory.remove(change)
    try place.store.directory.remove(data)
    let copy = try open(readOnly: true)
    #expect(try copy.content(of: "a") == [1, 2, 3])
    #expect(copy.status.recovery.incompleteFiles.map(\.outcome) == [.formerContent])
    try copy.close()
  }

  /// A copy that took long has only the newest journal segment, and no checkpoint. It names a file whose content
  /// lost frames state. That is not shown as zeros: a repair brings back what is known of it.
  @Test func aFileWhoseContentComesBeforeTheFirstCopiedFrameIsNotShownAsZeros() throws {
    var space = try place.open(background: false)
    try space.write([UInt8](repeating: 7, count: 100_000), to: "a")
    try space.close()
    let earlier = journals()
    space = try place.open(background: false)
    space.rename("a", to: "b")
    try space.commit()
    try space.close()

    for journal in earlier { try place.store.directory.remove(journal) }
    let copy = try place.open(readOnly: true)
    #expect(!copy.names.contains("b"))
    #expect(copy.status.recovery.incompleteFiles.map(\.outcome) == [.leftOut])
    try copy.close()
    let report = try SpaceCheck.run(place.store, keys: place.keys)
    #expect(report.findings.contains { $0.severity == .damage })
  }

  /// A new file replaces one, moves to another name, and is replaced there. The copy lacks the content of both
  /// new files, and an empty file has the first name now. Former fault: the first file was gone.
  @Test func aFileComesBackAlsoIfTheOneThatReplacedItIsGone() throws {
    var space = try place.open(background: false)
    try space.write([1, 2, 3], to: "b")
    try space.write([4, 5], to: "x")
    try space.close()
    let before = segments()
    space = try place.open(background: false)
    try space.write([6], to: "b.new")
    let data = try made(.data, since: before)
    space.rename("b.new", to: "b")
    try space.commit()
    space.rename("b", to: "x")
    try space.commit()
    try space.write([7], to: "x.new")
    space.rename("x.new", to: "x")
    try space.commit()
    try space.write([], to: "b")
    try space.barrier()
    space.abandon()

    try place.store.directory.remove(data)
    let copy = try place.open(readOnly: true)
    #expect(try copy.content(of: "x") == [4, 5])
    #expect(try copy.content(of: "b") == [])
    #expect(copy.status.recovery.incompleteFiles.map(\.outcome) == [.leftOut, .withoutName])
    try copy.close()
    try repair()
    let repaired = try place.open(readOnly: true)
    let files = repaired.read { catalog in
      var sizes: [Int64] = []
      catalog.forEachInode { _, state in if state.kind == .regular { sizes.append(state.size) } }
      return sizes
    }
    #expect(files.contains(3), "the first file is in Recovered")
    try repaired.close()
  }

  /// A new file lost its content. Later the space removes the first segment of its journal, which a checkpoint
  /// replaces. Former fault: a mount then knew nothing from before the next segment, guessed that the new file
  /// had replaced one that was removed with it, and hid it.
  @Test func aFileThatAMountShowsStaysWhenTheBeginningOfTheJournalIsRemoved() throws {
    var space = try place.open(background: false)
    try space.write([1, 2, 3], to: "a")
    try space.durability.checkpoint()
    try space.close()
    let before = segments()
    space = try place.open(background: false)
    space.state(try space.seal([4, 5, 6, 7], for: "b"))
    space.remove("a")
    try space.commit()
    let data = try made(.data, since: before)
    try space.close()
    try place.store.directory.remove(data)

    for removesFirst in [false, true] {
      let first = try #require(journals().min { number($0) < number($1) })
      if removesFirst { try place.store.directory.remove(first) }
      space = try place.open(readOnly: true)
      #expect(space.names.contains("b"))
      #expect(space.status.recovery.incompleteFiles.map(\.outcome) == [.unreadable])
      try space.close()
    }
  }

  /// When the user moves the new file, which has replaced the old one, to another name.
  enum Later { case nothing, movedAtOnce, movedMeanwhile, movedLater }

  /// A program replaces a file while a checkpoint is written in slices. The copy has the checkpoint, of which
  /// the name alone is newer than the change, but neither the change nor the new content. The new file may
  /// get another name, and a third file the name of the old one.
  @Test(arguments: [Later.nothing, .movedAtOnce, .movedMeanwhile, .movedLater])
  func theCopyShowsTheOldFileWhereOnlyANameOfTheNewOneIsKnown(_ later: Later) throws {
    var space = try place.open(background: false)
    try space.write([9], to: "x")
    try space.write([1, 2, 3], to: "a")
    try space.durability.checkpoint()
    space.remove("x")
    try space.close()
    space = try place.open(background: false)
    try space.durability.checkpoint()
    let change = try #require(journals().max { number($0) < number($1) })
    let before = segments()
    // The new file takes the place of "x", which the first slices have passed.
    try space.takeCheckpoint(pausingBefore: "a") {
      try space.write([4, 5, 6, 7], to: "a.new")
      space.rename("a.new", to: "a")
      try space.commit()
      if later == .movedAtOnce { space.rename("a", to: "b") }
      try space.commit()
    } afterwards: {
      if later != .movedMeanwhile { return }
      space.rename("a", to: "b")
      try space.commit()
    }
    let data = try made(.data, since: before)
    try space.close()
    let isTaken = later == .movedMeanwhile || later == .movedLater
    if isTaken {
      space = try place.open(background: false)
      if later == .movedLater { space.rename("a", to: "b") }
      try space.write([7], to: "a")
      try space.close()
    }

    try place.store.directory.remove(change)
    try place.store.directory.remove(data)
    var copy = try place.open(readOnly: true)
    #expect(try copy.content(of: "a") == (isTaken ? [7] : [1, 2, 3]))
    #expect(try copy.content(of: "b") == (later == .movedLater ? [1, 2, 3] : nil))
    let outcomes = copy.status.recovery.incompleteFiles.map(\.outcome)
    switch later {
    case .nothing, .movedAtOnce: #expect(outcomes == [.formerContent])
    case .movedMeanwhile: #expect(outcomes == [.withoutName])
    case .movedLater: #expect(outcomes == [.leftOut])
    }
    try copy.close()
    if later != .movedMeanwhile { return }
    try repair()
    copy = try place.open(readOnly: true)
    #expect(try copy.content(ofSize: 3) == [1, 2, 3])
    try copy.close()
  }

  /// A new file replaces two others, one after the other, and the first of their names is given to a fourth.
  /// The new one is lost, so both come back.
  @Test func aFileComesBackWithoutItsNameIfAnotherHasItNow() throws {
    var space = try place.open(background: false)
    try space.write([1, 2, 3], to: "a")
    try space.write([5], to: "b")
    try space.close()
    let before = segments()
    space = try place.open(background: false)
    try space.write([4, 5, 6, 7], to: "new")
    let data = try made(.data, since: before)
    space.rename("new", to: "a")
    try space.commit()
    space.rename("a", to: "b")
    try space.close()
    space = try place.open(background: false)
    try space.write([7], to: "a")
    try space.close()

    try place.store.directory.remove(data)
    var copy = try place.open(readOnly: true)
    #expect(try copy.content(of: "a") == [7])
    #expect(try copy.content(of: "b") == [5])
    #expect(copy.status.recovery.incompleteFiles.map(\.outcome) == [.leftOut, .withoutName])
    try copy.close()
    try repair()
    copy = try place.open(readOnly: true)
    #expect(try copy.content(ofSize: 3) == [1, 2, 3])
    try copy.close()
  }

  /// Two new files are lost. The first replaced an old one and kept another name; the second then took the
  /// name of the old one.
  @Test func aFileComesBackUnderTheNameAtWhichItWasReplaced() throws {
    var space = try place.open(background: false)
    try space.write([1, 2, 3], to: "a")
    try space.close()
    let before = segments()
    space = try place.open(background: false)
    try space.write([4, 5, 6, 7], to: "first")
    let data = try made(.data, since: before)
    space.rename("first", to: "a")
    try space.commit()
    space.change { catalog in
      let root = catalog.index(of: .root)!
      let first = catalog.child(FileName(known: Array("a".utf8)), of: root)!
      catalog.insertEntry(FileName(known: Array("link".utf8)), in: root, child: first)
    }
    try space.write([8, 9], to: "second")
    space.rename("second", to: "a")
    try space.close()

    try place.store.directory.remove(data)
    let copy = try place.open(readOnly: true)
    #expect(try copy.content(of: "a") == [1, 2, 3])
    #expect(try copy.content(of: "link") == nil)
    #expect(copy.status.recovery.incompleteFiles.map(\.outcome) == [.leftOut, .leftOut])
    try copy.close()
  }

  private func segments() -> Set<String> { Set(place.store.directory.segmentPaths()) }

  /// A segment of a kind that was made since there were only these.
  private func made(_ kind: SegmentKind, since before: Set<String>) throws -> String {
    let made = segments().subtracting(before)
    return try #require(made.first { place.keys.segment(at: $0)?.kind == kind })
  }

  private func repair() throws {
    var options = CheckOptions()
    options.repairs = true
    _ = try SpaceCheck.run(place.store, keys: place.keys, options: options)
  }

  private func number(_ path: String) -> UInt32 {
    place.keys.segment(at: path)?.number.rawValue ?? 0
  }
}

extension Space {
  /// Writes a checkpoint as `Durability.checkpoint` does. Runs `body` before the slice with a file, and
  /// `afterwards` behind the last slice.
  fileprivate func takeCheckpoint(
    pausingBefore name: String, _ body: () throws -> Void, afterwards: () throws -> Void
  ) throws {
    try commit()
    let durability = durability
    let (last, first) = durability.journal.withLock {
      ($0.writer.position.frame, $0.writer.position.segment)
    }
    var writer = CheckpointWriter(files: durability.files) {
      durability.catalog.withLock { $0.takeCheckpointSegment() }
    }
    try writer.append(durability.catalog.withLock { $0.encodeSpace() })
    let file = try #require(
      read { $0.child(FileName(known: Array(name.utf8)), of: $0.index(of: .root)!) })
    var inodes = InodeCursor()
    while !inodes.isAtEnd {
      if inodes.place == file.rawValue { try body() }
      try writer.append(durability.catalog.withLock { $0.encodeInodes(&inodes, count: 1) })
    }
    var names = NameCursor()
    while !names.isAtEnd {
      try writer.append(durability.catalog.withLock { $0.encodeNames(&names, count: 10) })
    }
    try writer.append([], isLast: true)
    try writer.finish()
    try afterwards()
    try barrier()
    var reference = writer.reference
    (reference.lastFrame, reference.firstJournal) = (last, first)
    reference.takenAt = durability.files.clock.now
    try durability.journal.withLock { journal in
      try journal.writer.adopt(reference, syncAll: durability.syncAll)
    }
  }

  /// The content of the only file of this size.
  fileprivate func content(ofSize size: Int64) throws -> [UInt8] {
    let found = read { catalog in
      var found: [InodeIndex] = []
      catalog.forEachInode { index, state in
        if state.kind == .regular, state.size == size { found.append(index) }
      }
      return found
    }
    let index = try #require(found.first)
    return try bytes(size, read { $0.extents(of: index, from: 0, to: size) })
  }
}
