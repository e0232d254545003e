import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix

@testable import AlbumStore

/// A store with some albums, made once in several sessions, with its whole history: the state of the space
/// after every step.
final class SampleStore: Sendable {
  static let segmentSize = 256 << 10

  let keys: SpaceKeys
  /// The store after the last unmount.
  let frozen: FrozenStore
  /// The store after one more session, which was killed, with frames behind its last barrier.
  let killed: FrozenStore
  /// The store at earlier moments.
  let former: [FrozenStore]
  /// The state of the space after each step. The last one is the state before the unmount that `frozen`
  /// shows.
  let states: [Observed]
  /// The states after the steps of the killed session, without those up to its last barrier but one.
  let killedStates: [Observed]
  /// Every content that a file ever had.
  let contents: [InodeNumber: Set<[UInt8]>]
  /// The inodes that each name ever led to.
  let places: [EntryPlace: Set<InodeNumber>]
  /// The content of each file in `frozen`.
  let newestContents: [InodeNumber: [UInt8]]
  /// The places of frames in the journal segments of `frozen` and of `killed`.
  let frames: [SegmentNumber: [FrameSpan]]
  let killedFrames: [SegmentNumber: [FrameSpan]]
  /// The places of the records in the data segments of `frozen` that files refer to, with the files.
  let records: [SegmentNumber: [RecordSpan]]
  /// The paths of the segments of `frozen` and of `killed`.
  private let paths: [SegmentID: String]
  private let killedPaths: [SegmentID: String]

  var newest: Observed { states[states.count - 1] }

  /// One frame on disk, and what it describes.
  struct FrameSpan: Sendable {
    /// From the nonce to the tag.
    var range: Range<Int>
    var number: FrameNumber
    var inodes: Set<InodeNumber> = []
    var names: Set<EntryPlace> = []
  }

  /// One record on disk, and the files with content in it.
  struct RecordSpan: Sendable {
    /// From the nonce to the tag.
    var range: Range<Int>
    var inodes: Set<InodeNumber>
  }

  static let shared: Result<SampleStore, any Error> = Result { try SampleStore() }

  private init() throws {
    var builder = try SampleBuilder()
    try builder.build()
    keys = builder.keys
    frozen = builder.disk.frozen()
    former = builder.former
    states = builder.states
    newestContents = try SampleStore.contents(of: frozen, keys)
    try builder.kill()
    killed = builder.disk.frozen()
    killedStates = Array(builder.states[builder.floor...])
    contents = builder.contents
    places = builder.places
    paths = SampleStore.paths(of: frozen, keys)
    killedPaths = SampleStore.paths(of: killed, keys)
    frames = try SampleStore.frames(of: frozen, keys)
    killedFrames = try SampleStore.frames(of: killed, keys)
    records = try SampleStore.records(of: frozen, keys)
  }

  func disk() -> DamagedDisk { DamagedDisk(frozen) }

  func path(_ kind: SegmentKind, _ number: UInt32) -> String {
    let id = SegmentID(kind: kind, number: SegmentNumber(number))
    return paths[id] ?? killedPaths[id] ?? "no such segment"
  }

  private static func paths(of store: FrozenStore, _ keys: SpaceKeys) -> [SegmentID: String] {
    var paths: [SegmentID: String] = [:]
    for path in store.files.keys {
      guard let found = keys.segment(at: path) else { continue }
      paths[SegmentID(kind: found.kind, number: found.number)] = path
    }
    return paths
  }

  /// Returns the numbers of the existing segments.
  func segments(_ kind: SegmentKind) -> [UInt32] {
    keys.numbers(kind, among: frozen.files.keys).map(\.rawValue)
  }

  /// Of deleted files, too.
  private static func contents(of store: FrozenStore, _ keys: SpaceKeys) throws
    -> [InodeNumber: [UInt8]]
  {
    let mounted = try MountedAlbums(DamagedDisk(store), keys)
    var contents: [InodeNumber: [UInt8]] = [:]
    for inode in mounted.contents.keys { contents[inode] = try mounted.content(of: inode) }
    return contents
  }

