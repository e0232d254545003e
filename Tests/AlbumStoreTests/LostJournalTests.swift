import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Foundation
import Posix
import Testing

@testable import AlbumStore

// A few sessions, some of them killed, with deletions and compaction. Then one segment of the journal is
// lost. A check reports that. The mounts that follow remove nothing, however they end. A repair restores all
// content.

struct LostJournalTests {
  private static let rounds =
    ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] == nil ? 6 : 400

  @Test(arguments: 0..<rounds) func aLostSegmentOfTheJournalCostsNoContent(_ round: Int) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    var life = try Life(&random)
    for _ in 0..<Int.random(in: 1...4, using: &random) { try life.session(&random) }
    try life.loseEach(&random)
  }

  /// A copy lacks a journal segment that changes one half of a file. A session writes the other half, and
  /// then the segment comes back. Former fault: the file had both halves, a content that it never had.
  @Test func aSegmentOfTheJournalThatComesBackMixesNoFile() throws {
    let place = try StorePlace()
    let (part, all) = (65_536, 3 * 65_536)
    var space = try place.open(background: false)
    try space.write([UInt8](repeating: 1, count: all), to: "a")
    try space.close()
    let known = Set(place.store.directory.segmentPaths())
    space = try place.open(background: false)
    try space.overwrite([UInt8](repeating: 2, count: part), at: 0, of: "a", size: all)
    try space.close()
    let made = Set(place.store.directory.segmentPaths()).subtracting(known)
    let journal = try #require(made.first { place.keys.segment(at: $0)?.kind == .journal })
    space = try place.open(background: false)
    try space.write([9], to: "b")
    try space.close()

    let bytes = try #require(place.segments()[journal])
    try place.store.directory.remove(journal)
    space = try place.open(background: false)
    #expect(space.status.recovery.isDamaged)
    try space.overwrite([UInt8](repeating: 3, count: part), at: Int64(part), of: "a", size: all)
    try space.close()
    let seen = [1, 3, 1].flatMap { [UInt8](repeating: $0, count: part) }
    space = try place.open(readOnly: true)
    #expect(try space.content(of: "a") == seen)
    try space.close()
    try place.replace(journal, bytes)
    space = try place.open(readOnly: true)
    #expect(try space.content(of: "a") == seen)
    try space.close()
  }

  /// Compaction moves the content of a file. A copy has the new place of it, and lacks the old segment and the
  /// frames that say so. Former fault: a session that wrote took the new place for garbage and removed it.
  @Test func contentThatLostFramesMovedStaysUntilARepair() throws {
    let place = try StorePlace()
    func data() -> Set<String> {
      Set(place.store.directory.segmentPaths().filter { place.keys.segment(at: $0)?.kind == .data })
    }
    func journals() -> [String] {
      place.store.directory.segmentPaths().filter { place.keys.segment(at: $0)?.kind == .journal }
        .sorted { place.keys.segment(at: $0)!.number < place.keys.segment(at: $1)!.number }
    }
    var space = try place.open(background: false)
    let content = [UInt8](repeating: 7, count: 5000)
    try space.write(content, to: "a")
    try space.write([UInt8](repeating: 1, count: 200_000), to: "junk")
    try space.close()
    let old = data()
    space = try place.open(background: false)
    space.remove("junk")
    try space.commit()
    try space.write([2], to: "b")
    try space.barrier()
    let journal = try #require(journals().last)
    let early = try #require(place.segments()[journal])
    try space.durability.checkpoint()
    try space.compact()
    try space.barrier()
    space.abandon()
    let moved = data().subtracting(old)
    #expect(old.count == 1 && moved.count == 1)
    for path in [old.first!, journals().last!] { try place.store.directory.remove(path) }
    try place.replace(journal, early)

    for _ in 0..<2 {
      space = try place.open(grace: 0, background: false)
      #expect(space.status.recovery.keepsLooseContent)
      try space.write([3], to: "c")
      try space.durability.checkpoint()
      do throws(StoreError) { try space.compact() } catch { #expect(error.code == .damaged) }
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<3 { try sweep.round(space.compactor) }
      try space.close()
    }
    #expect(moved.isSubset(of: data()))
    var options = CheckOptions()
    options.repairs = true
    let report = try SpaceCheck.run(place.store, keys: place.keys, options: options)
    #expect(report.repairs.contains { if case .newerContent = $0 { true } else { false } })
  }
}

