import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

/// A tool copies a journal segment in slices while the space writes frames. The copy has later frames and lacks
/// earlier ones.
struct SlicedJournalTests {
  let place: StorePlace
  init() throws { place = try StorePlace() }

  private func journal() throws -> (path: String, scan: JournalScan) {
    let journals = place.store.directory.segmentPaths().compactMap { path in
      place.keys.segment(at: path).map { (path, $0) }
    }.filter { $0.1.kind == .journal }
    let (path, _) = try #require(journals.max { $0.1.number < $1.1.number })
    return (path, try place.scan(path))
  }

  /// The catalog knows a part of an album, and not the album: the frame that made it is not in the copy.
  @Test func whatFollowsFromFramesThatACopyLacksIsNoDamage() throws {
    let space = try place.open(background: false)
    try space.write([1], to: "a")
    let (path, before) = try journal()
    let early = try #require(place.segments()[path])
    let part = space.change { catalog in
      let root = catalog.index(of: .root)!
      let album = catalog.makeDirectory("B", in: root, marks: .album)
      return catalog.makeDirectory("Photo", in: album, marks: .photoDirectory)
    }
    try space.commit()
    let lost = try #require(try journal().scan.frames.last)
    space.change { catalog in
      _ = catalog.makeDirectory("C", in: part, marks: [])
      catalog.update(part) { $0.modified = Timestamp(seconds: 1, nanoseconds: 0) }
    }
    try space.commit()
    space.abandon()

    var copy = try #require(place.segments()[path])
    let slice = before.frames.last!.end..<lost.end
    copy.replaceSubrange(slice, with: early[slice])
    try place.replace(path, copy)
    let report = try SpaceCheck.run(place.store, keys: place.keys)
    #expect(report.findings.contains { $0.detail == .albumPart })
    #expect(!report.isDamaged, "\(report.findings)")
  }
}

extension StorePlace {
  /// Reads the journal segment at a path.
  func scan(_ path: String) throws -> JournalScan {
    let segment = try #require(keys.segment(at: path))
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: StorePlace.segmentSize)
    let id = SegmentID(kind: .journal, number: segment.number)
    files.use(id, segment.birth)
    return try JournalScan(id, files: files)
  }
}

extension Catalog {
  fileprivate mutating func makeDirectory(
    _ name: String, in parent: InodeIndex, marks: InodeState.Marks
  ) -> InodeIndex {
    let index = create(
      kind: .directory, permissions: 0o755, owner: 0, group: 0, time: Timestamp.now)
    update(index) { $0.marks = marks }
    insertEntry(FileName(known: Array(name.utf8)), in: parent, child: index)
    unpin(index)
    return index
  }
}
