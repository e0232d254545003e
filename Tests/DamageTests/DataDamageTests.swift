import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// A flipped byte in a data segment. The files with content in that record give an I/O error there, can be
// read everywhere else, and can be removed. No other file is affected.

struct DataDamageTests {
  private let sample: SampleStore
  init() throws { sample = try SampleStore.shared.get() }

  /// The segment with the most records of all files.
  private var segment: SegmentNumber {
    sample.records.max { $0.value.count < $1.value.count }?.key ?? SegmentNumber(0)
  }

  @Test func aFlippedByteIsAnErrorForItsFilesAndNoOthers() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let path = sample.path(.data, segment.rawValue)
    let records = sample.records[segment] ?? []
    let disk = sample.disk()
    let mounted = try MountedAlbums(disk, sample.keys)
    var (count, errors) = (0, 0)
    let size = SampleStore.segmentSize
    for offset in Thoroughness.places(0..<size, 4000, &random) {
      let bit = random.bit()
      disk.flip(path, offset, bit)
      let hit = records.first { $0.range.contains(offset) }?.inodes ?? []
      count += 1
      errors += hit.isEmpty ? 0 : 1
      for inode in hit {
        let content = try mounted.content(of: inode)
        #expect(content == nil, "byte \(offset)")
      }
      if count % 200 == 0 {
        let faults = try sample.readingFaults(mounted, hit: hit)
        #expect(faults == [], "byte \(offset)")
      }
      disk.flip(path, offset, bit)
      for inode in hit where count % 20 == 0 {
        let content = try mounted.content(of: inode)
        #expect(content == sample.newestContents[inode])
      }
    }
    print("data: \(count) flips, \(errors) in living records")
  }

  @Test func aCheckNamesExactlyTheFilesOfAFlippedByte() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var count = 0
    for number in sample.segments(.data) {
      let records = sample.records[SegmentNumber(number)] ?? []
      let beside = Int.random(in: 0..<SampleStore.segmentSize, using: &random)
      let inside = records.map { $0.range.randomElement(using: &random)! }
      for offset in Thoroughness.isLong ? inside + [beside] : Array(inside.prefix(2)) + [beside] {
        let disk = sample.disk()
        disk.flip(sample.path(.data, number), offset, random.bit())
        let store = disk.frozen()
        let hit = records.first { $0.range.contains(offset) }?.inodes ?? []
        let named = try DamagedDisk(store).check(sample.keys).namedInodes
        #expect(named == hit, "data \(number), byte \(offset)")
        let faults = try sample.namingFaults(store, MountedAlbums(disk, sample.keys))
        #expect(faults == [], "data \(number), byte \(offset)")
        count += 1
      }
    }
    print("data: \(count) flips checked")
  }

  @Test func damagedFilesCanBeRemovedAndWrittenAnew() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for record in sample.records[segment] ?? [] {
      let disk = sample.disk()
      disk.flip(
        sample.path(.data, segment.rawValue), record.range.randomElement(using: &random)!,
        random.bit())
      let mounted = try MountedAlbums(disk, sample.keys)
      var faults = try sample.readingFaults(mounted, hit: record.inodes)
      faults += try sample.liveOn(mounted)
      #expect(faults == [], "record at \(record.range.lowerBound)")
    }
  }

  @Test func aCheckNamesNothingOnceTheDamagedFilesAreRemoved() throws {
    let record = try #require(sample.records[segment]?.first)
    let disk = sample.disk()
    disk.flip(sample.path(.data, segment.rawValue), record.range.lowerBound + 100, 1)
    #expect(try disk.check(sample.keys).isDamaged)
    let mounted = try MountedAlbums(disk, sample.keys)
    for (path, item) in mounted.space.observe().items where item.photo == nil {
      if record.inodes.contains(item.inode) { try mounted.unlink(path) }
    }
    _ = try mounted.space.purgeDeleted(Array(mounted.deleted))
    try mounted.makeThumbnails()
    try mounted.unmount()
    #expect(try disk.check(sample.keys).findings == [])
  }

  @Test func aFileIsReadOnBehindAndBeforeADamagedRecord() throws {
    let big = try #require(sample.newest.items["/Trip/Photo/big.jpg"])
    let whole = try #require(sample.newestContents[big.inode])
    let extent = try #require(big.extents.first)
    let disk = sample.disk()
    disk.flip(
      sample.path(.data, extent.segment.rawValue), Int(extent.grid) * RecordLayout.grid + 100, 1)
    let mounted = try MountedAlbums(disk, sample.keys)
    let record = Int(min(extent.length, DataRecord.contentLimit - Int64(extent.skip)))
    #expect(try mounted.content(of: big.inode, at: 0, count: record) == nil)
    let rest = try mounted.content(of: big.inode, at: Int64(record), count: whole.count - record)
    #expect(rest == Array(whole[record...]))
  }

  @Test func aReadErrorIsAnErrorForTheFilesOfThatSegment() throws {
    let disk = sample.disk()
    disk.makeUnreadable(sample.path(.data, segment.rawValue))
    let mounted = try MountedAlbums(disk, sample.keys)
    let hit = (sample.records[segment] ?? []).reduce(into: Set<InodeNumber>()) {
      $0.formUnion($1.inodes)
    }
    let faults = try sample.readingFaults(mounted, hit: hit)
    #expect(faults == [])
    let report = try disk.check(sample.keys)
    #expect(report.namedInodes == hit)
    #expect(report.findings.contains { $0.detail == .diskCannotRead })
  }
}
