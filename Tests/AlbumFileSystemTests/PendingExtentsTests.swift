import AlbumFormat
import AlbumModel
import AlbumStore
import Testing

@testable import AlbumFileSystem

// Content that is sealed and in no frame yet counts as living, each byte of the file once, until it is
// replaced, cut off, handed over or discarded.

struct PendingExtentsTests {
  private let test: TestSpace
  private var space: Space { test.space }
  init() throws { test = try TestSpace() }

  private func living() -> Int64 {
    space.read { catalog in catalog.segments.accounts.values.reduce(0) { $0 + $1.live } }
  }

  private func seal(_ range: Range<Int64>) throws -> HeldExtents {
    var buffer = [UInt8](repeating: 5, count: ReadHeadroom.byteCount + range.count)
    var held = HeldExtents(in: space)
    try unsafe buffer.withUnsafeMutableBytes {
      held.add(
        try unsafe space.append(
          UnsafeMutableRawBufferPointer(rebasing: $0[ReadHeadroom.byteCount...]),
          of: InodeNumber(99), at: range.lowerBound, fileLength: range.upperBound))
    }
    return held
  }

  @Test func eachByteCountsOnceAndTheRestGoes() throws {
    let before = living()
    do {
      var pending = PendingExtents(in: space)
      pending.put(try seal(0..<4000))
      pending.put(try seal(1000..<6000))
      #expect(living() == before + 6000)
      #expect(pending.overlapping(from: 900, to: 1100).map(\.length) == [100, 100])
      pending.cut(at: 5000)
      #expect(living() == before + 5000)
    }
    #expect(living() == before)
  }

  @Test func extentsThatWereHandedOverStay() throws {
    let before = living()
    var given: [Extent] = []
    do {
      var pending = PendingExtents(in: space)
      pending.put(try seal(0..<4000))
      given = pending.take(below: 1500)
      #expect(pending.extents.map(\.offset) == [1500])
    }
    #expect(given.map(\.end) == [1500])
    #expect(living() == before + 1500)
    space.change { catalog in for extent in given { catalog.letGo(extent) } }
    #expect(living() == before)
  }

  @Test func aFileThatIsAbandonedLeavesNothing() throws {
    let before = living()
    do {
      var state = FileContent.State(size: 0, space: space)
      state.pending.put(try seal(0..<4000))
      #expect(!state.isClean && living() == before + 4000)
    }
    #expect(living() == before)
  }
}
