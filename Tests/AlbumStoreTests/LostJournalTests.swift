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
