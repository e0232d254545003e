import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Glibc
import Posix
import Testing

@testable import AlbumStore

// The promises of compaction: the store shrinks to little more than its living content. No living content
// changes. Shared content stays shared. Content that cannot be read is never dropped. Old segments stay for
// their grace, and a session that changes nothing still writes nothing.

struct CompactionTests {
  let place: StorePlace
  init() throws { place = try StorePlace() }

  private func bytes() throws -> Int64 { try place.snapshot().values.reduce(0) { $0 + $1.size } }

  /// Photos and their thumbnails, by name.
  private func fill(_ space: Space, _ count: Int, _ random: inout SeededRandom) throws
    -> [String: [UInt8]]
  {
    var files: [String: [UInt8]] = [:]
    for number in 0..<count {
      files["IMG_\(number)"] = random.filling(Int.random(in: 40_000...350_000, using: &random))
      files["thumbnail \(number)"] = random.filling(Int.random(in: 4_000...30_000, using: &random))
    }
    for (name, content) in files { try space.write(content, to: name) }
    return files
  }

  private func removeHalf(_ space: Space, _ files: inout [String: [UInt8]], _ count: Int) throws {
    for number in stride(from: 0, to: count, by: 2) {
      for name in ["IMG_\(number)", "thumbnail \(number)"] {
        space.remove(name)
        files[name] = nil
      }
    }
    try space.commit()
  }