extension Space {
  /// Writes a stretch of a file of this size.
  func overwrite(
    _ bytes: [UInt8], at offset: Int64, of name: String, size: Int
  ) throws {
    let index = read { $0.child(FileName(known: Array(name.utf8)), of: $0.index(of: .root)!)! }
    let number = read { $0.state(index).number }
    let headroom = ReadHeadroom.byteCount
    var buffer = [UInt8](repeating: 0, count: headroom) + bytes
    let extents = try unsafe buffer.withUnsafeMutableBytes {
      var held = try unsafe appendPieces(
        UnsafeMutableRawBufferPointer(rebasing: $0[headroom...]), of: number, at: offset,
        fileLength: Int64(size))
      return held.take()
    }
    change { $0.placeExtents(extents, of: index) }
    try commit()
  }
}

private struct Life {
  let place: CheckPlace
  /// The files that exist, by name.
  private var files: [String: [UInt8]] = [:]
  private var story: [String] = []

  init(_ random: inout SeededRandom) throws { place = try CheckPlace() }

  mutating func session(_ random: inout SeededRandom) throws {
    let space = try place.store.open(grace: 0, background: false)
    story.append("mount")
    for _ in 0..<Int.random(in: 0...6, using: &random) { try act(space, &random) }
    if Bool.random(using: &random) {
      story.append("kill")
      space.abandon()
    } else {
      story.append("unmount")
      try space.close()
    }
  }

  private mutating func act(_ space: Space, _ random: inout SeededRandom) throws {
    switch Int.random(in: 0..<9, using: &random) {
    case 0..<3:
      let count = Int.random(in: 1...12, using: &random)
      for _ in 0..<count {
        let name = "file \(Int.random(in: 0..<40, using: &random))"
        files[name] = random.bytes(Int.random(in: 1...120_000, using: &random))
        try space.write(files[name]!, to: name)
      }
      story.append("write \(count)")
    case 3..<5:
      let some = files.keys.sorted().filter { _ in Bool.random(using: &random) }
      for name in some {
        space.remove(name)
        files[name] = nil
      }
      try space.commit()
      story.append("remove \(some.count)")
    case 5..<7:
      try space.compact()
      story.append("compact")
    case 7:
      try space.durability.checkpoint()
      story.append("checkpoint")
    default:
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<4 { try sweep.round(space.compactor) }
      story.append("sweep")
    }
  }

  func loseEach(_ random: inout SeededRandom) throws {
    let whole = try place.bytes()
    for journal in try place.journals() {
      try restore(whole)
      let path = place.path(.journal, journal)
      try place.store.store.directory.remove(path)
      var told = story + ["lose journal \(journal.rawValue)"]
      do {
        for _ in 0..<Int.random(in: 0...2, using: &random) { try mountBetween(&told, &random) }
        _ = try place.check(repairs: true)
      } catch let error as StoreError where error.code == .damaged || error.code == .missing {
        told.append("\(error)")
        _ = try place.check(repairs: true)
      }
      #expect(try place.check().findings.filter { $0.severity == .damage } == [])
      // An overwritten file is restored from both versions: the last one, and the rest of a longer one behind
      // it.
      let found = try place.files().values
      let lost = files.filter { file in !found.contains { $0.starts(with: file.value) } }.keys
      #expect(lost.sorted() == [], "seed \(random.seed), \(told)")
      if !lost.isEmpty { return }
    }
  }

  /// Runs a session that knows of the loss, writes and sweeps, and ends in some way.
  private func mountBetween(_ told: inout [String], _ random: inout SeededRandom) throws {
    let space = try place.store.open(grace: 0, background: false)
    told.append("mount")
    if Bool.random(using: &random) {
      try space.write(random.bytes(300_000), to: "later")
      var sweep = try space.compactor.beginSweep()
      for _ in 0..<4 { try sweep.round(space.compactor) }
      told.append("write and sweep")
    }
    if Bool.random(using: &random) {
      told.append("kill")
      space.abandon()
    } else {
      told.append("unmount")
      try space.close()
    }
  }

  private func restore(_ whole: [String: [UInt8]]) throws {
    let directory = place.store.store.directory
    for path in try place.bytes().keys { try directory.remove(path) }
    for (path, bytes) in whole {
      let file = try directory.open(path, .createNew)
      try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
    }
  }
}
