import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// A flipped byte in the journal costs at most one frame. Whatever that frame did not describe is unchanged. A
// file that it did describe shows a state that it had at some instant, gives an I/O error, or is missing; it
// never shows other bytes. The mount reports what is missing. Damaged files can be removed, and the space can
// be written to.

struct JournalDamageTests {
  private let sample: SampleStore
  init() throws { sample = try SampleStore.shared.get() }

  @Test func anUndamagedStoreMountsAsItWasLeft() throws {
    let mounted = try MountedAlbums(sample.disk(), sample.keys)
    #expect(mounted.space.observe() == sample.newest)
    #expect(!mounted.space.status.recovery.isDamaged)
    #expect(mounted.space.status.recovery.wasClean)
    let faults = try sample.readingFaults(mounted, hit: []) + sample.liveOn(mounted)
    #expect(faults == [])
    #expect(try sample.disk().check(sample.keys).findings == [])
    #expect(sample.segments(.checkpoint).count >= 2 && sample.segments(.journal).count >= 6)
    #expect(sample.segments(.data).count >= 4)
  }

  @Test func aFlippedByteCostsNoMoreThanTheFrameItIsIn() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var flips = FlipCount()
    let fullest = sample.frames.max { $0.value.used < $1.value.used }?.key
    for (number, frames) in sample.frames.sorted(by: { $0.key < $1.key }) {
      // A long run tries each byte of one segment, with its random tail.
      let isWhole = Thoroughness.isLong && number == fullest
      let places =
        isWhole
        ? Array(0..<SampleStore.segmentSize) : Thoroughness.some(0..<frames.used, 50, &random)
      for offset in places {
        let disk = sample.disk()
        disk.flip(sample.path(.journal, number.rawValue), offset, random.bit())
        var reach = Reach()
        if let hit = frames.first(where: { $0.range.contains(offset) }) { reach.add(hit) }
        let store = disk.frozen()
        let mounted = try MountedAlbums(disk, sample.keys)
        var faults = try sample.faults(mounted, reach)
        flips.add(mounted)
        if flips.isCheckDue { faults += try sample.namingFaults(store, mounted, reach) }
        if flips.count % 40 == 0 { faults += try sample.liveOn(mounted) }
        #expect(faults == [], "journal \(number.rawValue), byte \(offset)")
      }
    }
    print("journal: \(flips)")
  }

  @Test func behindAnUncleanEndAFlippedByteCutsHistoryAtOneOfItsInstants() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var flips = FlipCount()
    let number = try #require(sample.killedFrames.keys.max())
    let frames = sample.killedFrames[number] ?? []
    for offset in Thoroughness.places(0..<frames.used, 200, &random) {
      let disk = DamagedDisk(sample.killed)
      disk.flip(sample.path(.journal, number.rawValue), offset, random.bit())
      var reach = Reach()
      reach.instants = sample.killedStates
      if let hit = frames.first(where: { $0.range.contains(offset) }) { reach.add(hit) }
      let store = disk.frozen()
      let mounted = try MountedAlbums(disk, sample.keys)
      var faults = try sample.faults(
        mounted, reach, newest: sample.killedStates[sample.killedStates.count - 1])
      flips.add(mounted)
      if flips.isCheckDue { faults += try sample.namingFaults(store, mounted, reach) }
      if flips.count % 40 == 0 { faults += try sample.liveOn(mounted) }
      #expect(faults == [], "byte \(offset)")
    }
    print("journal of a killed session: \(flips)")
  }

  /// Two bytes at once: more can be lost, but no wrong bytes are shown. If one of them destroys the proof
  /// that the other's frame was on disk, that looks like the end of a session that was cut off.
  @Test func twoFlippedBytesShowNoWrongBytesEither() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var flips = FlipCount()
    let spans = sample.frames.flatMap { number, frames in frames.map { (number, $0) } }
    for _ in 0..<(Thoroughness.isLong ? 5000 : 150) {
      let disk = sample.disk()
      var reach = Reach()
      reach.instants = sample.states
      for _ in 0..<2 {
        guard let (number, frame) = spans.randomElement(using: &random) else { continue }
        disk.flip(
          sample.path(.journal, number.rawValue), frame.range.randomElement(using: &random)!,
          random.bit())
        reach.add(frame)
      }
      let store = disk.frozen()
      let mounted = try MountedAlbums(disk, sample.keys)
      var faults = try sample.faults(mounted, reach)
      flips.add(mounted)
      if flips.isCheckDue { faults += try sample.namingFaults(store, mounted, reach) }
      if flips.count % 20 == 0 { faults += try sample.liveOn(mounted) }
      #expect(faults == [], "names: \(reach.names)")
    }
    print("two bytes of the journal: \(flips)")
  }

  /// The offsets of the two heads of a journal segment.
  private static let heads = [0, 1].map {
    SegmentSeal.reservedByteCount
      + $0 * RecordLayout.paddedByteCount(plaintext: JournalHead.byteCount)
  }

  @Test(arguments: heads) func oneHeadOfTwoDamagedCostsNothingAndIsNamed(_ head: Int) throws {
    let number = try #require(sample.segments(.journal).last)
    let disk = sample.disk()
    disk.flip(sample.path(.journal, number), head + 40, 1)
    let report = try disk.check(sample.keys)
    #expect(report.findings.map(\.kind) == [.journal] && report.isDamaged)
    #expect(report.findings.first?.segments == [sample.path(.journal, number)])
    #expect(try MountedAlbums(disk, sample.keys).space.observe() == sample.newest)
  }

  @Test func bothHeadsOfTheNewestSegmentDamagedRefuseTheMountAndSayWhatToDo() throws {
    let number = try #require(sample.segments(.journal).last)
    let disk = sample.disk()
    for head in Self.heads { disk.flip(sample.path(.journal, number), head + 40, 1) }
    let error = refusal { _ = try MountedAlbums(disk, sample.keys) }
    #expect(error?.code == .damaged)
    #expect(error?.remedy == .repair)
    let report = try disk.check(sample.keys)
    #expect(report.findings.map(\.kind) == [.journal])
    #expect(report.findings.first?.segments == [sample.path(.journal, number)])
    #expect(report.damagedPaths == [])
  }

  @Test func bothHeadsOfAnOlderSegmentDamagedCostNothing() throws {
    for number in sample.segments(.journal).dropLast() {
      let disk = sample.disk()
      for head in Self.heads { disk.flip(sample.path(.journal, number), head + 40, 1) }
      let store = disk.frozen()
      let mounted = try MountedAlbums(disk, sample.keys)
      let faults = try sample.faults(mounted, Reach()) + sample.namingFaults(store, mounted)
      #expect(faults == [], "journal \(number)")
    }
  }

  /// A read error is no damage: the next attempt may succeed.
  @Test func aReadErrorRefusesTheMount() throws {
    for kind in [SegmentKind.journal, .checkpoint] {
      for number in sample.segments(kind).suffix(2) {
        let disk = sample.disk()
        disk.makeUnreadable(sample.path(kind, number))
        let error = refusal { _ = try MountedAlbums(disk, sample.keys) }
        let isNeeded = kind == .journal || number == sample.segments(kind).last
        #expect(error?.code == (isNeeded ? .inputOutput : nil), "\(kind) \(number)")
        #expect(error?.cause == (isNeeded ? .io : nil))
      }
    }
  }
}

