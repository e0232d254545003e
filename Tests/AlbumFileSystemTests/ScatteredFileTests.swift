import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// A file in very many pieces, as random writes into a sparse file leave it. No call may touch all of them
// under one hold of the catalog's lock. `CatalogLock` ends the test if one does.

struct ScatteredFileTests {
  /// More pieces than one hold may touch.
  static let count = 70_000
  static let spacing: Int64 = 4096

  let space: TestSpace

  init() throws {
    space = try TestSpace(grace: 0)
    try space.mkdir(".plain")
  }

  private func index(_ path: String) throws -> InodeIndex {
    let number = try space.number(path)
    return try #require(space.space.read { $0.index(of: number) })
  }

  /// Divides a file into pieces of one byte each, all of one record.
  private func scatter(_ path: String, _ count: Int) throws {
    let file = try space.create(path)
    try file.put([UInt8](repeating: 7, count: 60_000), at: 0)
    try file.flush()
    let index = try index(path)
    let record = try #require(
      space.space.read { $0.extents(of: index, from: 0, to: 1).first })
    for start in stride(from: 0, to: count, by: 500) {
      space.space.change { catalog in
        let end = min(count, start + 500)
        var pieces: [Extent] = []
        for place in start..<end {
          var piece = record
          piece.skip = UInt32(place % 1000)
          (piece.offset, piece.length) = (Int64(place) * ScatteredFileTests.spacing, 1)
          catalog.hold(piece)
          pieces.append(piece)
        }
        catalog.replaceExtents(
          of: index, from: Int64(start) * ScatteredFileTests.spacing,
          to: Int64(end) * ScatteredFileTests.spacing, with: pieces)
        catalog.update(index) { $0.size = Int64(count) * ScatteredFileTests.spacing }
      }
      try space.space.commitIfCrowded()
    }
    file.release()
  }

  private func isWhole(_ path: String, _ count: Int, _ size: Int64) throws -> Bool {
    let index = try index(path)
    return space.space.read { catalog in
      catalog.extentCount(of: index) == count && catalog.state(index).size == size
        && catalog.attributes(index).blocks == (Int64(count) + 511) / 512
    }
  }

  @Test func noCallTouchesAllPiecesAtOnce() throws {
    let count = ScatteredFileTests.count
    let size = Int64(count) * ScatteredFileTests.spacing
    try scatter(".plain/f", count)
    #expect(try isWhole(".plain/f", count, size))
    try space.space.commit()
    try space.space.durability.checkpoint()
    #expect(space.space.compactor.survey().total > 0)
    let file = try space.open(".plain/f", writes: true)
    #expect(try file.seek(to: .data, from: 1) == ScatteredFileTests.spacing)
    #expect(try file.seek(to: .hole, from: 0) == 1)
    #expect(try file.get(4097, at: size / 2).count { $0 == 7 } == 2)
    // A copy takes as many calls as it needs.
    let copy = try space.create(".plain/copy")
    var done: Int64 = 0
    while done < size {
      let more = try space.fileSystem.copyRange(
        of: file, at: done, to: copy, at: done, length: size - done)
      try #require(more > 0)
      done += more
    }
    copy.release()
    #expect(try isWhole(".plain/copy", count, size))
    // Compaction moves a shared record for all files that refer to it.
    let index = try index(".plain/f")
    let segment = try #require(
      space.space.read { $0.extents(of: index, from: 0, to: 1).first?.segment })
    try space.write([UInt8](repeating: 1, count: 300_000), to: ".plain/other")
    #expect(!space.space.context.content.openSegments.contains(segment))
    try space.space.compactor.moveLiving(outOf: segment)
    try space.space.commit()
    let moved = space.space.read { $0.extents(of: index, from: 0, to: .max, limit: 3) }
    #expect(moved.allSatisfy { $0.segment != segment })
    #expect(try isWhole(".plain/copy", count, size))
    #expect(space.space.read { $0.segments.accounts[segment]?.live ?? 0 } == 0)
    // Punched, cut off, written over.
    try file.allocate(
      at: size / 4, length: size / 4, mode: AllocationMode(keepsSize: true, punchesHole: true))
    var change = AttributeChange()
    change.size = size - size / 4
    _ = try space.fileSystem.change(change, of: file.inode)
    try file.put([UInt8](repeating: 9, count: Int(size / 8)), at: 0)
    try file.flush()
    file.release()
    try space.unlink(".plain/copy")
    try space.space.compactor.retireEmptied()
    try space.remount()
    let left = try space.open(".plain/f")
    #expect(try left.get(10, at: size / 8 - 9) == [UInt8](repeating: 9, count: 9) + [7])
    #expect(try left.seek(to: .hole, from: 0) >= size / 8)
    #expect(try left.seek(to: .data, from: size / 4) == size / 2)
    left.release()
    #expect(try space.status(".plain/f").size == size - size / 4)
  }

  @Test func aWriterOfManySmallPiecesPublishesThemInBetween() throws {
    space.space.context.keeper.stop()
    var random = SeededRandom()
    print("seed \(random.seed)")
    let file = try space.create(".plain/f")
    var most = 0
    let number = file.inode
    var model: [Int: UInt8] = [:]
    for step in 0..<6000 {
      let chunk = Int.random(in: 0..<50_000, using: &random)
      model[chunk] = UInt8(step % 255 + 1)
      try file.put([UInt8(step % 255 + 1)], at: Int64(chunk) << 16)
      most = max(most, space.space.read { $0.changes.extentCount })
    }
    #expect(space.space.read { $0.extentCount(of: $0.index(of: number)!) } > 4000)
    #expect(most < 4000, "frames were appended meanwhile")
    for (chunk, byte) in model.prefix(300) {
      #expect(try file.get(1, at: Int64(chunk) << 16) == [byte])
    }
    try file.flush()
    try space.crash()
    #expect(try isWhole(".plain/f", model.count, Int64(model.keys.max()!) << 16 + 1))
  }

  @Test func aFileInPiecesWithHolesIsNotCopiedForNothing() throws {
    let file = try space.create(".plain/f")
    for piece in 0..<100 { try file.put([UInt8](repeating: 1, count: 100), at: Int64(piece) << 17) }
    try file.flush()
    let index = try index(".plain/f")
    let before = space.space.read { $0.extents(of: index, from: 0, to: .max) }
    #expect(before.count == 100)
    file.release()
    #expect(space.space.read { $0.extents(of: index, from: 0, to: .max) } == before)
  }
}
