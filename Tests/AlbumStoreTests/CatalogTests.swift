import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// The catalog compared with its frames. After any operations, replaying the items that the catalog gave out
// restores the same tree, with the same extents and the same living bytes in each segment. This also holds if
// a checkpoint was written in slices during the operations.

struct CatalogTests {
  @Test(arguments: 0..<8) func replayingItsFramesBringsTheSameTreeBack(_ round: Int) throws {
    var run = CatalogRun(seed: SeededRandom().seed)
    print("seed \(run.random.seed)")
    var replayed = Catalog()
    replayed.beginReplay()
    for _ in 0..<30 {
      for _ in 0..<40 { run.step() }
      try decodeItems(run.catalog.takeChanges()) { replayed.apply($0) }
    }
    let findings = replayed.finishReplay()
    #expect(findings == ReplayFindings())
    #expect(replayed.dump() == run.catalog.dump())
  }

  @Test(arguments: 0..<8) func aCheckpointTakenInSlicesAndTheFramesSinceGiveTheSameTree(
    _ round: Int
  ) throws {
    var run = CatalogRun(seed: SeededRandom().seed)
    print("seed \(run.random.seed)")
    for _ in 0..<600 { run.step() }
    _ = run.catalog.takeChanges()
    var replayed = Catalog()
    replayed.beginReplay()
    var frames: [[UInt8]] = []
    func work() {
      for _ in 0..<10 { run.step() }
      frames.append(run.catalog.takeChanges())
    }
    try decodeItems(run.catalog.encodeSpace()) { replayed.apply($0) }
    var inodes = InodeCursor()
    while !inodes.isAtEnd {
      try decodeItems(run.catalog.encodeInodes(&inodes, count: 20)) { replayed.apply($0) }
      work()
    }
    var cursor = NameCursor()
    while !cursor.isAtEnd {
      try decodeItems(run.catalog.encodeNames(&cursor, count: 20)) { replayed.apply($0) }
      work()
    }
    var former: UInt32 = 0
    while let items = run.catalog.encodeFormers(&former, count: 20) {
      try decodeItems(items) { replayed.apply($0) }
      work()
    }
    var past: UInt32 = 0
    while let items = run.catalog.encodePastNames(&past, count: 20) {
      try decodeItems(items) { replayed.apply($0) }
      work()
    }
    for frame in frames { try decodeItems(frame) { replayed.apply($0) } }
    _ = replayed.finishReplay()
    #expect(replayed.dump() == run.catalog.dump())
  }

  @Test func replayingFramesOverANewerStateIsHarmless() throws {
    var run = CatalogRun(seed: 7)
    var frames: [[UInt8]] = []
    for _ in 0..<20 {
      for _ in 0..<20 { run.step() }
      frames.append(run.catalog.takeChanges())
    }
    var replayed = Catalog()
    replayed.beginReplay()
    for frame in frames + frames[5...] { try decodeItems(frame) { replayed.apply($0) } }
    _ = replayed.finishReplay()
    #expect(replayed.dump() == run.catalog.dump())
  }

  /// Makes a file of pieces of one byte each, with holes between them, inserted in random order.
  private func scatter(
    _ count: Int, _ catalog: inout Catalog, _ random: inout SeededRandom
  ) -> InodeIndex {
    let index = catalog.create(
      kind: .regular, permissions: 0o644, owner: 0, group: 0, time: .init(nanoseconds: 0))
    catalog.insertEntry(FileName(literal: "big"), in: catalog.index(of: .root)!, child: index)
    for place in (0..<count).shuffled(using: &random) { rewrite(place, 0, index, &catalog) }
    catalog.update(index) { $0.size = Int64(count) * 4096 }
    catalog.unpin(index)
    return index
  }

  private func rewrite(
    _ place: Int, _ life: UInt32, _ index: InodeIndex, _ catalog: inout Catalog
  ) {
    let extent = Extent(
      offset: Int64(place) * 4096, length: 1, segment: SegmentNumber(1 + UInt32(place % 9)),
      grid: (7919 * life + UInt32(place)) % 16_000, skip: 0)
    catalog.hold(extent)
    catalog.replaceExtents(of: index, from: extent.offset, to: extent.end, with: [extent])
  }

