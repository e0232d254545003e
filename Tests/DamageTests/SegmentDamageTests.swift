import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// Whole segments are damaged: cut short, zeroed, removed, exchanged with another one, or replaced by an older
// copy of themselves. A record that does not decrypt counts as missing, because each record names its segment
// and its place there. There is one exception: if the newest journal segment is missing or older than it was,
// the space is what it was at an earlier instant. Nobody can distinguish that from a copy of the store that
// was made then.

struct SegmentDamageTests {
  private let sample: SampleStore
  init() throws { sample = try SampleStore.shared.get() }

  @Test(arguments: SegmentKind.allCases) func cutShort(_ kind: SegmentKind) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for number in sample.segments(kind) {
      for round in 0..<(Thoroughness.isLong ? 300 : 5) {
        let length = Int.random(in: 0..<SampleStore.segmentSize, using: &random)
        let cut = Bool.random(using: &random) ? length : length % 12_000
        try damage(kind, number, "cut at \(cut)", checks: round % 5 == 0) {
          $0.removeLast($0.count - cut)
        }
      }
    }
  }

  @Test(arguments: SegmentKind.allCases) func zeroed(_ kind: SegmentKind) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let starts = [256, 512, 4096, 8192]
    for number in sample.segments(kind) {
      try damage(kind, number, "zeroed", checks: true) {
        $0 = [UInt8](repeating: 0, count: $0.count)
      }
      for start in Thoroughness.isLong ? starts : [starts.randomElement(using: &random)!] {
        try damage(kind, number, "zeroed from \(start)") { bytes in
          for place in start..<bytes.count { bytes[place] = 0 }
        }
        try damage(kind, number, "4096 zeros from \(start)") { bytes in
          for place in start..<start + 4096 { bytes[place] = 0 }
        }
      }
    }
  }

  @Test(arguments: SegmentKind.allCases) func removed(_ kind: SegmentKind) throws {
    for number in sample.segments(kind) {
      var store = sample.frozen
      store.files[sample.path(kind, number)] = nil
      try judge(store, "\(kind) \(number) removed", checks: true)
    }
  }

  @Test func exchanged() throws {
    let all = SegmentKind.allCases.flatMap { kind in
      sample.segments(kind).map { (kind, $0) }
    }
    var random = SeededRandom()
    print("seed \(random.seed)")
    for (place, one) in all.enumerated() {
      let others = Array(all[(place + 1)...])
      let some = Thoroughness.isLong ? others : Array(others.shuffled(using: &random).prefix(4))
      for (round, other) in some.enumerated() {
        let paths = (sample.path(one.0, one.1), sample.path(other.0, other.1))
        var store = sample.frozen
        store.files[paths.0] = sample.frozen.files[paths.1]
        store.files[paths.1] = sample.frozen.files[paths.0]
        try judge(store, "\(one) and \(other) exchanged", checks: round == 0 || Thoroughness.isLong)
      }
    }
  }

  @Test func replacedByAnOlderCopy() throws {
    var count = 0
    for former in sample.former {
      for (path, file) in former.files {
        guard let now = sample.frozen.files[path], now.bytes != file.bytes else { continue }
        var store = sample.frozen
        store.files[path] = file
        try judge(store, "\(path) older", checks: true)
        count += 1
      }
    }
    #expect(count > 4)
  }

  // MARK: What is right

  private func damage(
    _ kind: SegmentKind, _ number: UInt32, _ what: String, checks: Bool = false,
    _ change: (inout [UInt8]) -> Void
  ) throws {
    var store = sample.frozen
    change(&store.files[sample.path(kind, number)]!.bytes)
    try judge(store, "\(kind) \(number) \(what)", checks: checks)
  }

  /// Mounts, compares, reads, and continues to write. With `checks` it also examines the findings of a check.
  private func judge(_ store: FrozenStore, _ what: String, checks: Bool) throws {
    let newestJournal = sample.segments(.journal).last ?? 0
    let isNewestHit = isDamaged(.journal, newestJournal, 0..<SampleStore.segmentSize, in: store)
    var reach = reach(of: store)
    let mounted: MountedAlbums
    do {
      mounted = try MountedAlbums(DamagedDisk(store), sample.keys)
    } catch {
      let error = try #require(error as? StoreError, "\(what)")
      #expect(error.code == .damaged, "\(what): \(error)")
      #expect(error.remedy == .repair, "\(what): \(error)")
      #expect(isNewestHit || areCheckpointsDamaged(in: store), "\(what): \(error)")
      if checks { try judgeCheckOfRefused(store, reach, what) }
      return
    }
    if isNewestHit {
      reach.instants = sample.states
      // The files with missing content may show any version of the last 15 minutes before that end.
      let hit = hitInodes(in: store)
      reach.inodes.formUnion(hit)
      // A missing thumbnail is to be made again, which its photo records.
      for item in sample.newest.items.values where hit.contains(item.inode) {
        if let photo = item.photo { reach.inodes.insert(photo) }
      }
    }
    var faults = try sample.faults(mounted, reach)
    if mounted.space.observe() == sample.newest {
      faults += try sample.readingFaults(mounted, hit: hitInodes(in: store))
    }
    if checks {
      faults += try sample.namingFaults(store, mounted, reach, hit: hitInodes(in: store))
    }
    faults += try sample.liveOn(mounted)
    #expect(faults == [], "\(what): \(mounted.space.status.recovery)")
  }

  /// A check works even if the mount is refused. It reports damage, and no spared file as unreadable.
  private func judgeCheckOfRefused(_ store: FrozenStore, _ reach: Reach, _ what: String) throws {
    let report = try DamagedDisk(store).check(sample.keys)
    #expect(report.isDamaged, "\(what)")
    let named = Set(report.unreadableStretches.keys)
    #expect(named.isSubset(of: hitInodes(in: store).union(reach.inodes)), "\(what)")
  }

  /// The files and names that the lost frames may have described.
  private func reach(of store: FrozenStore) -> Reach {
    var reach = Reach()
    for (number, frames) in sample.frames {
      for frame in frames where isDamaged(.journal, number.rawValue, frame.range, in: store) {
        reach.add(frame)
      }
    }
    return reach
  }

  private func hitInodes(in store: FrozenStore) -> Set<InodeNumber> {
    var hit: Set<InodeNumber> = []
    for (number, records) in sample.records {
      for record in records where isDamaged(.data, number.rawValue, record.range, in: store) {
        hit.formUnion(record.inodes)
      }
    }
    return hit
  }

  private func areCheckpointsDamaged(in store: FrozenStore) -> Bool {
    sample.segments(.checkpoint).allSatisfy {
      isDamaged(.checkpoint, $0, 0..<SampleStore.segmentSize, in: store)
    }
  }

  /// True if bytes of a segment have changed.
  private func isDamaged(
    _ kind: SegmentKind, _ number: UInt32, _ range: Range<Int>, in store: FrozenStore
  ) -> Bool {
    let path = sample.path(kind, number)
    guard let now = store.files[path]?.bytes, let then = sample.frozen.files[path]?.bytes,
      now.count >= range.upperBound
    else { return true }
    return now[range] != then[range]
  }
}
