import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

/// Both heads of the newest journal segment are unreadable. So nothing says which segments are before it, but
/// for its frames.
struct HeadlessJournalTests {
  private static let (part, whole) = (65_536, 3 * 65_536)
  let place: StorePlace

  init() throws {
    place = try StorePlace()
    let space = try place.open(background: false)
    try space.write([UInt8](repeating: 1, count: Self.whole), to: "a")
    try space.close()
  }

  private static func content(_ parts: UInt8...) -> [UInt8] {
    parts.flatMap { [UInt8](repeating: $0, count: part) }
  }

  /// Overwrites the middle of the file after another frame. The session is killed. Returns its journal segment.
  private func kill(_ place: StorePlace, after barriers: Int) throws -> String {
    let known = Set(place.store.directory.segmentPaths())
    let space = try place.open(background: false)
    try space.write([9], to: "other")
    for number in 0..<barriers {
      try space.write([9], to: "\(number)")
      try space.barrier()
    }
    try space.overwrite(
      [UInt8](repeating: 2, count: Self.part), at: Int64(Self.part), of: "a", size: Self.whole)
    space.abandon()
    let made = Set(place.store.directory.segmentPaths()).subtracting(known)
    return try #require(made.first { place.keys.segment(at: $0)?.kind == .journal })
  }

  /// Destroys both heads of a segment and its first frames.
  private func destroy(_ journal: String, frames: Int, in place: StorePlace) throws {
    let scan = try place.scan(journal)
    let end = frames == 0 ? scan.start : scan.frames[frames - 1].end
    var random = SeededRandom()
    let start = SegmentSeal.reservedByteCount
    var bytes = try #require(place.segments()[journal])
    bytes.replaceSubrange(start..<end, with: random.bytes(end - start))
    try place.replace(journal, bytes)
  }

  private func repair(_ place: StorePlace) throws -> CheckReport {
    var options = CheckOptions()
    options.repairs = true
    _ = try SpaceCheck.run(place.store, keys: place.keys, options: options)
    let report = try SpaceCheck.run(place.store, keys: place.keys)
    #expect(!report.wantsRepair, "\(report.findings)")
    return report
  }

  private func shown(_ place: StorePlace) throws -> [UInt8] {
    let space = try place.open(readOnly: true)
    defer { try? space.close() }
    return try #require(try space.content(of: "a"))
  }

  /// Its frames follow those before it, so they are the end of history.
  @Test(arguments: [0, 2]) func aRepairBringsItsFramesBack(barriers: Int) throws {
    try destroy(kill(place, after: barriers), frames: 0, in: place)
    #expect(try shown(place) == Self.content(1, 1, 1))
    _ = try repair(place)
    #expect(try shown(place) == Self.content(1, 2, 1))
  }

  /// A power cut tore it: nothing shows that it was once on disk, and its first frame is lost. A mount leaves
  /// out such a segment, and a repair does not change files by it either.
  @Test func aRepairLeavesOutWhatAMountLeavesOut() throws {
    try destroy(kill(place, after: 0), frames: 1, in: place)
    #expect(try shown(place) == Self.content(1, 1, 1))
    _ = try repair(place)
    #expect(try shown(place) == Self.content(1, 1, 1))
  }

  /// It was on disk and lost its first frames. The store knows no other timeline, so the rest is of this one.
  @Test func aRepairBringsBackWhatIsLeftOfASegmentThatWasOnDisk() throws {
    try destroy(kill(place, after: 2), frames: 1, in: place)
    _ = try repair(place)
    #expect(try shown(place) == Self.content(1, 2, 1))
  }

  /// Both a store and its copy were written to, and somebody merged them. The newest journal segment of the
  /// one lost its heads and its first frame. Former fault: the repair changed the other's file by it.
  @Test(arguments: [0, 2]) func aRepairDoesNotMixTheOtherTimelineIntoAFile(barriers: Int) throws {
    let copy = try StorePlace(copyOf: place)
    let space = try place.open(background: false)
    try space.write([3], to: "of the source")
    try space.close()
    try destroy(kill(place, after: barriers), frames: 1, in: place)
    let other = try copy.open(background: false)
    try other.write([4], to: "of the copy")
    try other.close()
    for (path, bytes) in try place.segments() where try copy.segments()[path] == nil {
      try copy.replace(path, bytes)
    }

    #expect(try shown(copy) == Self.content(1, 1, 1))
    let report = try repair(copy)
    let mixed = try copy.open(readOnly: true)
    defer { try? mixed.close() }
    #expect(try mixed.content(of: "a") == Self.content(1, 1, 1), "\(report.findings)")
    #expect(try mixed.content(of: "of the copy") == [4])
  }
}