  @Test func afterHalfOfThePhotosAreDeletedTheStoreTakesLittleMoreThanTheOthers() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var space = try place.open(grace: 0, background: false)
    var files = try fill(space, 200, &random)
    try removeHalf(space, &files, 200)
    let before = try bytes()
    let report = try space.compact()
    let living = Int64(files.values.reduce(0) { $0 + $1.count })
    let after = try bytes()
    #expect(Double(after) <= 1.15 * Double(living), "\(after) for \(living)")
    #expect(report.freed == before - after)
    #expect(report.taken == after)
    #expect(report.waiting == 0)
    #expect(try space.files() == files)
    try space.close()
    space = try place.open()
    #expect(!space.status.recovery.isDamaged)
    #expect(try space.files() == files)
    try space.close()
  }

  @Test func compactionRunsInTheBackgroundWhileNobodyUsesTheSpace() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let space = try place.open(grace: 0)
    var files = try fill(space, 100, &random)
    try removeHalf(space, &files, 100)
    let living = Int64(files.values.reduce(0) { $0 + $1.count })
    try waiting { Double(try bytes()) <= 1.15 * Double(living) + 4 * 262_144 }
    #expect(try space.files() == files)
    try space.close()
  }

  @Test func aStoreThatIsCompactStaysAsItIs() throws {
    var random = SeededRandom()
    var space = try place.open(grace: 0, background: false)
    var files = try fill(space, 40, &random)
    try removeHalf(space, &files, 40)
    try space.compact()
    try space.compact()
    let data = try segments(of: space)
    try space.compact()
    #expect(try segments(of: space) == data)
    try space.close()
    let before = try place.snapshot()
    space = try place.open(grace: 0)
    #expect(try space.files() == files)
    try space.close()
    #expect(try place.snapshot() == before, "a session that changes nothing writes nothing")
  }

  private func segments(of space: Space) throws -> Set<SegmentNumber> {
    Set(space.read { $0.segments.accounts }.keys)
  }

  @Test func manySmallSessionsRewriteLittle() throws {
    var random = SeededRandom()
    var space = try place.open(grace: 0, background: false)
    let files = try fill(space, 60, &random)
    try space.close()
    var rewritten = 0
    for session in 0..<10 {
      space = try place.open(grace: 0, background: false)
      let known = try segments(of: space)
      try space.write([UInt8(session)], to: "note")
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<5 { try sweep.round(space.compactor) }
      rewritten += try known.subtracting(segments(of: space)).count
      try space.close()
    }
    space = try place.open()
    #expect(try space.content(of: "note") == [9])
    for (name, content) in files { #expect(try space.content(of: name) == content) }
    // Each session leaves a file of one byte in a segment of its own. Compaction empties them together now
    // and then.
    #expect(rewritten <= 12)
    try space.close()
  }

  @Test func sharedContentIsCopiedOnceAndStaysShared() throws {
    var random = SeededRandom()
    var space = try place.open(grace: 0, background: false)
    let content = random.filling(300_000)
    // The content lies in two segments, with garbage in both.
    try space.write(random.filling(150_000), to: "gone 0")
    try space.write(content, to: "a")
    for number in 1..<12 { try space.write(random.filling(180_000), to: "gone \(number)") }
    // A whole copy, and one of the middle, which begins within a record.
    try space.share("a", 0..<300_000, as: "b")
    try space.share("a", 70_000..<250_000, as: "c")
    for number in 0..<12 { space.remove("gone \(number)") }
    space.remove("a")
    try space.commit()
    let single = space.compactor.survey().total
    let old = Set(space.extents(of: "b").map(\.segment))
    guard case .moved(let moved) = try Mover.empty(Array(old), of: space.compactor) else {
      Issue.record("not moved")
      return
    }
    #expect(moved == 300_000, "each byte once")
    try space.commit()
    #expect(Set(space.extents(of: "b").map(\.segment)).isDisjoint(with: old), "it was moved")
    #expect(Set(space.extents(of: "c").map(\.segment)).isDisjoint(with: old), "it was moved")
    #expect(space.compactor.survey().total <= single + 512, "each byte once")
    #expect(try space.content(of: "b") == content)
    #expect(try space.content(of: "c") == Array(content[70_000..<250_000]))
    try space.close()
    space = try place.open()
    #expect(try space.content(of: "b") == content)
    #expect(try space.content(of: "c") == Array(content[70_000..<250_000]))
    try space.close()
  }

  @Test func sharedContentHidesNoGarbage() throws {
    var random = SeededRandom()
    let space = try place.open(grace: 0, background: false)
    for round in 0..<6 {
      try space.write(random.filling(40_000), to: "kept \(round)")
      try space.write(random.filling(190_000), to: "gone \(round)")
      // So many files share it that the segment would look full.
      for copy in 0..<8 { try space.share("kept \(round)", 0..<40_000, as: "\(round)-\(copy)") }
      space.remove("gone \(round)")
    }
    try space.commit()
    let old = try segments(of: space)
    #expect(old.count >= 6)
    try space.compact()
    #expect(try segments(of: space).count <= 2)
    let kept = try (0..<6).map { try space.content(of: "kept \($0)") }
    for round in 0..<6 {
      for copy in 0..<8 { #expect(try space.content(of: "\(round)-\(copy)") == kept[round]) }
    }
    try space.close()
  }

  @Test func contentThatNoFrameStatesYetIsKept() throws {
    var random = SeededRandom()
    let space = try place.open(grace: 0, background: false)
    let content = random.filling(50_000)
    // Sealed for an open file and not in the catalog, while everything around it goes.
    try space.write([], to: "open")
    let extent = try space.append(content, to: "open")
    for number in 0..<8 { try space.write(random.filling(200_000), to: "\(number)") }
    for number in 0..<8 { space.remove("\(number)") }
    try space.commit()
    for _ in 0..<2 { try space.compact() }
    space.place([extent], in: "open", size: 50_000)
    try space.commit()
    #expect(try space.content(of: "open") == content)
    try space.compact()
    #expect(try space.content(of: "open") == content)
    try space.close()
  }

  @Test func anUnreadableSegmentStaysAndTheOthersAreCompacted() throws {
    var random = SeededRandom()
    var space = try place.open(grace: 0, background: false)
    var files = try fill(space, 60, &random)
    try removeHalf(space, &files, 60)
    try space.close()
    let victim = try damageEmptiest(&random, Array(files.keys))
    space = try place.open(grace: 0, background: false)
    let before = try bytes()
    let report = try space.compact()
    #expect(report.unreadableSegments == 1)
    #expect(space.status.unreadableSegments == 1)
    #expect(try bytes() < before)
    #expect(try segments(of: space).contains(victim))
    try space.close()
    space = try place.open()
    for (name, content) in files {
      let found = Result { try space.content(of: name) }
      if (try? found.get()) == content { continue }
      #expect(throws: StoreError.self, "\(name)") { try found.get() }
    }
    try space.close()
  }

  /// Destroys a record of a file in the segment with the least living content; returns the segment.
  private func damageEmptiest(_ random: inout SeededRandom, _ names: [String]) throws
    -> SegmentNumber
  {
    let space = try place.open(background: false)
    let living = space.compactor.survey().living
    let extents = names.flatMap { space.extents(of: $0) }
    let extent = try #require(extents.min { living[$0.segment]! < living[$1.segment]! })
    let path = space.context.files.path(SegmentID(kind: .data, number: extent.segment))
    try space.close()
    let file = try place.store.directory.open(path, .readWrite)
    try unsafe random.bytes(64).withUnsafeBytes {
      try unsafe file.write($0, at: Int64(extent.grid) * 256 + 100)
    }
    return extent.segment
  }

  @Test func oldSegmentsStayForTheirGraceUnlessTheDiskIsNearlyFull() throws {
    var random = SeededRandom()
    let space = try place.open(grace: 900, background: false)
    var files = try fill(space, 60, &random)
    try removeHalf(space, &files, 60)
    let before = try Set(place.snapshot().keys)
    let report = try space.compact()
    #expect(report.freed == 0)
    #expect(report.waiting > 0)
    #expect(try before.isSubset(of: Set(place.snapshot().keys)), "a copy under way finds them")
    space.context.room.reportShortage(StoreError(.noSpace, "full"))
    let later = try space.compact()
    #expect(later.freed == report.waiting)
    #expect(later.waiting == 0)
    #expect(try space.files() == files)
    try space.close()
  }

  @Test func aStoppedCompactionKeepsItsProgress() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let space = try place.open(grace: 0, background: false)
    var files = try fill(space, 500, &random)
    try removeHalf(space, &files, 500)
    var calls = 0
    try space.compact { progress in
      calls += 1
      #expect(progress.moved <= progress.total)
      return calls < 2
    }
    #expect(calls == 2, "the compaction went on")
    #expect(try space.files() == files)
    var last: CompactionProgress?
    try space.compact { progress in
      last = progress
      return true
    }
    #expect(last.map { $0.moved == $0.total } ?? false, "nothing was left to move")
    #expect(try space.files() == files)
    try space.close()
  }

  @Test func aFileInManyPiecesComesTogether() throws {
    var random = SeededRandom()
    let space = try place.open(grace: 0, background: false)
    try space.write([], to: "a")
    var content: [UInt8] = []
    for piece in 0..<100 {
      let part = random.filling(3000)
      let extent = try space.append(part, to: "a", at: Int64(content.count))
      try space.write(random.filling(9000), to: "gone \(piece)")
      content += part
      space.place([extent], in: "a", size: Int64(content.count))
    }
    // The last pieces are in a segment that may still be written to, until it is full.
    try space.write(random.filling(300_000), to: "gone 0")
    for piece in 0..<100 { space.remove("gone \(piece)") }
    try space.commit()
    try space.compact()
    #expect(try space.content(of: "a") == content)
    #expect(space.extents(of: "a").count < 50)
    try space.close()
  }
}

