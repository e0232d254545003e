import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumStore
import AlbumTestSupport
import Posix
import Testing

// Power cuts while a store is made, a space added or a password changed, on a disk that keeps any
// part of what was not synced. Method: every writing call is in turn the last that is done; from
// what is there then, several states are drawn that a cut may leave. A seed is printed with each
// failure.

@Suite struct KeyCrashTests {
  @Test func `a cut while a password changes leaves the old one or the new one`() throws {
    try cutEverywhere { store throws(StoreError) in
      try store.changePassword(old: secret("one"), new: secret("new"))
    } check: { disk, spaces, isDone, seed in
      let opened = ["one", "new"].filter { (try? identity(disk, $0)) == spaces[0] }
      #expect(opened.count == 1 && (!isDone || opened == ["new"]), "seed \(seed)")
      #expect((try? identity(disk, "two")) == spaces[1], "seed \(seed)")
    }
  }

  @Test func `a cut while a space is added leaves the others, and it where that was told`() throws {
    try cutEverywhere { store throws(StoreError) in
      try store.addSpace(password: secret("new"), birth: PasswordPlace.birth)
    } check: { disk, spaces, isDone, seed in
      #expect((try? identity(disk, "one")) == spaces[0], "seed \(seed)")
      #expect((try? identity(disk, "two")) == spaces[1], "seed \(seed)")
      let new = failure { _ = try identity(disk, "new") }
      #expect(new == nil || !isDone && new?.code == .wrongPassword, "seed \(seed)")
    }
  }

  @Test func `a cut while a store is made leaves none, or one that opens`() throws {
    var random = SeededRandom()
    var calls = 0
    var isDone = false
    while !isDone {
      let disk = SimulatedDisk()
      disk.fail(from: calls)
      isDone = failure { _ = try create(disk) } == nil
      for _ in 0..<8 {
        let left = disk.crashed(&random)
        let error = failure { _ = try identity(left, "one") }
        // The conf's twin is written before the conf; cut in between, it says that both are spoilt.
        let isRefused = error?.code == .notAStore || error?.code == .configurationAltered
        let mayBe = error == nil || !isDone && isRefused
        #expect(mayBe, "seed \(random.seed), call \(calls): \(String(describing: error))")
      }
      calls += 1
    }
    #expect(calls > 8)
  }

  // MARK: Helpers

  private func cutEverywhere(
    _ change: (Store) throws(StoreError) -> Void,
    check: (SimulatedDisk, [SegmentName], _ isDone: Bool, _ seed: UInt64) -> Void
  ) throws {
    var random = SeededRandom()
    var calls = 0
    var isDone = false
    while !isDone {
      let disk = SimulatedDisk()
      try create(disk).addSpace(password: secret("two"), birth: PasswordPlace.birth)
      let spaces = [try identity(disk, "one"), try identity(disk, "two")]
      disk.fail(from: disk.callCount + calls)
      let store = try Store.open(disk)
      isDone = failure { try change(store) } == nil
      for _ in 0..<8 { check(disk.crashed(&random), spaces, isDone, random.seed) }
      calls += 1
    }
    #expect(calls > 4)
  }

  private func create(_ disk: SimulatedDisk) throws -> Store {
    var options = StoreOptions()
    options.cost = .forTests
    options.segmentSize = SegmentLayout.minimumByteCount
    options.chaffByteCount = 0
    return try Store.create(
      in: disk, options: options, password: secret("one"), birth: PasswordPlace.birth)
  }

  private func identity(_ disk: SimulatedDisk, _ password: String) throws -> SegmentName {
    try Store.open(disk).unlock(password: secret(password)).identity
  }
}
