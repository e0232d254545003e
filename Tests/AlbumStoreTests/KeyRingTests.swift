import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// The file `keys`. Nothing in it shows how many spaces there are. Whatever happens during a change, no slot
// is ever lost.

@Suite struct KeyRingTests {
  // MARK: What it shows

  @Test func `keys is whole slots, at least eight, and looks random`() throws {
    var counts = [Double](repeating: 0, count: 256)
    var total = 0.0
    for _ in 0..<4 {
      let place = try PasswordPlace("one", "two", "three")
      let bytes = try place.read("keys")
      #expect(bytes.count % KeySlot.byteCount == 0)
      #expect(bytes.count >= KeySlot.minimumCount * KeySlot.byteCount)
      for byte in bytes { counts[Int(byte)] += 1 }
      total += Double(bytes.count)
    }
    let expected = total / 256
    let chiSquare = counts.reduce(0) { $0 + ($1 - expected) * ($1 - expected) / expected }
    #expect(chiSquare < 450)
  }

  /// A geometric distribution with mean 256 has a deviation of 256.5. The mean of 400 draws lies outside 64
  /// of it once in a million runs.
  @Test func `the number of slots at birth and the place of the first are random`() {
    let key = passwordKey("one")
    let content = SlotContent(SpaceKeys())
    var sizes: [Int] = []
    var places = Set<Int>()
    for _ in 0..<400 {
      let slots = KeySlots(birth: key, content)
      sizes.append(slots.count)
      places.insert((try? slots.find([key]))?.places.first ?? -1)
    }
    let mean = Double(sizes.reduce(0, +)) / 400
    #expect(sizes.allSatisfy { $0 >= 8 })
    #expect(mean > 200 && mean < 328)
    #expect(Set(sizes).count > 20)
    #expect(!places.contains(-1) && places.count > 10)
  }

  @Test func `a new slot comes with none to two others, anywhere`() {
    let key = passwordKey("one")
    let content = SlotContent(SpaceKeys())
    var added = Set<Int>()
    var places = Set<Int>()
    for _ in 0..<200 {
      var slots = KeySlots([UInt8](repeating: 7, count: 10 * KeySlot.byteCount))
      slots.insert(key, content)
      added.insert(slots.count - 10)
      places.insert((try? slots.find([key]))?.places.first ?? -1)
      let sevens = slots.bytes.count { $0 == 7 }
      #expect(sevens >= 10 * KeySlot.byteCount)
    }
    #expect(added == [1, 2, 3])
    #expect(places.count > 8)
  }

  // MARK: Adding and changing