  @Test func aFrameHoldsOnlyChangesHoweverManyExtentsTheFileHas() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let index = scatter(40_000, &catalog, &random)
    var replayed = Catalog()
    replayed.beginReplay()
    try decodeItems(catalog.takeChanges()) { replayed.apply($0) }
    for life in 1...3 as ClosedRange<UInt32> {
      for place in (0..<40_000).shuffled(using: &random).prefix(1000) {
        rewrite(place, life, index, &catalog)
      }
      let before = countedSteps(catalog)
      let frame = catalog.takeChanges()
      #expect(frame.count < 1000 * 70)
      #expect(countedSteps(catalog) - before < 1000 * 16)
      try decodeItems(frame) { replayed.apply($0) }
    }
    #expect(replayed.finishReplay() == ReplayFindings())
    #expect(replayed.dump() == catalog.dump())
  }

  @Test func aFileOfVeryManyExtentsIsWrittenIntoACheckpointInSlices() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let index = scatter(20_000, &catalog, &random)
    let gone = catalog.create(
      kind: .regular, permissions: 0o644, owner: 0, group: 0, time: .init(nanoseconds: 0))
    for place in 0..<5000 { rewrite(place, 7, gone, &catalog) }
    catalog.setSymlinkTarget(gone, to: [1])
    _ = catalog.takeChanges()
    var replayed = Catalog()
    replayed.beginReplay()
    var frames: [[UInt8]] = []
    try decodeItems(catalog.encodeSpace()) { replayed.apply($0) }
    var cursor = InodeCursor()
    var slices = 0
    while !cursor.isAtEnd {
      let before = countedSteps(catalog)
      let items = catalog.encodeInodes(&cursor, count: 500)
      #expect(countedSteps(catalog) - before < 1000)
      try decodeItems(items) { replayed.apply($0) }
      slices += 1
      for _ in 0..<20 {
        rewrite(Int.random(in: 0..<20_000, using: &random), UInt32(slices), index, &catalog)
      }
      if slices == 30 {
        catalog.replaceExtents(of: index, from: 30_000_000, to: 50_000_000, with: [])
      }
      // One file goes while the checkpoint is written, and another gets its place.
      if slices == 44 {
        catalog.unpin(gone)
        let other = catalog.create(
          kind: .regular, permissions: 0o600, owner: 0, group: 0, time: .init(nanoseconds: 0))
        #expect(other == gone)
        catalog.insertEntry(FileName(literal: "o"), in: catalog.index(of: .root)!, child: other)
        for place in 0..<700 { rewrite(place, 8, other, &catalog) }
      }
      frames.append(catalog.takeChanges())
    }
    #expect(slices > 44)
    var names = NameCursor()
    while !names.isAtEnd {
      try decodeItems(catalog.encodeNames(&names, count: 20)) { replayed.apply($0) }
    }
    for frame in frames { try decodeItems(frame) { replayed.apply($0) } }
    _ = replayed.finishReplay()
    while catalog.letGoOfDetached(limit: 1000) {}
    #expect(replayed.dump() == catalog.dump())
  }

  @Test func noOperationTouchesAllExtentsOfAVeryLargeFile() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let index = scatter(50_000, &catalog, &random)
    _ = catalog.takeChanges()
    func steps(_ limit: Int, _ catalog: inout Catalog, _ body: (inout Catalog) -> Void) {
      let before = countedSteps(catalog)
      body(&catalog)
      #expect(countedSteps(catalog) - before <= limit)
    }
    steps(0, &catalog) { #expect($0.attributes(index).blocks == (50_000 + 511) / 512) }
    steps(30, &catalog) {
      #expect($0.extents(of: index, from: 90_000_000, to: .max, limit: 10).count == 10)
    }
    steps(1000, &catalog) {
      $0.replaceExtents(of: index, from: 90_000_000, to: 180_000_000, with: [])
    }
    steps(3000, &catalog) {
      #expect($0.removeEntry(FileName(literal: "big"), in: $0.index(of: .root)!) != nil)
    }
    #expect(catalog.index(of: InodeNumber(2)) == nil)
    #expect(catalog.segments.accounts.values.contains { $0.live > 0 }, "let go of later")
    var rest = true
    while rest { steps(1200, &catalog) { rest = $0.letGoOfDetached(limit: 1000) } }
    #expect(catalog.segments.accounts.values.allSatisfy { $0.live == 0 })
    #expect(catalog.segments.emptied.count == 9)
  }

  @Test func inodeNumbersAreNeverGivenTwiceAlsoNotAfterALostFrame() throws {
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let durable = catalog.takeChanges()
    var given: Set<UInt64> = []
    for _ in 0..<1000 {
      let index = catalog.create(
        kind: .regular, permissions: 0, owner: 0, group: 0, time: .init(nanoseconds: 0))
      given.insert(catalog.state(index).number.rawValue)
    }
    // The frames with these inodes are lost.
    var after = Catalog()
    after.beginReplay()
    try decodeItems(durable) { after.apply($0) }
    _ = after.finishReplay()
    for _ in 0..<1000 {
      let index = after.create(
        kind: .regular, permissions: 0, owner: 0, group: 0, time: .init(nanoseconds: 0))
      #expect(given.insert(after.state(index).number.rawValue).inserted)
    }
  }

  /// A checkpoint is written while operations continue, so it may know content that later frames record. An
  /// earlier frame of that file does not take it back: if the later frame were lost, old and new would mix.
  @Test func anEarlierFrameTakesNothingBackThatACheckpointKnows() {
    var catalog = Catalog()
    catalog.beginReplay()
    func state(_ statements: UInt64, _ size: Int64) -> JournalItem {
      var state = InodeState(number: InodeNumber(7), kind: .regular, permissions: 0o644)
      (state.links, state.size) = (1, size)
      state.contentStatements = .init(statements)
      return .inode(state)
    }
    func content(_ size: Int64, _ segment: UInt32) -> JournalItem {
      let extent = Extent(
        offset: 0, length: size, segment: SegmentNumber(segment), grid: 1, skip: 0)
      return .extents(InodeNumber(7), from: 0, to: .max, [extent])
    }
    for item in [state(3, 400), content(400, 3), state(2, 200), content(200, 2)] {
      catalog.apply(item)
    }
    let file = catalog.index(of: InodeNumber(7))!
    #expect(catalog.state(file).size == 400)
    #expect(catalog.extents(of: file, from: 0, to: .max).map(\.segment) == [SegmentNumber(3)])
    for item in [state(4, 600), content(600, 4)] { catalog.apply(item) }
    #expect(catalog.state(file).size == 600)
    #expect(catalog.extents(of: file, from: 0, to: .max).map(\.segment) == [SegmentNumber(4)])
  }

  @Test func aNameWhoseInodeWasLostToDamageLeadsNowhereElse() throws {
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    var replayed = Catalog()
    replayed.beginReplay()
    try decodeItems(catalog.takeChanges()) { replayed.apply($0) }
    let root = catalog.index(of: .root)!
    func make(_ name: String) {
      let index = catalog.create(
        kind: .regular, permissions: 0, owner: 0, group: 0, time: .init(nanoseconds: 0))
      catalog.insertEntry(FileName(known: Array(name.utf8)), in: root, child: index)
      catalog.unpin(index)
    }
    make("a")
    try decodeItems(catalog.takeChanges()) { replayed.apply($0) }
    // The frame that removes the name is damaged. The next frame says that its inode is gone and its place is
    // used anew.
    catalog.removeEntry(FileName(literal: "a"), in: root)
    catalog.changes.entries = []
    make("b")
    try decodeItems(catalog.takeChanges()) { replayed.apply($0) }
    let findings = replayed.finishReplay()
    #expect(findings.lostEntries.map(\.name) == [FileName(literal: "a")])
    let after = replayed.index(of: .root)!
    #expect(replayed.child(FileName(literal: "a"), of: after) == nil)
    #expect(replayed.child(FileName(literal: "b"), of: after) != nil)
  }

  @Test func memoryPerFileStaysBelowTheDesignsLimit() {
    let perFile =
      MemoryLayout<InodeRecord>.stride + MemoryLayout<EntryRecord>.stride
      + MemoryLayout<Extent>.stride + MemoryLayout<DirectoryListing.Slot>.stride
      + 2 * 3 * MemoryLayout<UInt32>.stride
    #expect(perFile <= 300)
  }
}

