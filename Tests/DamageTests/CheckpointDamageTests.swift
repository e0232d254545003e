import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Testing

@testable import AlbumStore

// A damaged checkpoint costs a longer replay from the former one, and nothing else. If both are damaged, the
// mount is refused, because the catalog is not known.

struct CheckpointDamageTests {
  private let sample: SampleStore
  init() throws { sample = try SampleStore.shared.get() }

  @Test func aFlippedByteCostsALongerReplayAndNothingElse() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var flips = FlipCount()
    let number = try #require(sample.segments(.checkpoint).last)
    let used = try usedBytes(number)
    let end = Thoroughness.isLong ? SampleStore.segmentSize : used.end
    for offset in Thoroughness.places(0..<end, 250, &random) {
      let disk = sample.disk()
      disk.flip(sample.path(.checkpoint, number), offset, random.bit())
      let store = disk.frozen()
      let mounted = try MountedAlbums(disk, sample.keys)
      flips.add(mounted)
      #expect(mounted.space.observe() == sample.newest, "byte \(offset)")
      let report = mounted.space.status.recovery
      #expect((report.checkpoint != .newest) == used.records.contains { $0.contains(offset) })
      #expect(report.damagedFrames == 0 && report.wasClean)
      if flips.count % 100 == 0 {
        let faults = try sample.namingFaults(store, mounted) + sample.liveOn(mounted)
        #expect(faults == [], "byte \(offset)")
      }
    }
    print("checkpoint: \(flips)")
  }

  @Test func theFormerCheckpointIsNotLookedAtWhileTheNewestIsWhole() throws {
    let number = try #require(sample.segments(.checkpoint).first)
    let disk = sample.disk()
    try disk.remove(sample.path(.checkpoint, number))
    let mounted = try MountedAlbums(disk, sample.keys)
    #expect(mounted.space.observe() == sample.newest)
    #expect(!mounted.space.status.recovery.isDamaged)
  }

  /// Nothing is lost: a check names the checkpoint, and no file.
  @Test func aCheckNamesTheCheckpointAndNoFile() throws {
    for number in sample.segments(.checkpoint).suffix(2) {
      let disk = sample.disk()
      disk.flip(sample.path(.checkpoint, number), 256 + 100, 1)
      let report = try disk.check(sample.keys)
      #expect(report.findings.map(\.kind) == [.checkpoint])
      #expect(report.findings.first?.severity == .damage)
      #expect(report.findings.first?.segments == [sample.path(.checkpoint, number)])
    }
  }

  /// While the journal exists from its beginning, nothing is lost.
  @Test func withBothDamagedTheWholeJournalIsReplayed() throws {
    let disk = sample.disk()
    for number in sample.segments(.checkpoint) {
      disk.flip(sample.path(.checkpoint, number), 256 + 100, 1)
    }
    let mounted = try MountedAlbums(disk, sample.keys)
    #expect(mounted.space.observe() == sample.newest)
    #expect(mounted.space.status.recovery.isDamaged)
  }

  @Test func withBothDamagedTheMountIsRefusedAndSaysWhatToDo() throws {
    let disk = sample.disk()
    for number in sample.segments(.checkpoint) {
      disk.flip(sample.path(.checkpoint, number), 256 + 100, 1)
    }
    let first = try #require(sample.segments(.journal).first)
    try disk.remove(sample.path(.journal, first))
    let error = refusal { _ = try MountedAlbums(disk, sample.keys) }
    #expect(error?.code == .damaged)
    #expect(error?.remedy == .repair)
    // All content exists, though names may not. The check reports none as unreadable.
    let report = try disk.check(sample.keys)
    #expect(report.findings.filter { $0.kind == .checkpoint }.count == 2)
    #expect(report.unreadableStretches == [:])
  }

  private func usedBytes(_ number: UInt32) throws -> (end: Int, records: [Range<Int>]) {
    let files = SegmentFiles(
      directory: sample.disk(), keys: sample.keys, segmentSize: SampleStore.segmentSize)
    _ = try files.list()
    let id = SegmentID(kind: .checkpoint, number: SegmentNumber(number))
    let image = try #require(try files.contents(id))
    var walk = SegmentWalk(image, name: files.name(id), cipher: sample.keys.cipher)
    var records: [Range<Int>] = []
    while let record = walk.next() {
      if record.kind != .checkpoint { continue }
      let count = RecordLayout.sealedByteCount(plaintext: record.plaintext.count)
      records.append(record.offset..<record.offset + count)
    }
    return (records.last?.upperBound ?? 0, records)
  }
}