  @Test func `a password that unlocks a space is refused for another`() throws {
    let place = try PasswordPlace("one", "two")
    let before = try place.read("keys")
    let store = try place.open()
    for password in ["one", "two"] {
      let error = failure {
        try store.addSpace(password: secret(password)) { (_, _) throws(StoreError) in
          Issue.record("a space was born for a password in use")
        }
      }
      #expect(error?.code == .alreadyExists)
      #expect(
        failure { try store.changePassword(old: secret("one"), new: secret(password)) }?.code
          == .alreadyExists)
    }
    #expect(try place.read("keys") == before)
  }

  @Test func `the space is born before its slot is written`() throws {
    let place = try PasswordPlace("one")
    let before = try place.read("keys")
    var born: SegmentName?
    try place.open().addSpace(password: secret("two")) { (_, keys) throws(StoreError) in
      born = keys.identity
      #expect((try? place.read("keys")) == before)
    }
    #expect(try place.space("two") == born)
    let failed = failure {
      try place.open().addSpace(password: secret("three")) { (_, _) throws(StoreError) in
        throw StoreError(.noSpace, "full")
      }
    }
    #expect(failed?.code == .noSpace)
    #expect(failure { _ = try place.space("three") }?.code == .wrongPassword)
  }

  @Test func `a change of password changes its own slot alone`() throws {
    let place = try PasswordPlace("one", "two", "three")
    let before = try place.read("keys")
    let (one, two, three) = (
      try place.space("one"), try place.space("two"), try place.space("three")
    )
    try place.open().changePassword(old: secret("two"), new: secret("zwei"))
    let after = try place.read("keys")
    #expect(after.count == before.count)
    let changed = stride(from: 0, to: before.count, by: KeySlot.byteCount).filter {
      before[$0..<$0 + KeySlot.byteCount] != after[$0..<$0 + KeySlot.byteCount]
    }
    #expect(changed.count == 1)
    #expect(try place.space("zwei") == two)
    #expect(try place.space("one") == one)
    #expect(try place.space("three") == three)
    #expect(failure { _ = try place.space("two") }?.code == .wrongPassword)
  }

  @Test func `the old password still unlocks an old copy of keys`() throws {
    let place = try PasswordPlace("one")
    let expected = try place.space("one")
    let copy = try place.read("keys")
    try place.open().changePassword(old: secret("one"), new: secret("new"))
    try place.write(copy, to: "keys")
    #expect(try place.space("one") == expected)
  }

  @Test func `a mistyped old password changes nothing`() throws {
    let place = try PasswordPlace("one")
    let before = try place.read("keys")
    let error = failure {
      try place.open().changePassword(old: secret("won"), new: secret("new"))
    }
    #expect(error?.code == .wrongPassword)
    #expect(try place.read("keys") == before)
  }

  // MARK: Several at once

  /// Without the lock, or without reading again under it, changes would lose slots here.
  @Test func `changes at the same time lose no slot`() async throws {
    let place = try PasswordPlace("0", "old")
    let old = try place.space("old")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 1...4 {
        group.addTask {
          for round in 0..<4 {
            try place.open().addSpace(
              password: secret("\(worker)/\(round)"), birth: PasswordPlace.birth)
          }
        }
      }
      group.addTask {
        var password = "old"
        for round in 0..<6 {
          try place.open().changePassword(old: secret(password), new: secret("new \(round)"))
          password = "new \(round)"
        }
      }
      try await group.waitForAll()
    }
    var spaces: Set<SegmentName> = [try place.space("0"), try place.space("new 5")]
    #expect(spaces.contains(old))
    for worker in 1...4 {
      for round in 0..<4 { spaces.insert(try place.space("\(worker)/\(round)")) }
    }
    #expect(spaces.count == 18)
    #expect(try !place.storage().list("").contains("keys.new"))
  }

  // MARK: Damage

  @Test func `a damaged slot costs its own password and no other`() throws {
    let place = try PasswordPlace("one", "two")
    let (one, two) = (try place.space("one"), try place.space("two"))
    let good = try place.read("keys")
    let store = try place.open()
    let places = try ["one", "two"].map {
      try KeyRing.read(store).find([passwordKey($0, store)]).places[0]
    }
    for byte in stride(from: 0, to: KeySlot.byteCount, by: 3) {
      try place.edit("keys") { $0[places[0] * KeySlot.byteCount + byte] ^= 1 << (byte % 8) }
      #expect(failure { _ = try place.space("one") }?.code == .wrongPassword)
      #expect(try place.space("two") == two)
      try place.write(good, to: "keys")
    }
    for slot in 0..<good.count / KeySlot.byteCount where !places.contains(slot) {
      try place.edit("keys") { $0[slot * KeySlot.byteCount + 100] ^= 1 }
    }
    #expect(try place.space("one") == one)
    #expect(try place.space("two") == two)
  }

  @Test
  func
    `keys of the wrong size still unlocks the slots that are left, is reported, and is not changed`()
    throws
  {
    let place = try PasswordPlace("one")
    let store = try place.open()
    let slot = try KeyRing.read(store).find([passwordKey("one", store)]).places[0]
    let good = try place.read("keys")
    // Contains the slots up to this one and 100 more bytes.
    let behind = good[..<((slot + 1) * KeySlot.byteCount)] + good[..<100]
    try place.write(Array(behind), to: "keys")
    let cut = try place.open()
    #expect(failure { _ = try cut.unlock(password: secret("one")) } == nil)
    #expect(cut.warnings == [.wrongSizeOfKeys(byteCount: behind.count)])
    #expect(
      failure { try cut.addSpace(password: secret("two"), birth: PasswordPlace.birth) }?.code
        == .keysDamaged)
    #expect(
      failure { try cut.changePassword(old: secret("one"), new: secret("two")) }?.code
        == .keysDamaged)
    #expect(try place.read("keys") == Array(behind))
    try place.write(Array(good[..<(slot * KeySlot.byteCount + 511)]), to: "keys")
    let lost = failure { _ = try place.space("one") }
    #expect(lost?.code == .keysDamaged)
    #expect(lost?.remedy == .recoveryKey)
    // Adds bytes that are no slot.
    try place.write(good + [1, 2, 3], to: "keys")
    let extended = try place.open()
    #expect(failure { _ = try extended.unlock(password: secret("one")) } == nil)
    #expect(extended.warnings == [.wrongSizeOfKeys(byteCount: good.count + 3)])
    let refused = failure { try extended.changePassword(old: secret("one"), new: secret("two")) }
    #expect(refused?.code == .keysDamaged)
  }

  @Test func `keys missing, empty or absurdly large is damage, not a wrong password`() throws {
    let place = try PasswordPlace("one")
    try place.write([], to: "keys")
    #expect(failure { _ = try place.space("one") }?.code == .keysDamaged)
    try place.storage().remove("keys")
    let missing = failure { _ = try place.space("one") }
    #expect(missing?.code == .keysDamaged)
    #expect(missing?.message.contains("missing") == true)
    try place.write(
      [UInt8](repeating: 0, count: (KeySlot.maximumCount + 1) * KeySlot.byteCount), to: "keys")
    #expect(failure { _ = try place.space("one") }?.code == .keysDamaged)
  }

  @Test func `the next change removes what an unfinished change left`() throws {
    let place = try PasswordPlace("one")
    try place.write([1, 2, 3], to: "keys.new")
    try place.open().changePassword(old: secret("one"), new: secret("two"))
    #expect(try !place.storage().list("").contains("keys.new"))
    try place.write([1, 2, 3], to: "keys.new")
    let store = try place.open()
    let keys = try store.unlock(password: secret("two"))
    _ = try SpaceLock.take(store: store, keys: keys, readOnly: true)
    #expect(try place.storage().list("").contains("keys.new"))
    _ = try SpaceLock.take(store: store, keys: keys, readOnly: false)
    #expect(try !place.storage().list("").contains("keys.new"))
  }

  @Test func `a directory in the way of a change is named, and stays`() throws {
    let place = try PasswordPlace("one")
    try place.storage().makeDirectory("keys.new")
    let refused = failure {
      try place.open().changePassword(old: secret("one"), new: secret("two"))
    }
    #expect(refused?.code == .misplaced)
    #expect(refused?.message.contains("move it out of the store") == true)
    _ = try place.space("one")
    #expect(try place.storage().list("").contains("keys.new"))
  }

  // MARK: Failing disks

  /// Each call of the change fails once, in turn. Before and after, one of the two passwords unlocks the
  /// space. If the change reported success, the new one does.
  @Test func `a disk that fails at any call never costs the space`() throws {
    var call = 0
    while true {
      let place = try PasswordPlace("old", "other")
      let (space, other) = (try place.space("old"), try place.space("other"))
      let disk = FailingDirectory(try place.storage(), failAt: call)
      let error = failure {
        try Store.open(disk).changePassword(old: secret("old"), new: secret("new"))
      }
      let opened = ["old", "new"].filter { (try? place.space($0)) == space }
      #expect(opened.count == 1, "call \(call): \(opened)")
      #expect(error != nil || opened == ["new"])
      #expect(try place.space("other") == other)
      if !disk.hasFailed { break }
      call += 1
    }
    #expect(call > 12)
  }

  @Test func `a change that does not read back as written is rejected`() throws {
    let place = try PasswordPlace("old")
    let before = try place.read("keys")
    let disk = FailingDirectory(try place.storage(), failAt: .max, garbles: true)
    let error = failure {
      try Store.open(disk).changePassword(old: secret("old"), new: secret("new"))
    }
    #expect(error?.code == .inputOutput)
    #expect(try place.read("keys") == before)
    #expect(try !place.storage().list("").contains("keys.new"))
  }

  // MARK: Features

  @Test func `unknown features refuse the space, or writing it, in clear words`() throws {
    let place = try PasswordPlace("one")
    let store = try place.open()
    var header = KeySlot.Content()
    header.mustUnderstand = 2
    try put(header, place, store)
    let refused = failure { _ = try place.space("one") }
    #expect(refused?.code == .unsupportedFeature)
    #expect(refused?.message.contains("0x2") == true)
    header = KeySlot.Content()
    header.mayWrite = 8
    try put(header, place, store)
    let keys = try store.unlock(password: secret("one"))
    _ = try SpaceLock.take(store: store, keys: keys, readOnly: true)
    #expect(
      failure { _ = try SpaceLock.take(store: store, keys: keys, readOnly: false) }?.code
        == .unsupportedFeature)
  }

  private func put(_ header: KeySlot.Content, _ place: PasswordPlace, _ store: Store) throws {
    let content = SlotContent(SpaceKeys(), header: header)
    let slots = KeySlots(birth: passwordKey("one", store), content)
    try place.write(slots.bytes, to: "keys")
  }

  private func passwordKey(_ password: String, _ store: Store? = nil) -> PasswordKey {
    let derivation =
      store?.configuration.derivations[0]
      ?? KeyDerivation(
        number: 1, cost: KDFCost(operations: 1, memory: 8 << 10),
        salt: [UInt8](repeating: 1, count: 16))
    return PasswordKey(
      password: secret(password), derivation: derivation,
      formatLine: store?.configuration.formatLine ?? "format 1 segment-size 4194304")!
  }
}

