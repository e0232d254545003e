import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumCheck
@testable import AlbumStore

// Random damage to several random segments of a space at once: flipped bits, zeroed, cut short, removed,
// swapped, or replaced by an older copy. A check does not fail and does not write. After a repair the space
// mounts, and a check finds nothing. No byte of any file is wrong, except for zeros that were announced. All
// content without a damaged segment is still there.

struct DamageRepairTests {
  @Test(arguments: 0..<4) func aRepairKeepsEverythingThatIsUndamaged(_ round: Int) throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    for _ in 0..<2 {
      let run = try DamageRun(&random)
      for _ in 0..<Int.random(in: 1...4, using: &random) { try run.damage(&random) }
      try run.checkAndRepair()
    }
  }
}

private struct DamageRun {
  let place: CheckPlace
  /// The store as it was some sessions ago.
  private let older: [String: [UInt8]]
  private let before: [String: [UInt8]]
  private let contents: [String: [UInt8]]
  /// These contents, and others that a repair may restore.
  private let genuine: [[UInt8]]
  /// The segments that each content needs.
  private let needs: [String: Set<String>]
  private let newestJournal: String

  init(_ random: inout SeededRandom) throws {
    place = try CheckPlace()
    older = try place.bytes()
    for session in 0..<3 {
      let space = try place.store.open(grace: 0)
      for file in 0..<4 {
        try space.write(
          random.bytes(Int.random(in: 1...150_000, using: &random)), to: "s\(session)-\(file)")
      }
      if session == 1 { try space.durability.checkpoint() }
      try space.close()
    }
    before = try place.bytes()
    contents = try place.files()
    genuine = Array(try place.files(withThumbnails: true).values)
    needs = try place.segmentPaths()
    newestJournal = try place.path(.journal, place.journals().last!)
  }

  func damage(_ random: inout SeededRandom) throws {
    let mine = try place.ownPaths().filter { before[$0] != nil }.sorted()
    let directory = place.store.store.directory
    guard let path = mine.randomElement(using: &random) else { return }
    let other = mine.randomElement(using: &random)!
    let now = (try? directory.contents(of: path, limit: StorePlace.segmentSize)) ?? []
    if now.isEmpty { return }
    let kind = Int.random(in: 0..<6, using: &random)
    let place = Int.random(in: 0..<now.count, using: &random)
    try directory.damage(path) { bytes in
      switch kind {
      case 0: bytes[place] ^= 1
      case 1: bytes = [UInt8](repeating: 0, count: bytes.count)
      case 2: bytes.removeLast(bytes.count - place)
      case 3: bytes = before[other] ?? []
      case 4: bytes = older[path] ?? []
      default: break
      }
    }
    if kind == 5 || (kind == 4 && older[path] == nil) { try directory.remove(path) }
  }

  func checkAndRepair() throws {
    let damaged = try place.bytes()
    let changed = Set(before.keys.filter { damaged[$0] != before[$0] })
    let report: CheckReport
    do {
      _ = try place.check()
      #expect(try place.bytes() == damaged)
      report = try place.check(repairs: true)
    } catch let error as StoreError where error.code == .missing {
      // No content was left.
      return
    }
    let after = try place.check()
    #expect(after.findings.filter { $0.severity == .damage } == [], "\(changed)")
    let files = try place.files()
    for (path, bytes) in files { expectGenuine(path, bytes, report) }
    let left = Set(files.values)
    for (path, content) in contents where needs[path, default: []].isDisjoint(with: changed) {
      // The segments that the session finished show that the end of its journal is gone. If its last segment
      // is damaged too, or happens to be full, the others look as if a crash had left them.
      if path.hasPrefix("s2"), changed.contains(newestJournal), report.recovery.end != .missing {
        continue
      }
      let isLeft = left.contains(content)
      #expect(isLeft, "\(path) after \(changed), \(report.findings)")
    }
  }

  /// Expects every byte to be one that some file had there, or a zero.
  private func expectGenuine(_ path: String, _ bytes: [UInt8], _ report: CheckReport) {
    let isLeftover = genuine.contains { content in
      bytes.count <= content.count
        && zip(bytes, content).allSatisfy { $0 == $1 || $0 == 0 }
    }
    #expect(isLeftover, "\(path): \(bytes.count) bytes, \(report.findings)")
  }
}

extension CheckPlace {
  /// The data segments that each file needs, as paths in the store.
  fileprivate func segmentPaths() throws -> [String: Set<String>] {
    let space = try store.open(readOnly: true)
    defer { try? space.close() }
    return space.read { catalog in
      let uses = catalog.recordUses()
      let paths = CatalogPaths(catalog, of: Set(uses.map(\.inode)))
      var result: [String: Set<String>] = [:]
      for use in uses {
        for name in paths.all(use.inode) {
          result[name, default: []].insert(path(.data, use.extent.segment))
        }
      }
      return result
    }
  }
}
