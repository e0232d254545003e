import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

/// A store goes to a machine with a release that knows no history, and comes back. There it shows the right
/// tree, and what is lost is history alone.
struct OlderReleaseTests {
  @Test(arguments: 0..<6) func aSessionWithoutHistoryCostsHistoryAlone(_ round: Int) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let space = try TestSpace(grace: 0)
    var written: Set<[UInt8]> = []
    try space.mkdir("Trip")
    for step in 0..<40 {
      try change(space, &random, &written)
      if step % 5 == 0 { try space.makeThumbnails() }
    }
    try space.makeThumbnails()
    _ = space.space.makePoint(
      FileName(literal: "named"), at: space.space.removalMoment(space.fileSystem.clock.now()))
    let before = try files(space)
    let deleted = space.deleted.count
    try space.remount()
    space.space.change { $0.forgetHistory() }
    #expect(try files(space) == before)
    try space.write(random.bytes(400_000), to: "Trip/Photo/new")
    if round % 2 == 0, let some = before.keys.sorted().first { try space.unlink(some) }
    if round % 3 == 0 { try space.space.compact() }
    if round % 3 == 1 { try space.space.durability.checkpoint() }
    let after = try files(space)
    space.space.change { $0.properties[.keepsDeleted] = nil }
    try space.remount()
    #expect(try files(space) == after)
    #expect(space.space.points.isEmpty)
    #expect(space.deleted.count <= deleted)
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
    for file in space.deleted where file.size > 0 {
      let path = String(decoding: try space.fileSystem.restoreDeleted(file).path, as: UTF8.self)
      let content = try space.read(path)
      #expect(written.contains(content), "\(path) comes back with what it never held")
      if let thumbnail = try? space.read(path.replacing("Photo/", with: "Thumb/")),
        path.contains("Photo/")
      {
        #expect(thumbnail == Array("thumbnail of ".utf8) + content)
      }
    }
    try space.makeThumbnails()
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
    try space.crash()
    for path in try files(space).keys { _ = try space.read(path) }
  }

  private func change(
    _ space: TestSpace, _ random: inout SeededRandom, _ written: inout Set<[UInt8]>
  ) throws {
    let path = "Trip/Photo/\(Int.random(in: 0..<6, using: &random))"
    switch Int.random(in: 0..<8, using: &random) {
    case 0..<5:
      let content = random.bytes(Int.random(in: 1..<90_000, using: &random))
      written.insert(content)
      try space.write(content, to: path)
      space.clock.advance(seconds: 100)
    case 5 where space.exists(path): try space.unlink(path)
    case 6 where space.exists(path): try space.rename(path, path + "'")
    default: space.clock.advance(seconds: 100)
    }
  }

  /// The contents of all files, by their paths; with thumbnails.
  private func files(_ space: TestSpace, _ top: String = "") throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for name in try space.list(top) {
      let path = top.isEmpty ? name : "\(top)/\(name)"
      if try space.status(path).kind == .directory {
        found.merge(try files(space, path)) { first, _ in first }
      } else {
        found[path] = try space.read(path)
      }
    }
    return found
  }
}

extension Catalog {
  /// Drops all that a release without history does not know, as its replay does: without stating it.
  fileprivate mutating func forgetHistory() {
    isReplaying = true
    // In memory alone: the session keeps nothing, and does not say that it records what points show.
    properties[.keepsDeleted] = 0
    properties[.pointSession] = nil
    changes.waitingProperties = []
    points = []
    for place in 0..<formers.upperBound {
      if let record = formers.occupant(place) { dropFormer(of: InodeIndex(rawValue: record.inode)) }
    }
    for place in 0..<formers.names.upperBound where formers.names.occupant(place) != nil {
      formers.names.remove(place)
    }
    (pastCounts, formerCounts) = (.init(), .init())
    for raw in 0..<inodes.upperBound {
      if let index = inodes.occupant(raw) { inodes[index].isInPast = false }
    }
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw), inodes[index].state.links == 0,
        inodes[index].pins == 0
      else { continue }
      free(index)
    }
    while letGoOfDetached(limit: Catalog.extentsPerSlice) {}
    isReplaying = false
  }
}
