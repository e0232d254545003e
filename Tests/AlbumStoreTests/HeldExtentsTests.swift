import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// Sealed content without a file takes room until its holder ends. No caller has to release it.

struct HeldExtentsTests {
  let place: StorePlace
  init() throws { place = try StorePlace() }

  private func living(_ space: Space) -> Int64 {
    space.read { catalog in catalog.segments.accounts.values.reduce(0) { $0 + $1.live } }
  }

  private func seal(_ space: Space, _ byteCount: Int) throws -> HeldExtents {
    var buffer = [UInt8](repeating: 5, count: ReadHeadroom.byteCount + byteCount)
    var held = HeldExtents(in: space)
    try unsafe buffer.withUnsafeMutableBytes {
      held.add(
        try unsafe space.append(
          UnsafeMutableRawBufferPointer(rebasing: $0[ReadHeadroom.byteCount...]),
          of: InodeNumber(99), at: 0, fileLength: Int64(byteCount)))
    }
    return held
  }

  @Test func contentWithoutAFileIsGarbageOnceItsHolderIsGone() throws {
    let space = try place.open(grace: 0, background: false)
    let before = living(space)
    do {
      var held = try seal(space, 4000)
      held.add(try seal(space, 3000))
      let count = held.extents.count
      #expect(count == 2)
      #expect(living(space) > before + 6000)
    }
    #expect(living(space) == before)
    try space.close()
  }

  @Test func extentsThatWereHandedOverStayAndTheRestGoes() throws {
    let space = try place.open(grace: 0, background: false)
    let before = living(space)
    var given: [Extent] = []
    do {
      var held = try seal(space, 4000)
      held.add(try seal(space, 3000))
      given = held.take(1)
      let isEmpty = held.isEmpty
      #expect(!isEmpty)
    }
    #expect(given.map(\.length) == [4000])
    let after = living(space)
    #expect(after > before + 3999 && after < before + 6000)
    space.change { catalog in for extent in given { catalog.letGo(extent) } }
    #expect(living(space) == before)
    try space.close()
  }

  /// A file system passes buffers whose neighbours hold data that it has read before.
  @Test func aReadLeavesTheBytesBeforeItsBufferAsTheyWere() throws {
    let space = try place.open(grace: 0, background: false)
    let held = try seal(space, 4000)
    let headroom = ReadHeadroom.byteCount
    for count in [4000, 100] {
      let pattern = (0..<headroom).map { UInt8(truncatingIfNeeded: $0 * 7 + 1) }
      var buffer = pattern + [UInt8](repeating: 0, count: count)
      try unsafe buffer.withUnsafeMutableBytes {
        try unsafe space.read(
          held.extents[0].clipped(from: 0, to: Int64(count)),
          into: UnsafeMutableRawBufferPointer(rebasing: $0[headroom...]))
      }
      #expect(Array(buffer[..<headroom]) == pattern)
      #expect(Array(buffer[headroom...]) == [UInt8](repeating: 5, count: count))
    }
    try space.close()
  }
}