/// Returns the reason for a refused mount; nil if it succeeds.
func refusal(_ body: () throws -> Void) -> StoreError? {
  do {
    try body()
    return nil
  } catch {
    return error as? StoreError
  }
}

/// The number of flips, and of mounts that reported damage.
struct FlipCount: CustomStringConvertible {
  private(set) var count = 0
  private var damaged = 0
  private var checked = 0
  /// True after some of the mounts, and more often after those that report damage: the store is then checked
  /// too.
  private(set) var isCheckDue = false

  mutating func add(_ mounted: MountedAlbums) {
    let isDamaged = mounted.space.status.recovery.isDamaged
    count += 1
    if isDamaged { damaged += 1 }
    isCheckDue = count % 50 == 0 || isDamaged && damaged % 6 == 0
    if isCheckDue { checked += 1 }
  }

  var description: String {
    "\(count) flips, \(checked) of them checked, damage reported by \(damaged)"
  }
}

extension [SampleStore.FrameSpan] {
  /// The number of bytes up to the end of the last frame.
  fileprivate var used: Int { last?.range.upperBound ?? 512 }
}

extension SeededRandom {
  /// Returns a byte with one random bit set.
  mutating func bit() -> UInt8 { 1 << UInt8.random(in: 0..<8, using: &self) }
}