/// A catalog and a stream of random operations on it.
struct CatalogRun: ~Copyable {
  var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
  var random: SeededRandom
  private var directories: [InodeNumber] = [.root]
  private var files: [InodeNumber] = []
  private var nextGrid: UInt32 = 0

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func step() {
    directories.removeAll { number in
      catalog.index(of: number).map { catalog.state($0).links == 0 } ?? true
    }
    files.removeAll { catalog.index(of: $0) == nil }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<30: makeFile()
    case 30..<38: makeDirectory()
    case 38..<58: write()
    case 58..<67: removeSomething()
    case 67: discardSomething()
    case 68..<80: renameSomething()
    case 80..<86: link()
    case 86..<92: setAttribute()
    case 92..<96: thumbnail()
    default: truncate()
    }
  }

  private mutating func pick(_ from: [InodeNumber]) -> InodeIndex? {
    from.randomElement(using: &random).flatMap { catalog.index(of: $0) }
  }

  private mutating func name() -> FileName {
    FileName(known: Array("n\(Int.random(in: 0..<40, using: &random))".utf8))
  }

  private mutating func make(_ kind: FileKind) -> InodeNumber? {
    guard let parent = pick(directories) else { return nil }
    let name = name()
    if catalog.child(name, of: parent) != nil { return nil }
    let time = Timestamp(nanoseconds: Int64.random(in: 0...1 << 60, using: &random))
    let index = catalog.create(kind: kind, permissions: 0o644, owner: 1, group: 2, time: time)
    catalog.insertEntry(name, in: parent, child: index)
    if kind == .symlink { catalog.setSymlinkTarget(index, to: name.bytes + name.bytes) }
    catalog.unpin(index)
    return catalog.state(index).number
  }

  private mutating func makeFile() {
    let kind: FileKind = Bool.random(using: &random) ? .regular : .symlink
    if let number = make(kind), kind == .regular { files.append(number) }
  }

  private mutating func makeDirectory() {
    if let number = make(.directory) { directories.append(number) }
  }

  private mutating func write() {
    guard let index = pick(files) else { return }
    if Int.random(in: 0..<4, using: &random) == 0 { keepVersion(index) }
    let offset = Int64.random(in: 0...400_000, using: &random)
    let length = Int64.random(in: 1...200_000, using: &random)
    let extent = Extent(
      offset: offset, length: length, segment: SegmentNumber(nextGrid / 10_000 + 1),
      grid: nextGrid % 10_000, skip: 0)
    nextGrid += DataRecord.fullGridCount * 4
    catalog.hold(extent)
    catalog.replaceExtents(of: index, from: offset, to: offset + length, with: [extent])
    catalog.update(index) { $0.size = max($0.size, offset + length) }
  }

  private mutating func keepVersion(_ index: InodeIndex) {
    let before = catalog.counters.nextInode
    let moment = RemovalMoment(used: StoreTime(milliseconds: 7), wall: Timestamp(nanoseconds: 7))
    if catalog.keepVersion(of: index, at: moment) { files.append(InodeNumber(before)) }
  }

  private mutating func truncate() {
    guard let index = pick(files) else { return }
    let size = Int64.random(in: 0...300_000, using: &random)
    catalog.replaceExtents(of: index, from: size, to: .max, with: [])
    catalog.update(index) { $0.size = size }
  }

  private mutating func removeSomething() {
    guard let parent = pick(directories) else { return }
    let name = name()
    guard let child = catalog.child(name, of: parent) else { return }
    if catalog.state(child).kind == .directory, catalog.entryCount(of: child) > 0 { return }
    if Bool.random(using: &random) { return _ = catalog.removeEntry(name, in: parent) }
    let time = StoreTime(milliseconds: Int64.random(in: 0..<1000, using: &random))
    catalog.removeEntry(
      name, in: parent,
      at: RemovalMoment(used: time, wall: Timestamp(nanoseconds: time.milliseconds)))
  }

  /// A deleted file goes for good. Others come back, because `link` takes them as any file.
  private mutating func discardSomething() {
    if let index = pick(files) { _ = catalog.discardDeleted(index) }
  }

  private mutating func renameSomething() {
    guard let from = pick(directories), let to = pick(directories) else { return }
    let (name, newName) = (name(), name())
    guard let child = catalog.child(name, of: from), catalog.child(newName, of: to) == nil else {
      return
    }
    // A directory may not move into itself or into what it contains.
    var above = catalog.state(to).number
    while above != .root {
      if above == catalog.state(child).number { return }
      above = catalog.parent(of: catalog.index(of: above)!)
    }
    catalog.moveEntry(name, of: from, to: newName, in: to)
  }

  private mutating func link() {
    guard let index = pick(files), let to = pick(directories) else { return }
    let name = name()
    if catalog.child(name, of: to) == nil { catalog.insertEntry(name, in: to, child: index) }
  }

  private mutating func setAttribute() {
    guard let index = pick(files) else { return }
    let name = Array("user.\(Int.random(in: 0..<3, using: &random))".utf8)
    let value = Bool.random(using: &random) ? random.bytes(20) : nil
    catalog.setAttribute(name, of: index, to: value)
  }

  private mutating func thumbnail() {
    guard let photo = pick(files) else { return }
    let index = catalog.create(
      kind: .regular, permissions: 0o644, owner: 0, group: 0, time: .init(nanoseconds: 5))
    catalog.setThumbnail(Bool.random(using: &random) ? index : nil, of: photo)
    catalog.unpin(index)
  }
}