  private static func records(
    of store: FrozenStore, _ keys: SpaceKeys
  ) throws -> [SegmentNumber: [RecordSpan]] {
    let files = SegmentFiles(directory: DamagedDisk(store), keys: keys, segmentSize: segmentSize)
    _ = try files.list()
    var owners: [SegmentNumber: [Int: Set<InodeNumber>]] = [:]
    for (inode, extents) in try MountedAlbums(DamagedDisk(store), keys).contents {
      for extent in extents {
        var grid = extent.grid
        var left = Int64(extent.skip) + extent.length
        while left > 0 {
          owners[extent.segment, default: [:]][Int(grid) * RecordLayout.grid, default: []]
            .insert(inode)
          grid += DataRecord.fullGridCount
          left -= DataRecord.contentLimit
        }
      }
    }
    var records: [SegmentNumber: [RecordSpan]] = [:]
    for (number, places) in owners {
      let id = SegmentID(kind: .data, number: number)
      guard let image = try files.contents(id) else { continue }
      var walk = SegmentWalk(image, name: files.name(id), cipher: keys.cipher)
      while let record = walk.next() {
        guard let inodes = places[record.offset] else { continue }
        let end =
          record.offset + RecordLayout.sealedByteCount(plaintext: record.plaintext.count)
        records[number, default: []].append(
          RecordSpan(range: record.offset..<end, inodes: inodes))
      }
    }
    return records
  }

  private static func frames(of store: FrozenStore, _ keys: SpaceKeys) throws
    -> [SegmentNumber: [FrameSpan]]
  {
    let files = SegmentFiles(directory: DamagedDisk(store), keys: keys, segmentSize: segmentSize)
    _ = try files.list()
    var frames: [SegmentNumber: [FrameSpan]] = [:]
    for raw in 1..<UInt32(100) {
      let number = SegmentNumber(raw)
      let scan = try JournalScan(SegmentID(kind: .journal, number: number), files: files)
      if scan.head == nil { continue }
      frames[number] = try scan.frames.map(span)
    }
    return frames
  }

  private static func span(_ found: JournalScan.Frame) throws -> FrameSpan {
    let plaintext = JournalFrame.headerByteCount + found.frame.items.count
    let start = found.end - RecordLayout.paddedByteCount(plaintext: plaintext)
    var span = FrameSpan(
      range: start..<start + RecordLayout.sealedByteCount(plaintext: plaintext),
      number: found.frame.number)
    try decodeItems(found.frame.items) { item in
      switch item {
      case .inode(let state): span.inodes.insert(state.number)
      case .inodeGone(let number), .extents(let number, _, _, _), .symlink(let number, _),
        .attribute(let number, _, _):
        span.inodes.insert(number)
      case .entry(let directory, let name, let inode):
        span.names.insert(EntryPlace(directory: directory, name: name))
        if let inode { span.inodes.insert(inode) }
      default: break
      }
    }
    return span
  }
}

/// Makes the sample store step by step.
private struct SampleBuilder {
  let keys = SpaceKeys()
  private(set) var disk = DamagedDisk()
  private(set) var states: [Observed] = []
  private(set) var former: [FrozenStore] = []
  private(set) var contents: [InodeNumber: Set<[UInt8]>] = [:]
  private(set) var places: [EntryPlace: Set<InodeNumber>] = [:]
  /// The index in `states` of the state that the last barrier but one covers.
  private(set) var floor = 0
  /// The index in `states` of the state at the last unmount.
  private(set) var end = 0
  private var random = SeededRandom(seed: 4)
  private var mounted: MountedAlbums

  init() throws {
    try disk.makeDirectory("segments")
    try Space.create(
      in: Store(directory: disk, segmentSize: SampleStore.segmentSize), keys: keys,
      options: SpaceOptions(owner: 1000, group: 1000))
    mounted = try MountedAlbums(disk, keys)
  }

  private mutating func step(_ body: (MountedAlbums) throws -> Void) throws {
    try body(mounted)
    try mounted.space.commit()
    let seen = mounted.space.observe()
    for item in seen.items.values {
      if let name = item.way.last { places[name, default: []].insert(item.inode) }
      if item.state.kind == .regular, let content = try mounted.content(of: item.inode) {
        contents[item.inode, default: [[]]].insert(content)
      }
    }
    states.append(seen)
  }

  private mutating func write(
    _ path: String, _ count: Int, at offset: Int64 = 0, truncates: Bool = true
  ) throws {
    let bytes = random.bytes(count)
    try step { try $0.write(bytes, to: path, at: offset, truncates: truncates) }
  }

  private mutating func keep() { former.append(disk.frozen()) }

  private mutating func barrier() throws { try mounted.space.barrier() }

  private mutating func unmount() throws {
    try step { try $0.stateTheRest() }
    try mounted.unmount()
  }

  private mutating func endSession() throws {
    try unmount()
    keep()
    mounted = try MountedAlbums(disk, keys)
  }

  mutating func build() throws {
    try firstSession()
    try endSession()
    try secondSession()
    try endSession()
    try thirdSession()
    try endSession()
    try fourthSession()
    try endSession()
    try fifthSession()
    try unmount()
    keep()
    // No copy that begins after this instant may lack earlier writes.
    mounted = try MountedAlbums(disk, keys, hoursLater: 1)
    try step { try $0.chmod("note.txt", 0o644) }
    try unmount()
    end = states.count - 1
  }