extension SeededRandom {
  /// Returns bytes that differ from place to place and from call to call. This is faster than random ones.
  mutating func filling(_ count: Int) -> [UInt8] {
    let block = bytes(1021)
    var result: [UInt8] = []
    result.reserveCapacity(count + block.count)
    while result.count < count { result += block }
    result.removeLast(result.count - count)
    return result
  }
}

/// Waits for a condition, and fails if it does not come about.
func waiting(_ isDone: () throws -> Bool) throws {
  let isSo = try eventually(isDone)
  try #require(isSo, "waited in vain")
}

extension Space {
  private func index(_ name: String) -> InodeIndex? {
    read { $0.child(FileName(known: Array(name.utf8)), of: $0.index(of: .root)!) }
  }

  func extents(of name: String) -> [Extent] {
    guard let index = index(name) else { return [] }
    return read { $0.extents(of: index, from: 0, to: .max) }
  }

  /// Seals content of a file that the catalog does not know yet.
  func append(_ bytes: [UInt8], to name: String, at offset: Int64 = 0) throws -> Extent {
    guard let index = index(name) else { throw StoreError(.missing, name) }
    let number = read { $0.state(index).number }
    var buffer = [UInt8](repeating: 0, count: ReadHeadroom.byteCount) + bytes
    return try unsafe buffer.withUnsafeMutableBytes {
      var held = try unsafe append(
        UnsafeMutableRawBufferPointer(rebasing: $0[ReadHeadroom.byteCount...]), of: number,
        at: offset, fileLength: offset + Int64(bytes.count))
      return held.take()[0]
    }
  }

  func place(_ extents: [Extent], in name: String, size: Int64) {
    guard let index = index(name) else { return }
    change { catalog in
      catalog.placeExtents(extents, of: index)
      catalog.update(index) { $0.size = size }
    }
  }

  /// Makes a new file that shares a stretch of another file's content, as copy_file_range does.
  func share(_ name: String, _ range: Range<Int64>, as other: String) throws {
    try write([], to: other)
    guard let from = index(name), let to = index(other) else { return }
    change { catalog in
      let shared = catalog.extents(of: from, from: range.lowerBound, to: range.upperBound)
        .map { extent in
          var moved = extent
          moved.offset -= range.lowerBound
          return moved
        }
      for extent in shared { catalog.hold(extent) }
      catalog.placeExtents(shared, of: to)
      catalog.update(to) { $0.size = range.upperBound - range.lowerBound }
    }
    try commit()
  }
}
