import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Testing

import struct Synchronization.Atomic

@testable import AlbumStore

// Compaction while the space is in use. Without any grace, compaction removes segments at the very moment in
// which a thread reads from them, and no reader may notice.

struct CompactionTests {
  @Test func readersNeverSeeAnErrorOrAWrongByteWhileTheirContentIsMoved() async throws {
    let seed = SeededRandom().seed
    print("seed \(seed)")
    let space = try TestSpace(grace: 0)
    try space.mkdir(".files")
    for number in 0..<12 { try space.write(content(number, 0), to: ".files/kept \(number)") }
    let ended = Flag()
    let hasRead = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for reader in 0..<3 {
        group.addTask {
          var random = SeededRandom(seed: seed &+ UInt64(reader))
          let file = try space.open(".files/kept \(reader)")
          defer { file.release() }
          while !ended.isSet {
            let number = Int.random(in: 0..<12, using: &random)
            #expect(try space.read(".files/kept \(number)") == content(number, 0))
            #expect(try file.get(100, at: 70_000) == Array(content(reader, 0)[70_000..<70_100]))
            hasRead.set()
            await Task.yield()
          }
        }
      }
      group.addTask {
        defer { ended.set() }
        try churn(space)
      }
      try await group.waitForAll()
    }
    #expect(hasRead.isSet)
    for number in 0..<12 { #expect(try space.read(".files/kept \(number)") == content(number, 0)) }
    for number in 0..<4 { #expect(try space.read(".files/copy \(number)") == content(number, 0)) }
    try space.remount()
    for number in 0..<12 { #expect(try space.read(".files/kept \(number)") == content(number, 0)) }
  }

  @Test func aFileWrittenDuringCompactionKeepsItsContent() async throws {
    let seed = SeededRandom().seed
    print("seed \(seed)")
    let space = try TestSpace(grace: 0)
    try space.mkdir(".files")
    let ended = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        group.addTask {
          var random = SeededRandom(seed: seed &+ UInt64(writer))
          let path = ".files/\(writer)"
          try space.write([], to: path)
          let file = try space.open(path, writes: true)
          defer { file.release() }
          var model = [UInt8](repeating: 0, count: 300_000)
          try file.put(model, at: 0)
          for step in 0..<200 {
            let start = Int.random(in: 0..<290_000, using: &random)
            let part = [UInt8](
              repeating: UInt8(truncatingIfNeeded: step),
              count: Int.random(in: 1...9_000, using: &random))
            try file.put(part, at: Int64(start))
            model.replaceSubrange(start..<start + part.count, with: part)
            if step % 7 == 0 { try file.flush() }
            if step % 20 == 0 { #expect(try file.get(300_000, at: 0) == model) }
            await Task.yield()
          }
          try file.flush()
          #expect(try file.get(300_000, at: 0) == model)
        }
      }
      group.addTask {
        while !ended.isSet {
          try space.space.compact()
          await Task.yield()
        }
      }
      for _ in 0..<3 { try await group.next() }
      ended.set()
      try await group.waitForAll()
    }
    let before = try (0..<3).map { try space.read(".files/\($0)") }
    try space.remount()
    #expect(try (0..<3).map { try space.read(".files/\($0)") } == before)
  }
}

/// Makes garbage around the kept files, and copies that share content with it, and compacts.
private func churn(_ space: TestSpace) throws {
  for round in 0..<25 {
    for number in 0..<4 {
      try space.write(content(number, round), to: ".files/gone \(number)")
      try space.copy(".files/kept \(number)", to: ".files/copy \(number)")
      try space.unlink(".files/gone \(number)")
    }
    let moving = ".files/kept \(round % 12)"
    try space.copy(moving, to: ".files/new")
    try space.rename(".files/new", moving)
    try space.space.compact()
  }
}

/// Returns the content of a file, different for each number and version.
private func content(_ number: Int, _ version: Int) -> [UInt8] {
  let block = (0..<251).map { UInt8(truncatingIfNeeded: $0 &* (number + 3) &+ version) }
  var bytes: [UInt8] = []
  while bytes.count < 90_000 + number * 1000 { bytes += block }
  return bytes
}

extension TestSpace {
  /// Copies like `cp --reflink`: the copy shares the records.
  fileprivate func copy(_ path: String, to other: String) throws {
    let source = try open(path)
    defer { source.release() }
    if exists(other) { try unlink(other) }
    let target = try create(other)
    defer { target.release() }
    let size = try status(path).size
    _ = try fileSystem.copyRange(of: source, at: 0, to: target, at: 0, length: size)
    try target.flush()
  }
}

private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}
