import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

/// A mount reads each segment of the journal once, although recovery has several questions: whether timelines
/// mix, what is proven, what the frames of the last 15 minutes describe, and how files were that lack content
/// now.
struct JournalReadTests {
  let place: CheckPlace
  init() throws { place = try CheckPlace() }

  /// Returns how often each journal segment is read while the space is mounted.
  private func readsOfMount(readOnly: Bool) throws -> [SegmentNumber: Int] {
    let disk = FaultyDisk(place.store.store.directory)
    let numbers = try place.journals()
    let store = Store(disk, place.store.store.configuration)
    var options = SpaceOpenOptions(logger: Logger(label: "test"))
    options.readOnly = readOnly
    options.worksInBackground = false
    let paths = numbers.map { place.path(.journal, $0) }
    let space = try Space.open(store, keys: place.store.keys, options: options)
    let reads = disk.reads
    space.abandon()
    return Dictionary(uniqueKeysWithValues: zip(numbers, paths.map { reads[$0] ?? 0 }))
  }

  private func expectOneReadOfEach(readOnly: Bool) throws {
    let reads = try readsOfMount(readOnly: readOnly)
    let newest = try #require(reads.keys.max())
    #expect(reads[newest] == 1)
    #expect(reads.values.allSatisfy { $0 <= 1 }, "\(reads)")
  }

  @Test(arguments: [true, false]) func aMountReadsTheJournalOnce(readOnly: Bool) throws {
    try expectOneReadOfEach(readOnly: readOnly)
  }

  @Test(arguments: [true, false]) func soDoesAMountAfterASessionThatWasKilled(readOnly: Bool) throws
  {
    let space = try place.store.open(background: false)
    for file in 0..<20 { try space.write([UInt8(file)], to: "late \(file)") }
    space.abandon()
    try expectOneReadOfEach(readOnly: readOnly)
  }

  /// Frames are replayed again by another rule, and recovery looks up the former state of files.
  @Test(arguments: [true, false]) func soDoesAMountOfACopyThatLacksContent(readOnly: Bool) throws {
    let space = try place.store.open(background: false)
    try space.write([UInt8](repeating: 1, count: 5000), to: "big")
    try space.barrier()
    let newest = space.read { $0.segments.accounts.keys.max()! }
    space.abandon()
    try place.store.store.directory.remove(place.path(.data, newest))
    try expectOneReadOfEach(readOnly: readOnly)
    let mounted = try place.store.open(readOnly: true)
    #expect(mounted.status.recovery.isIncomplete)
    try mounted.close()
  }
}
