import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// A segment that no session finished, after a kill. Recovery distinguishes content that was not written yet
// when the store was copied from damaged content. The space records a lost part of the journal until a
// repair.

struct UnfinishedSegmentTests {
  private let place: CheckPlace
  private let contents: [String: [UInt8]]
  private static let byteCount = 5000

  /// Writes three files in a session that is then killed.
  init() throws {
    var random = SeededRandom()
    place = try CheckPlace()
    let space = try place.store.open(background: false)
    var contents: [String: [UInt8]] = [:]
    for name in ["one", "two", "three"] {
      contents[name] = random.bytes(UnfinishedSegmentTests.byteCount)
      try space.write(contents[name]!, to: name)
    }
    try space.barrier()
    space.abandon()
    self.contents = contents
  }

  /// Returns the cells of a file's first record.
  private func record(of name: String) throws -> (segment: SegmentNumber, cells: Range<Int>) {
    let extent = try place.extent(of: name, at: 0)
    let start = Int(extent.grid) * RecordLayout.grid
    let length = RecordLayout.paddedByteCount(
      plaintext: DataRecord.headerByteCount + UnfinishedSegmentTests.byteCount)
    return (extent.segment, start..<start + length)
  }

  /// Changes a segment to what a copy contains that was made before a part of the segment was written.
  private func unwrite(_ id: SegmentID, _ cells: Range<Int>) throws {
    let path = place.path(id.kind, id.number)
    let file = path.split(separator: "/").last.map(String.init)!
    let name = try #require(SegmentName(text: file))
    try place.store.store.directory.damage(path) { bytes in
      var tail = [UInt8](repeating: 0, count: cells.count)
      unsafe tail.withUnsafeMutableBytes {
        unsafe place.store.keys.cipher.fillTail($0, of: name, from: cells.lowerBound)
      }
      bytes.replaceSubrange(cells, with: tail)
    }
  }

  @Test func aDamagedRecordIsDamageAlthoughItIsTheLast() throws {
    let (segment, cells) = try record(of: "three")
    for offset in [cells.lowerBound, cells.lowerBound + 300, cells.upperBound - 600] {
      try place.flip(.data, segment, at: offset)
      let report = try place.check()
      #expect(report.isDamaged)
      #expect(report.damagedPaths == ["three"])
      try place.flip(.data, segment, at: offset)
    }
    #expect(try !place.check().isDamaged)
  }

  /// A mixture of copies may hold more names of a file than its link count says. Former fault: the check
  /// crashed when it left the file out.
  @Test func aFileWithMoreNamesThanLinksIsLeftOut() throws {
    let space = try place.store.open(background: false)
    try space.write(contents["one"]!, to: "four")
    space.change { catalog in
      let root = catalog.index(of: .root)!
      let file = catalog.child(FileName(known: Array("four".utf8)), of: root)!
      let name = FileName(known: Array("uncounted".utf8))
      catalog.placeEntry(name, in: root, child: file)
      catalog.enqueueEntry(name, in: root)
    }
    try space.barrier()
    space.abandon()
    let (segment, cells) = try record(of: "four")
    try unwrite(SegmentID(kind: .data, number: segment), cells)
    #expect(try place.check().findings.contains { $0.path == "four" })
    let files = try place.files()
    #expect(files["four"] == nil && files["uncounted"] == nil && files["one"] == contents["one"])
  }

  @Test func contentThatWasNotWrittenYetIsNoDamage() throws {
    let (segment, cells) = try record(of: "three")
    // Tries the whole record, and one that was half written.
    for start in [cells.lowerBound, cells.lowerBound + 1024] {
      try unwrite(SegmentID(kind: .data, number: segment), start..<cells.upperBound)
      let report = try place.check()
      #expect(!report.isDamaged)
      #expect(report.findings.contains { $0.path == "three" && $0.severity == .note })
      let files = try place.files()
      #expect(files["three"] == nil)
      #expect(files["one"] == contents["one"] && files["two"] == contents["two"])
    }
  }

  /// A seal says that a segment was whole. What is missing under it was lost, and no copy explains it: the
  /// file does not fall back.
  @Test func contentThatIsMissingUnderASealIsDamage() throws {
    let space = try place.store.open(background: false)
    try space.write([UInt8](repeating: 1, count: UnfinishedSegmentTests.byteCount), to: "three")
    try space.close()
    let (segment, cells) = try record(of: "three")
    try unwrite(SegmentID(kind: .data, number: segment), cells)
    let report = try place.check()
    #expect(report.isDamaged)
    #expect(report.damagedPaths == ["three"])
    let mounted = try place.store.open(readOnly: true)
    #expect(throws: StoreError.self) { try mounted.content(of: "three") }
    #expect(try mounted.content(of: "one") == contents["one"])
    try mounted.close()
  }

