import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Glibc
import Testing

@testable import AlbumStore

/// The files and names that a damage may have reached.
struct Reach {
  var inodes: Set<InodeNumber> = []
  var names: Set<EntryPlace> = []
  /// The damage may have cost the end of history: each of these states of the whole space is allowed too.
  var instants: [Observed] = []

  mutating func add(_ frame: SampleStore.FrameSpan) {
    inodes.formUnion(frame.inodes)
    names.formUnion(frame.names)
  }

  /// True if neither the names nor the number of a file are affected.
  func spares(_ item: Observed.Item) -> Bool {
    !inodes.contains(item.inode) && names.isDisjoint(with: item.way)
      && item.photo.map { !inodes.contains($0) } ?? true
  }
}

extension SampleStore {
  /// Examines a mount of the damaged store: everything undamaged is unchanged, and nothing shows what never
  /// existed. Returns the faults, of which there should be none.
  func faults(_ mounted: MountedAlbums, _ reach: Reach, newest: Observed) throws -> [String] {
    let seen = mounted.space.observe()
    if seen.isCyclic { return ["directories nest without an end"] }
    let report = mounted.space.status.recovery
    if seen == newest || reach.instants.contains(seen) { return [] }
    var faults: [String] = []
    if !report.isDamaged { faults.append("something is missing and no damage reported") }
    for (path, item) in newest.items
    where reach.spares(item) && seen.items[path] != item
      && !reach.instants.contains(where: { $0.items[path] == seen.items[path] })
    {
      faults.append("\(path) was not touched and is different")
    }
    for (path, item) in seen.items where item != newest.items[path] {
      if let fault = try fault(mounted, path, item) { faults.append("\(path) \(fault)") }
    }
    return faults
  }

  func faults(_ mounted: MountedAlbums, _ reach: Reach) throws -> [String] {
    try faults(mounted, reach, newest: newest)
  }

  /// Reads every file to the end. Those in `hit` must give an I/O error, and all others their content.
  func readingFaults(_ mounted: MountedAlbums, hit: Set<InodeNumber>) throws -> [String] {
    var faults: [String] = []
    for (path, item) in newest.items where item.state.kind == .regular {
      let content = try mounted.content(of: item.inode)
      if hit.contains(item.inode) {
        if content != nil { faults.append("\(path) is damaged and reads") }
        if let fault = try wrongBytes(mounted, item) { faults.append("\(path) \(fault)") }
      } else if content != newestContents[item.inode] {
        faults.append("\(path) is not damaged and does not read")
      }
    }
    return faults
  }

  private func fault(_ mounted: MountedAlbums, _ path: String, _ item: Observed.Item) throws
    -> String?
  {
    if item.photo == nil, let name = item.way.last, places[name]?.contains(item.inode) != true {
      return "leads to something that it never led to"
    }
    switch item.state.kind {
    case .directory: return nil
    case .symlink:
      let targets = (states + killedStates).compactMap { $0.items[path]?.target }
      return targets.contains(item.target) ? nil : "points where it never did"
    default: return try wrongBytes(mounted, item)
    }
  }

  /// Returns the faults of a file: each stretch must equal one of its former contents, or be unreadable.
  private func wrongBytes(_ mounted: MountedAlbums, _ item: Observed.Item) throws -> String? {
    let allowed = contents[item.inode] ?? [[]]
    if let whole = try mounted.content(of: item.inode) {
      return allowed.contains(whole) ? nil : "has content that it never had"
    }
    var offset = 0
    while offset < Int(item.state.size) {
      let end = min(offset + 1000, Int(item.state.size))
      let piece = try mounted.content(of: item.inode, at: Int64(offset), count: end - offset)
      let isKnown = allowed.contains { $0.count >= end && Array($0[offset..<end]) == piece }
      if piece != nil, !isKnown { return "has bytes at \(offset) that it never had" }
      offset = end
    }
    return nil
  }

  /// Continues after the damage: removes everything that cannot be read, writes something new, and expects
  /// the next mount to find the same.
  func liveOn(_ mounted: MountedAlbums) throws -> [String] {
    var faults: [String] = []
    for (path, item) in mounted.space.observe().items
    where item.photo == nil && item.state.kind == .regular {
      if try mounted.content(of: item.inode) == nil { try mounted.unlink(path) }
    }
    let text = [UInt8](repeating: 65, count: 3000)
    try mounted.write(text, to: "after.txt")
    try mounted.mkdir("After")
    try mounted.write(text, to: "After/Photo/after.jpg")
    try mounted.makeThumbnails()
    try mounted.stateTheRest()
    try mounted.space.commit()
    let left = mounted.space.observe()
    try mounted.unmount()
    let again = try MountedAlbums(mounted.disk, keys)
    let found = again.space.observe()
    for path in Set(left.items.keys).union(found.items.keys)
    where left.items[path] != found.items[path] {
      faults.append("\(path) is different at the next mount")
    }
    if try again.content("After/Thumb/after.jpg") != Array("thumbnail of ".utf8) + text {
      faults.append("what was written afterwards is not there")
    }
    try again.removeAll()
    try again.unmount()
    let empty = try MountedAlbums(again.disk, keys)
    if !(try empty.list("").isEmpty) { faults.append("not everything can be removed") }
    return faults
  }
}

/// The amount of slow work: a run in `scripts/test` takes samples, `--long` takes everything.
enum Thoroughness {
  static let isLong = unsafe getenv("ALBUMFS_LONG_TESTS") != nil

  /// Returns `count` places of a range, or all in long runs.
  static func places(_ range: Range<Int>, _ count: Int, _ random: inout SeededRandom)
    -> [Int]
  {
    isLong ? Array(range) : some(range, count, &random)
  }

  /// Returns about `count` places of a range, evenly spaced from a random beginning.
  static func some(_ range: Range<Int>, _ count: Int, _ random: inout SeededRandom) -> [Int] {
    if range.count <= count { return Array(range) }
    let step = range.count / count
    return Array(stride(from: Int.random(in: 0..<step, using: &random), to: range.count, by: step))
      .map { range.lowerBound + $0 }
  }
}
