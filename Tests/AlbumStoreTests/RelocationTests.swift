import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// The arithmetic of a move. Each living byte is copied once, and every extent that pointed to it then points
// to its copy. The move leaves content alone that changed in the meantime.

struct RelocationTests {
  /// Runs of records in two segments, as a writer leaves them: full records and a shorter last one.
  private static let runs: [Extent] = [
    Extent(offset: 0, length: 200_000, segment: SegmentNumber(1), grid: 0, skip: 0),
    Extent(offset: 0, length: 100, segment: SegmentNumber(1), grid: 1000, skip: 0),
    Extent(offset: 0, length: 65_536, segment: SegmentNumber(1), grid: 1001, skip: 0),
    Extent(offset: 0, length: 150_000, segment: SegmentNumber(2), grid: 3, skip: 0),
  ]

  /// A byte of a segment: its record, and its place in the record.
  private struct Byte: Hashable {
    var segment: SegmentNumber
    var grid: UInt32
    var skip: UInt32

    init(_ extent: Extent, _ into: Int64) {
      let part = extent.clipped(from: extent.offset + into, to: extent.end)
      (segment, grid, skip) = (part.segment, part.grid, part.skip)
    }
  }

  private func randomReferences(_ random: inout SeededRandom) -> [Reference] {
    (1...Int.random(in: 1...12, using: &random)).map { number in
      let run = RelocationTests.runs.randomElement(using: &random)!
      let lower = Int64.random(in: 0..<run.length, using: &random)
      let upper = Int64.random(in: (lower + 1)...run.length, using: &random)
      var extent = run.clipped(from: lower, to: upper)
      extent.offset = Int64.random(in: 0...1000, using: &random)
      return Reference(inode: InodeNumber(UInt64(number)), extent: extent)
    }
  }

