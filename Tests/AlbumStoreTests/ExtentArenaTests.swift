import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// Extents of several files in one arena, compared with a plain model that knows the record of each byte of a
// file. Files grow to trees of several levels and shrink again.

struct ExtentArenaTests {
  /// The place of a byte; nil in a hole.
  typealias Home = Int?

  /// Writes one record for each extent, so that no extent continues another by chance. Cuts some records into
  /// two extents that do continue.
  struct Writer {
    private var grid: UInt32 = 0

    mutating func extents(
      from: Int, to: Int, cutAt cut: Int? = nil
    ) -> [Extent] {
      let whole = Extent(
        offset: Int64(from), length: Int64(to - from), segment: SegmentNumber(1), grid: grid,
        skip: 0)
      grid += 1
      guard let cut, from < cut, cut < to else { return [whole] }
      return [
        whole.clipped(from: whole.offset, to: Int64(cut)),
        whole.clipped(from: Int64(cut), to: whole.end),
      ]
    }
  }

  static func homes(_ extents: [Extent], _ model: inout [Home]) {
    for extent in extents {
      for step in 0..<Int(extent.length) {
        model[Int(extent.offset) + step] = Int(extent.grid) << 20 + Int(extent.skip) + step
      }
    }
  }

  @Test(arguments: 0..<3) func filesEqualThePlainModel(_ round: Int) {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let length = 30_000
    var arena = ExtentArena()
    var blocks = [ExtentBlock](repeating: ExtentBlock(), count: 3)
    var models = [[Home]](repeating: [Home](repeating: nil, count: length), count: 3)
    var writer = Writer()
    var deepest: UInt8 = 0
    /// The bytes that the arena reports as removed from files.
    var given: [Home] = []
    var expected: [Home] = []
    for step in 0..<12_000 {
      let file = Int.random(in: 0..<3, using: &random)
      // The files mostly grow, then mostly shrink, and so on.
      let isShrinking = step / 3000 % 2 == 1
      var (from, to) = (Int.random(in: 0..<length, using: &random), 0)
      var new: [Extent] = []
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<(isShrinking ? 30 : 85):
        to = min(length, from + Int.random(in: 1...12, using: &random))
        let cut = Bool.random(using: &random) ? (from + to) / 2 : nil
        new = writer.extents(from: from, to: to, cutAt: cut)
      case 0..<92:
        to = min(length, from + Int.random(in: 1...(isShrinking ? 400 : 50), using: &random))
      case 0..<98:
        // Several pieces at once, with holes between them.
        to = min(length, from + 300)
        for start in stride(from: from, to: to, by: 20) {
          new += writer.extents(from: start, to: min(to, start + 15))
        }
      default:
        to = isShrinking ? .max : min(length, from + 500)
      }
      let end = min(to, length)
      for byte in models[file][from..<end] where byte != nil { expected.append(byte) }
      let dropped = arena.replace(
        &blocks[file], from: Int64(from), to: to == .max ? .max : Int64(to), with: new)
      for place in from..<end { models[file][place] = nil }
      ExtentArenaTests.homes(new, &models[file])
      given += ExtentArenaTests.bytes(dropped)
      if step % 7 == 0 { given += ExtentArenaTests.bytes(arena.takeDetached(limit: 100)) }
      deepest = max(deepest, blocks[file].height)
      if step % 300 == 0 || step > 11_990 {
        #expect(arena.fault(in: blocks[file]) == nil)
        var found = [Home](repeating: nil, count: length)
        ExtentArenaTests.homes(arena.all(blocks[file]), &found)
        let isEqual = found == models[file]
        #expect(isEqual)
        #expect(blocks[file].byteCount == Int64(found.count { $0 != nil }))
        let place = Int64.random(in: 0..<Int64(length), using: &random)
        let next = arena.first(blocks[file], endingBehind: place)
        #expect(next == arena.all(blocks[file]).first { $0.end > place })
        #expect(arena.last(blocks[file]) == arena.all(blocks[file]).last)
      }
    }
    #expect(deepest >= 2, "files were trees of several levels")
    for file in 0..<3 {
      expected += models[file].filter { $0 != nil }
      given += ExtentArenaTests.bytes(arena.release(&blocks[file]))
      #expect(blocks[file].count == 0)
    }
    while true {
      let taken = arena.takeDetached(limit: 1000)
      if taken.isEmpty { break }
      given += ExtentArenaTests.bytes(taken)
    }
    let isEqual = given.compactMap { $0 }.sorted() == expected.compactMap { $0 }.sorted()
    #expect(isEqual, "each byte goes once")
  }

  private static func bytes(_ extents: [Extent]) -> [Home] {
    extents.flatMap { extent in
      (0..<Int(extent.length)).map { Int(extent.grid) << 20 + Int(extent.skip) + $0 }
    }
  }

  /// Makes a file of `count` extents of one byte each, with holes between them, inserted in random order.
  private func scattered(
    _ count: Int, _ arena: inout ExtentArena, _ random: inout SeededRandom
  ) -> ExtentBlock {
    var block = ExtentBlock()
    for place in (0..<count).shuffled(using: &random) {
      let extent = Extent(
        offset: Int64(place) * 4096, length: 1, segment: SegmentNumber(1), grid: UInt32(place),
        skip: 0)
      _ = arena.replace(&block, from: extent.offset, to: extent.end, with: [extent])
    }
    return block
  }

  @Test func anInsertionTouchesFewNodesHoweverManyExtentsThereAre() {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var arena = ExtentArena()
    var block = ExtentBlock()
    var most = 0
    for (step, place) in (0..<100_000).shuffled(using: &random).enumerated() {
      let extent = Extent(
        offset: Int64(place) * 4096, length: 1, segment: SegmentNumber(1), grid: UInt32(step),
        skip: 0)
      let before = arena.steps.taken
      _ = arena.replace(&block, from: extent.offset, to: extent.end, with: [extent])
      most = max(most, arena.steps.taken - before)
    }
    #expect(block.count == 100_000)
    #expect(arena.fault(in: block) == nil)
    print("at most \(most) steps, \(arena.byteCount / 100_000) bytes an extent")
    #expect(most < 120)
    #expect(arena.byteCount < 100_000 * 64)
    // Each removal takes place at once.
    for range in [(1_000_000, 300_000_000), (4096, 409_000_000), (5, Int64.max)] as [(Int64, Int64)]
    {
      let before = arena.steps.taken
      _ = arena.replace(&block, from: range.0, to: range.1, with: [])
      #expect(arena.steps.taken - before < 300)
      #expect(arena.fault(in: block) == nil)
    }
    #expect(block.count == 1)
  }

  @Test func roomThatAFileFreesIsUsedAgain() {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var arena = ExtentArena()
    var taken = 0
    for round in 0..<8 {
      var block = scattered(5000, &arena, &random)
      // Removes parts, so that nodes are emptied, merged and detached.
      for _ in 0..<50 {
        let from = Int64.random(in: 0..<5000 * 4096, using: &random)
        _ = arena.replace(&block, from: from, to: from + 300 * 4096, with: [])
      }
      _ = arena.release(&block)
      while !arena.takeDetached(limit: 1000).isEmpty {}
      if round == 1 { taken = arena.byteCount }
    }
    #expect(arena.byteCount < taken + taken / 4, "nodes were lost")
  }

  @Test func aFileOfOneExtentTakesOne() {
    var arena = ExtentArena()
    for number in 0..<1000 as Range<UInt32> {
      var block = ExtentBlock()
      let extent = Extent(
        offset: 0, length: 5, segment: SegmentNumber(1), grid: number, skip: 0)
      _ = arena.replace(&block, from: 0, to: 5, with: [extent])
    }
    #expect(arena.byteCount == 1000 * MemoryLayout<Extent>.stride)
  }

  @Test(arguments: 0..<4) func changedRangesAreTheUnionOfAll(_ round: Int) {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var ranges = ChangedRanges()
    var model = [Bool](repeating: false, count: 20_001)
    for _ in 0..<3000 {
      let from = Int.random(in: 0..<20_000, using: &random)
      let to = min(20_000, from + Int.random(in: 1...6, using: &random))
      ranges.insert(Int64(from)..<Int64(to))
      for place in from..<to { model[place] = true }
    }
    var found = [Bool](repeating: false, count: 20_001)
    var end: Int64 = -1
    for range in ranges.ranges {
      #expect(range.lowerBound > end, "in order, and none meets the next")
      end = range.upperBound
      for place in range { found[Int(place)] = true }
    }
    #expect(found == model)
    #expect(ranges.ranges.count > 1000, "they did not become one")
  }
}
