import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumStore
import AlbumTestSupport
import Posix
import Testing

// Power cuts during the creation of a store, the addition of a space and the change of a password, on a disk
// that keeps any part of its unsynced data. Each writing call in turn is the last that takes effect. The test
// then draws several states that a cut may leave. Each failure prints a seed.

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

  @Test
  func `a cut while a space is added leaves the others, and the new one if that was reported`()
    throws
  {
    try cutEverywhere { store throws(StoreError) in
      try store.addSpace(password: secret("new"), birth: PasswordPlace.birth)
    } check: { disk, spaces, isDone, seed in
      #expect((try? identity(disk, "one")) == spaces[0], "seed \(seed)")
      #expect((try? identity(disk, "two")) == spaces[1], "seed \(seed)")
      let new = failure { _ = try identity(disk, "new") }
      #expect(new == nil || !isDone && new?.code == .wrongPassword, "seed \(seed)")
    }
  }

  @Test func `a cut while a store is made leaves none, or one that works`() throws {
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
        // The conf's twin is written before the conf. A cut between the two leaves an error that says that
        // both are unusable.
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