  @Test func eachByteIsCopiedOnceForAllFilesThatShareIt() {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for _ in 0..<300 {
      let references = randomReferences(&random)
      let parts = LivingParts.of(references)
      var relocations = Relocations()
      var copied: [Byte: Byte] = [:]
      var grid: UInt32 = 0
      for part in parts.map(\.extent) {
        // The copy has records of its own, cut anywhere.
        var from = part.offset
        while from < part.end {
          let to = min(part.end, from + Int64.random(in: 1...65_536, using: &random))
          let copy = Extent(
            offset: from, length: to - from, segment: SegmentNumber(9), grid: grid, skip: 0)
          grid += 300
          relocations.record(part.clipped(from: from, to: to), to: copy)
          for into in stride(from: 0, to: to - from, by: 97) {
            let byte = Byte(part.clipped(from: from, to: to), into)
            #expect(copied[byte] == nil, "copied twice")
            copied[byte] = Byte(copy, into)
          }
          from = to
        }
      }
      relocations.order()
      for reference in references {
        guard let moved = relocations.moved(reference.extent) else {
          Issue.record("not moved")
          continue
        }
        #expect(moved.first?.offset == reference.extent.offset)
        #expect(moved.last?.end == reference.extent.end)
        #expect(moved.allSatisfy { $0.segment == SegmentNumber(9) })
        for extent in moved {
          for into in stride(from: 0, to: extent.length, by: 97) {
            let old = Byte(reference.extent, extent.offset + into - reference.extent.offset)
            if let copy = copied[old] { #expect(Byte(extent, into) == copy) }
          }
        }
      }
    }
  }

  @Test func theSurveyCountsSharedContentOnce() {
    var random = SeededRandom()
    for _ in 0..<100 {
      let references = randomReferences(&random)
      func survey(_ extents: [Extent]) -> Int64 {
        SegmentSurvey(
          extents.map {
            SegmentSurvey.Stretch(
              segment: $0.segment.rawValue, start: UInt32($0.occupied.lowerBound),
              end: UInt32($0.occupied.upperBound))
          }
        ).total
      }
      let all = references.map(\.extent)
      #expect(survey(all) == survey(all + all))
      // Parts are cut where a sharing file ends, on the grid.
      let parts = LivingParts.of(references).map(\.extent)
      #expect(abs(survey(all) - survey(parts)) <= 512 * Int64(parts.count))
    }
  }

  private func catalog() -> Catalog {
    var catalog = Catalog(
      rootOwner: 0, group: 0, permissions: 0o755, time: Timestamp(nanoseconds: 0))
    for _ in 0..<3 {
      _ = catalog.create(
        kind: .regular, permissions: 0o644, owner: 0, group: 0, time: Timestamp(nanoseconds: 0))
    }
    return catalog
  }

  private func place(_ extent: Extent, _ inode: UInt64, _ catalog: inout Catalog) {
    guard let index = catalog.index(of: InodeNumber(inode)) else { return }
    catalog.hold(extent)
    catalog.replaceExtents(of: index, from: extent.offset, to: extent.end, with: [extent])
  }

  private func extents(_ inode: UInt64, _ catalog: borrowing Catalog) -> [Extent] {
    guard let index = catalog.index(of: InodeNumber(inode)) else { return [] }
    return catalog.extents(of: index, from: 0, to: .max)
  }

  private func extent(_ segment: UInt32, _ grid: UInt32, _ length: Int64 = 5000) -> Extent {
    Extent(offset: 0, length: length, segment: SegmentNumber(segment), grid: grid, skip: 0)
  }

  @Test func aMoveSkipsReplacedContentAndIncludesNewSharers() throws {
    var catalog = catalog()
    let files = (2...4).map { UInt64($0) }
    for (place, inode) in files.prefix(2).enumerated() {
      self.place(extent(1, UInt32(place) * 100), inode, &catalog)
    }
    let emptying = catalog.beginEmptying([SegmentNumber(1)])
    let references = files.prefix(2).flatMap { inode in
      extents(inode, catalog).map { Reference(inode: InodeNumber(inode), extent: $0) }
    }
    #expect(references.count == 2)
    var relocations = Relocations()
    var copies: [Extent] = []
    for (place, part) in LivingParts.of(references).enumerated() {
      let copy = extent(5, UInt32(place) * 100)
      catalog.hold(copy)
      copies.append(copy)
      relocations.record(part.extent, to: copy)
    }
    relocations.order()
    // In the meantime the first file is written anew, and the third begins to share the second's content.
    place(extent(7, 0), files[0], &catalog)
    place(extent(1, 100), files[2], &catalog)
    var ranges = references.map { ContentRange($0.inode, $0.extent) }
    ranges += catalog.takeSharers(emptying)
    while !ranges.isEmpty { catalog.applyMoves(relocations, to: &ranges, limit: 1) }
    for copy in copies { catalog.letGo(copy) }
    catalog.endEmptying(emptying)
    #expect(extents(files[0], catalog) == [extent(7, 0)])
    #expect(extents(files[1], catalog) == [extent(5, 100)])
    #expect(extents(files[2], catalog) == [extent(5, 100)])
    #expect(catalog.segments.accounts[SegmentNumber(1)]?.live == 0)
    #expect(catalog.segments.accounts[SegmentNumber(5)]?.live == 10_000)
  }
}

struct CompactionPlanTests {
  private func plan(
    _ living: [Int64], total: Int64? = nil, room: Int64 = 0, _ goal: CompactionPlan.Goal
  ) -> [UInt32] {
    let candidates = living.enumerated().map {
      CompactionPlan.Candidate(number: SegmentNumber(UInt32($0) + 1), living: $1)
    }
    let store = CompactionPlan.Store(
      segmentSize: 100, total: total ?? Int64(living.count) * 100,
      living: living.reduce(0, +), openRoom: room)
    return CompactionPlan(candidates, of: store, goal: goal).victims.map(\.number.rawValue)
  }

  @Test func theEmptiestGoFirstAndNoMoreThanNeeded() {
    let full = [Int64](repeating: 99, count: 16)
    #expect(plan(full, .demanded) == [])
    #expect(plan(full + [30, 10, 60], .background) == [18, 17])
    #expect(plan([50, 50, 50, 50], .background) == [1, 2, 3, 4])
  }

  @Test func nothingIsMovedForNoGain() {
    #expect(plan([10], .demanded) == [])
    #expect(plan([10], total: 200, room: 50, .demanded) == [1])
    #expect(plan([10], total: 200, room: 5, .demanded) == [])
    #expect(plan([80, 80, 80], .demanded) == [])
    #expect(plan([], .demanded) == [])
  }

  @Test func nearlyFullSegmentsAreNotWorthIt() {
    #expect(plan([Int64](repeating: 92, count: 50), total: 9000, .background) == [])
  }
}