/// Fails its n-th call. With `garbles` it changes a byte of what is written.
private final class FailingDirectory: StorageDirectory {
  private let base: PosixDirectory
  private let failAt: Int
  let garbles: Bool
  private let calls = Mutex(0, rank: .test)

  init(_ base: PosixDirectory, failAt: Int, garbles: Bool = false) {
    self.base = base
    self.failAt = failAt
    self.garbles = garbles
  }

  var hasFailed: Bool { calls.withLock { $0 > failAt } }

  func step() throws(Errno) {
    let fails = calls.withLock {
      $0 += 1
      return $0 - 1 == failAt
    }
    if fails { throw .io }
  }

  func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    try step()
    return FailingFile(try base.open(path, access), self)
  }

  func makeDirectory(_ path: String) throws(Errno) {
    try step()
    try base.makeDirectory(path)
  }

  func rename(_ from: String, to: String) throws(Errno) {
    try step()
    try base.rename(from, to: to)
  }

  func remove(_ path: String) throws(Errno) {
    try step()
    try base.remove(path)
  }

  func list(_ path: String) throws(Errno) -> [String] {
    try step()
    return try base.list(path)
  }

  func syncDirectory(_ path: String) throws(Errno) {
    try step()
    try base.syncDirectory(path)
  }

  func capacity() throws(Errno) -> StorageCapacity {
    try step()
    return try base.capacity()
  }
}

private final class FailingFile: StorageFile {
  private let base: any StorageFile
  private let directory: FailingDirectory

  init(_ base: any StorageFile, _ directory: FailingDirectory) {
    self.base = base
    self.directory = directory
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    try directory.step()
    return try unsafe base.read(into: buffer, at: offset)
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    try directory.step()
    try unsafe base.write(buffer, at: offset)
    if !directory.garbles { return }
    let wrong = unsafe [buffer[0] ^ 1]
    try base.writeAll(wrong)
  }

  func sync() throws(Errno) {
    try directory.step()
    try base.sync()
  }

  func startWriteback() { base.startWriteback() }

  func size() throws(Errno) -> Int64 {
    try directory.step()
    return try base.size()
  }

  func setModificationTime(_ time: Timestamp) throws(Errno) {
    try directory.step()
    try base.setModificationTime(time)
  }

  func modificationTime() throws(Errno) -> Timestamp { try base.modificationTime() }

  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    try directory.step()
    try base.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
  }

  func unlock(offset: Int64, length: Int64) throws(Errno) {
    try directory.step()
    try base.unlock(offset: offset, length: length)
  }
}