extension Catalog {
  /// Describes everything that must be the same after a replay.
  func dump() -> [String] {
    var lines: [String] = []
    forEachInode { index, state in
      lines.append(
        "inode \(state) links \(attributes(index).links) extents \(extents(of: index, from: 0, to: .max))"
      )
      lines.append("\(state.number.rawValue) symlink \(symlinkTarget(index))")
      for name in attributeNames(of: index) {
        lines.append("\(state.number.rawValue) \(name) = \(attribute(name, of: index) ?? [])")
      }
      if let place = formerPlace(of: index) {
        lines.append("\(state.number.rawValue) was \(place)")
      }
      guard state.kind == .directory, state.links > 0 else { return }
      lines.append("\(state.number.rawValue) parent \(parent(of: index).rawValue)")
      forEachEntry(of: index) { name, child, _ in
        lines.append("\(state.number.rawValue)/\(name) -> \(self.state(child).number.rawValue)")
        return true
      }
    }
    for (number, account) in segments.accounts where account.live > 0 {
      lines.append("segment \(number.rawValue) live \(account.live) \(account.state)")
    }
    for point in points { lines.append("point \(point)") }
    for place in 0..<formers.names.upperBound {
      guard let record = formers.names.occupant(place) else { continue }
      let directory = state(InodeIndex(rawValue: record.directory)).number
      let child =
        record.child == .max ? nil : state(InodeIndex(rawValue: record.child)).number
      lines.append(
        "past \(record.number) \(directory)/\(formers.names.name(of: place)) -> \(String(describing: child))"
      )
    }
    return lines.sorted()
  }
}

/// Returns the steps that a debug build counts; 0 in a release build.
private func countedSteps(_ catalog: borrowing Catalog) -> Int {
  #if DEBUG
  catalog.extents.steps.taken
  #else
  0
  #endif
}
