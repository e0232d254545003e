import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumCheck
@testable import AlbumStore

// No password unlocks a destroyed space, and nothing else in the store has changed.

@Suite struct SpaceDestructionTests {
  @Test func `its slot becomes random, and every other stays byte for byte`() throws {
    let place = try PasswordPlace("one", "two", "three")
    let (one, three) = (try place.space("one"), try place.space("three"))
    let keys = try place.open().unlock(password: secret("two"))
    let before = slots(try place.read("keys"))
    let destruction = try SpaceDestruction(place.open(), password: secret("two"))
    #expect(slots(try place.read("keys")) == before)
    try destruction.destroySlots()
    let after = slots(try place.read("keys"))
    #expect(after.count == before.count)
    let changed = before.indices.filter { before[$0] != after[$0] }
    #expect(changed.count == 1)
    #expect(!keys.isOwn(slot: after[changed[0]][...]))
    #expect(failure { _ = try place.space("two") }?.code == .wrongPassword)
    #expect(try place.space("one") == one)
    #expect(try place.space("three") == three)
  }

  @Test func `all slots of the space go, also those of other passwords and doubled ones`() throws {
    let place = try PasswordPlace("one", "two")
    let store = try place.open()
    let keys = try store.unlock(password: secret("two"))
    let other = try store.passwordKeys(secret("other"))[0]
    let mine = try #require(slots(try place.read("keys")).first { keys.isOwn(slot: $0[...]) })
    try KeyRing.change(store) { slots throws(StoreError) in
      slots.insert(other, SlotContent(keys))
    }
    try place.write(try place.read("keys") + mine, to: "keys")
    try SpaceDestruction(store, password: secret("two")).destroySlots()
    for password in ["two", "other"] {
      #expect(failure { _ = try place.space(password) }?.code == .wrongPassword)
    }
    #expect(slots(try place.read("keys")).allSatisfy { !keys.isOwn(slot: $0[...]) })
    #expect(failure { _ = try place.space("one") } == nil)
  }

  @Test func `the recovery key destroys it, too, and decrypts what stays`() throws {
    let place = try PlaceWithSpaces()
    let key = try place.open().recoveryKey(password: secret("two"))
    try SpaceDestruction(place.open(), recoveryKey: key).destroySlots()
    #expect(failure { _ = try place.keys("two") }?.code == .wrongPassword)
    #expect(failure { _ = try place.keys("one") } == nil)
    // As documented, the recovery key still decrypts the segments that stay.
    let keys = try place.open().unlock(recoveryKey: key)
    try Space.open(
      place.open(), keys: keys, options: SpaceOpenOptions(logger: Logger(label: "test"))
    ).close()
    let left = try place.open().segments(of: keys)
    #expect(!left.isEmpty)
    try SpaceDestruction(place.open(), recoveryKey: key).removeSegments()
    #expect(try place.open().segments(of: keys).isEmpty)
    #expect(
      failure { _ = try SpaceDestruction(place.open(), recoveryKey: key) }?.code == .wrongPassword)
    let stranger = RecoveryKey.encode(SpaceKeys())
    #expect(
      failure { _ = try SpaceDestruction(place.open(), recoveryKey: stranger) }?.code
        == .wrongPassword)
  }

  @Test func `its segments stay unless they are to go, and no other ever goes`() throws {
    let place = try PlaceWithSpaces()
    let before = try place.segments()
    let mine = try place.open().segments(of: place.keys("two"))
    let destruction = try SpaceDestruction(place.open(), password: secret("two"))
    #expect(destruction.segmentCount == mine.count && !mine.isEmpty)
    #expect(destruction.byteCount == Int64(mine.count * SegmentLayout.minimumByteCount))
    try destruction.destroySlots()
    #expect(try place.segments() == before)
    try destruction.removeSegments()
    #expect(try place.segments() == before.subtracting(mine.map(\.text)))
    let report = try SpaceCheck.run(place.open(), keys: place.keys("one"))
    #expect(!report.isDamaged)
  }

  @Test func `a mounted space is not destroyed, one beside a mounted one is`() throws {
    let place = try PlaceWithSpaces()
    let before = try place.place.read("keys")
    let space = try Space.open(
      place.open(), keys: place.keys("two"),
      options: SpaceOpenOptions(logger: Logger(label: "test")))
    #expect(
      failure { _ = try SpaceDestruction(place.open(), password: secret("two")) }?.code == .inUse)
    #expect(try place.place.read("keys") == before)
    try SpaceDestruction(place.open(), password: secret("one")).destroySlots()
    try space.close()
    #expect(failure { _ = try place.keys("two") } == nil)
  }

  @Test func `a wrong and an empty password destroy nothing`() throws {
    let place = try PasswordPlace("one")
    let before = try place.read("keys")
    let store = try place.open()
    for (password, code) in [("two", StoreError.Code.wrongPassword), ("", .emptyPassword)] {
      #expect(failure { _ = try SpaceDestruction(store, password: secret(password)) }?.code == code)
    }
    #expect(try place.read("keys") == before)
  }

  @Test func `a cut while it is destroyed leaves it or not, and the others always`() throws {
    var random = SeededRandom()
    var calls = 0
    var isDone = false
    while !isDone {
      let disk = SimulatedDisk()
      var options = StoreOptions()
      options.cost = .forTests
      options.segmentSize = SegmentLayout.minimumByteCount
      options.chaffByteCount = 0
      let store = try Store.create(
        in: disk, options: options, password: secret("one"), birth: PasswordPlace.birth)
      try store.addSpace(password: secret("two"), birth: PasswordPlace.birth)
      let one = try store.unlock(password: secret("one")).identity
      let destruction = try SpaceDestruction(store, password: secret("two"))
      disk.fail(from: disk.callCount + calls)
      isDone = failure { try destruction.destroySlots() } == nil
      for _ in 0..<8 {
        let left = disk.crashed(&random)
        #expect(try Store.open(left).unlock(password: secret("one")).identity == one)
        let two = failure { _ = try Store.open(left).unlock(password: secret("two")) }
        #expect(two == nil ? !isDone : two?.code == .wrongPassword, "seed \(random.seed)")
      }
      calls += 1
    }
    #expect(calls > 4)
  }

  private func slots(_ bytes: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: KeySlot.byteCount).map {
      Array(bytes[$0..<$0 + KeySlot.byteCount])
    }
  }
}

/// A store with two spaces that have segments.
private struct PlaceWithSpaces {
  let place: PasswordPlace

  init() throws {
    place = try PasswordPlace("unused", chaff: Int64(3 * SegmentLayout.minimumByteCount))
    for password in ["one", "two"] {
      try place.open().addSpace(password: secret(password)) { (store, keys) throws(StoreError) in
        try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
      }
    }
  }

  func open() throws -> Store { try place.open() }
  func keys(_ password: String) throws -> SpaceKeys {
    try open().unlock(password: secret(password))
  }

  /// The names of all segments.
  func segments() throws -> Set<String> {
    let storage = try place.storage()
    return Set(try storage.list("segments").flatMap { try storage.list("segments/\($0)") })
  }
}
