import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Testing

import struct Synchronization.Atomic

@testable import AlbumStore

// Many threads at once, as the kernel calls. No thread hangs, nothing is lost, and the totals at the end are
// right. Most useful under ThreadSanitizer.

struct StressTests {
  @Test func manyThreadsInOneAlbumAndItsThumbnails() async throws {
    let random = SeededRandom()
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.mkdir("Other")
    let ended = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask { try work(space, worker, SeededRandom(seed: random.seed &+ UInt64(worker))) }
      }
      group.addTask {
        while !ended.isSet {
          try space.makeThumbnails()
          _ = try space.list("Trip/Thumb")
          space.space.durability.callBeforeBarrier(pendingFor: Housekeeping.barrierInterval)
          await Task.yield()
        }
      }
      for _ in 0..<4 { try await group.next() }
      ended.set()
      try await group.waitForAll()
    }
    try space.makeThumbnails()
    try space.remount()
    for album in ["Trip", "Other"] {
      let photos = try space.list("\(album)/Photo")
      #expect(try space.list("\(album)/Thumb") == photos, "seed \(random.seed)")
      for photo in photos {
        let content = try space.text("\(album)/Photo/\(photo)")
        #expect(content.hasPrefix(photo.prefix(2)), "seed \(random.seed)")
        #expect(try space.text("\(album)/Thumb/\(photo)") == "thumbnail of \(content)")
      }
    }
  }

  /// Makes, changes, moves and removes photos whose names begin with the worker's number.
  private func work(_ space: TestSpace, _ worker: Int, _ seeded: SeededRandom) throws {
    var random = seeded
    for step in 0..<150 {
      let name = "\(worker)-\(Int.random(in: 0..<6, using: &random)).jpg"
      let here = ["Trip", "Other"].randomElement(using: &random)!
      let there = ["Trip", "Other"].randomElement(using: &random)!
      switch Int.random(in: 0..<6, using: &random) {
      case 0...2:
        try space.write("\(worker)-\(step)", to: "\(here)/Photo/\(name)")
      case 3: _ = refusal { try space.rename("\(here)/Photo/\(name)", "\(there)/Photo/\(name)") }
      case 4: _ = refusal { try space.unlink("\(here)/Photo/\(name)") }
      default:
        _ = try? space.lookup("\(here)/Thumb/\(name)")
      }
    }
  }
}

private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}