  private mutating func firstSession() throws {
    try step { try $0.mkdir("Trip") }
    try write("Trip/Photo/a.jpg", 90_000)
    try write("Trip/Photo/b.jpg", 3000)
    try write("Trip/Photo/c.jpg", 300)
    try write("note.txt", 700)
    try step { try $0.link("note.txt", "linked.txt") }
    try step { try $0.symlink("Trip/Photo/a.jpg", "best") }
    try step { try $0.setAttribute("user.colour", "green", "Trip") }
    try step { try $0.setAttribute("user.rating", "5", "Trip/Photo/b.jpg") }
    try step { try $0.makeThumbnails() }
    keep()
    try step { try $0.copy("Trip/Photo/b.jpg", to: "Trip/Photo/copy.jpg") }
    try step { try $0.mkdir("Trip/Day 1") }
    try write("Trip/Photo/big.jpg", 200_000)
    try step { try $0.makeThumbnails() }
  }

  private mutating func secondSession() throws {
    try write("note.txt", 500, at: 700, truncates: false)
    try write("Trip/Photo/a.jpg", 10_000, at: 10_000, truncates: false)
    try step { try $0.truncate("Trip/Photo/big.jpg", to: 150_000) }
    try step { try $0.rename("Trip/Photo/b.jpg", "Trip/Day 1/Photo/b.jpg") }
    try mounted.space.durability.checkpoint()
    try write("Trip/Photo/d.jpg", 40_000)
    keep()
    try step { try $0.unlink("Trip/Photo/c.jpg") }
    try step { try $0.chmod("note.txt", 0o600) }
    try step { try $0.makeThumbnails() }
  }

  private mutating func thirdSession() throws {
    for part in 0..<3 {
      try write("Trip/Photo/e.jpg", 20_000, at: Int64(part) * 20_000, truncates: false)
    }
    try step { try $0.rename("Trip/Photo/a.jpg", "Trip/Photo/d.jpg", exchange: true) }
    try mounted.space.durability.checkpoint()
    try write("note.txt", 300, at: 1200, truncates: false)
    try write("Trip/Photo/f.jpg", 5000)
    try step { try $0.truncate("linked.txt", to: 9000) }
    try step { try $0.rename("Trip/Day 1", "Day One") }
    try step { try $0.symlink("Day One", "latest") }
    try step { try $0.makeThumbnails() }
    try barrier()
    keep()
    try step { try $0.mkdir("Other") }
    try write("Other/Photo/x.jpg", 2000)
    try step { try $0.rename("Other", "Else") }
  }

  private mutating func fourthSession() throws {
    var sweep = try mounted.space.compactor.beginSweep()
    try step { try sweep.round($0.space.compactor) }
    for part in 0..<4 {
      try write("Else/Photo/parts.jpg", 4000, at: Int64(part) * 4000, truncates: false)
    }
    try step { try $0.rename("Else/Photo/x.jpg", "Else/Photo/y.jpg") }
    try write("Else/Photo/y.jpg", 1500)
    try step { try $0.rename("Else/Photo/y.jpg", "Trip/Photo/f.jpg") }
    try step { try $0.setAttribute("user.rating", "3", "Trip/Photo/f.jpg") }
    try step { try $0.makeThumbnails() }
    try step { try sweep.round($0.space.compactor) }
  }

  private mutating func fifthSession() throws {
    try write("Day One/Photo/g.jpg", 30_000)
    try barrier()
    keep()
    try write("Day One/Photo/h.jpg", 700)
    try barrier()
    try step { try $0.makeThumbnails() }
    try step { try $0.chmod("Trip/Photo/e.jpg", 0o640) }
    try step { try $0.link("Trip/Photo/e.jpg", "Trip/Photo/e2.jpg") }
    try step { try $0.rename("Else", "Trip/Else") }
    try write("Trip/Photo/big.jpg", 1000, at: 70_000, truncates: false)
  }

  /// Ends the session without an unmount.
  mutating func kill() throws {
    mounted = try MountedAlbums(disk, keys, hoursLater: 2)
    for round in 0..<3 {
      try write("killed\(round).txt", 2000)
      try step { try $0.rename("killed\(round).txt", "Trip/Photo/k\(round).jpg") }
      if round == 0 { floor = states.count - 1 }
      if round < 2 { try barrier() }
    }
    try write("Trip/Photo/k0.jpg", 900, at: 500, truncates: false)
    try step { try $0.unlink("Trip/Photo/k1.jpg") }
  }
}