  /// Former fault: the file counted as damaged. The tool copied neither the segment of its content nor the
  /// journal segment behind the full one. Both were finished only after the tool had listed the folder.
  @Test func aCopyWithoutTheJournalBehindAFullOneLacksTheEnd() throws {
    func paths(_ kind: SegmentKind) -> Set<String> {
      Set(
        place.store.store.directory.segmentPaths().filter {
          place.store.keys.segment(at: $0)?.kind == kind
        })
    }
    let space = try place.store.open(background: false)
    let data = paths(.data)
    try space.write(contents["one"]!, to: "four")
    let first = paths(.data).subtracting(data)
    // Fills that segment and begins the next one, which the tool copied.
    var random = SeededRandom()
    try space.write(random.bytes(StorePlace.segmentSize), to: "five")
    #expect(first.count == 1 && paths(.data).count == data.count + 2)
    try space.barrier()
    let journals = paths(.journal)
    // Seals the journal segment as full, and begins the next.
    try space.durability.checkpoint()
    space.abandon()
    for path in first.union(paths(.journal).subtracting(journals)) {
      try place.store.store.directory.remove(path)
    }

    let report = try place.check()
    #expect(!report.isDamaged)
    #expect(report.findings.contains { $0.path == "four" && $0.severity == .note })
    let files = try place.files()
    #expect(files["four"] == nil && files["one"] == contents["one"])
  }

  /// Former fault: the file that was replaced first stayed away, because the third file had its name for a
  /// while.
  @Test func aReplacedFileComesBackAlthoughTwoNewOnesHadItsName() throws {
    let space = try place.store.open(background: false)
    for (name, steps) in [
      ("new", [("new", "one"), ("one", "two")]), ("last one", [("last one", "one")]),
    ] {
      try space.write([UInt8](repeating: 7, count: UnfinishedSegmentTests.byteCount), to: name)
      for (from, to) in steps {
        space.rename(from, to: to)
        try space.commit()
      }
    }
    try space.barrier()
    space.abandon()
    let records = try ["one", "two"].map(record)
    for (segment, cells) in records {
      try unwrite(SegmentID(kind: .data, number: segment), cells)
    }
    let files = try place.files()
    #expect(files["one"] == contents["one"] && files["two"] == contents["two"])
    #expect(files["three"] == contents["three"])
    #expect(try !place.check().isDamaged)
  }

  /// Returns the last frame of the killed session, whose journal segment has a successor. The session of that
  /// one ends by an unmount, or is killed too.
  private func lastFrame(unmounts: Bool) throws -> (segment: SegmentNumber, cells: Range<Int>) {
    let segment = try place.journals().last!
    let space = try place.store.open(background: false)
    try space.write([1], to: "later")
    try space.barrier()
    if unmounts { try space.close() } else { space.abandon() }
    let files = SegmentFiles(
      directory: place.store.store.directory, keys: place.store.keys,
      segmentSize: place.store.store.configuration.segmentSize)
    files.adoptNames(try files.list())
    let scan = try JournalScan(SegmentID(kind: .journal, number: segment), files: files)
    let frames = scan.frames.suffix(2)
    #expect(scan.seal == nil)
    return (segment, frames.first!.end..<frames.last!.end)
  }

  @Test(arguments: [true, false])
  func aDamagedFrameIsDamageAlthoughItIsTheLast(_ unmounts: Bool) throws {
    let (segment, cells) = try lastFrame(unmounts: unmounts)
    try place.flip(.journal, segment, at: cells.lowerBound + 40)
    #expect(try place.check().isDamaged)
    try place.flip(.journal, segment, at: cells.lowerBound + 40)
    #expect(try !place.check().isDamaged)
  }

  /// A copy read the segment before the frame was written. Its next session was not finished either.
  @Test func aFrameThatWasNotWrittenYetIsNoDamage() throws {
    let (segment, cells) = try lastFrame(unmounts: false)
    try unwrite(SegmentID(kind: .journal, number: segment), cells)
    let report = try place.check()
    #expect(!report.isDamaged && !report.findings.isEmpty)
  }

  /// Former fault: after a mount nothing reported the loss any more, and a repair found only some of the
  /// files.
  @Test(arguments: [false, true])
  func aMountMakesTheLossOfAJournalNoWorse(_ writes: Bool) throws {
    try place.remove(.journal, place.journals().last!)
    for _ in 0..<2 {
      let space = try place.store.open(grace: 0, background: false)
      if writes { try space.write([2], to: "meanwhile") }
      #expect(throws: StoreError.self) { try space.compact() }
      try space.close()
      let report = try place.check()
      #expect(report.isDamaged)
      #expect(report.findings.filter { $0.kind == .lostFile }.count == 3)
    }
    _ = try place.check(repairs: true)
    let files = try place.files()
    for content in contents.values { #expect(files.values.contains(content)) }
    #expect(files["meanwhile"] == (writes ? [2] : nil))
    #expect(try place.check().findings == [])
    // From now on the space frees room again.
    let space = try place.store.open(grace: 0, background: false)
    try space.compact()
    try space.close()
  }
}
