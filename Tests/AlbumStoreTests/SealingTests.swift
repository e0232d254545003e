import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// An attacker who can write to the store cannot make the next password easy to guess: the conf never decides
// at which cost a slot is sealed.

@Suite struct SealingTests {
  private let weak = KDFCost(operations: 1, memory: 8 << 10)
  private let usual = KDFCost(operations: 2, memory: 64 << 10)
  private let strong = KDFCost(operations: 3, memory: 128 << 10)

  // MARK: Which line seals

  /// In an earlier version a weak line, appended to both confs, sealed the next password.
  @Test func `a weak line in both confs seals no new password`() throws {
    let place = try place()
    try append(KeyDerivation(number: 2, cost: weak, salt: salt(1)), to: place)
    try place.open().changePassword(old: secret("one"), new: secret("new"))
    try place.open().addSpace(password: secret("two"), birth: PasswordPlace.birth)
    for password in ["new", "two"] {
      #expect(try lines(of: password, place).map(\.cost) == [usual], "\(password)")
    }
  }

  @Test
  func `a password change uses no line that its space does not know, a new space the strongest`()
    throws
  {
    let place = try place()
    try append(KeyDerivation(number: 2, cost: strong, salt: salt(1)), to: place)
    try place.open().changePassword(old: secret("one"), new: secret("new"))
    #expect(try lines(of: "new", place).map(\.cost) == [usual])
    try place.open().addSpace(password: secret("two"), birth: PasswordPlace.birth)
    #expect(try lines(of: "two", place).map(\.cost) == [strong])
    // The new space knows both lines and keeps the strongest.
    try place.open().changePassword(old: secret("two"), new: secret("zwei"))
    #expect(try lines(of: "zwei", place).map(\.cost) == [strong])
  }

  @Test func `never below the floor, whatever is known`() throws {
    let known = [
      KeyDerivation(number: 1, cost: .interactive, salt: salt(1)),
      KeyDerivation(number: 3, cost: KDFCost(operations: 32, memory: 128 << 20), salt: salt(2)),
    ]
    let line = try SealingLine(known: known, in: known, floor: .floor)
    #expect(line.isNew && line.derivation.cost == .floor && line.derivation.number == 4)
    #expect(!known.map(\.salt).contains(line.derivation.salt))
    let others = known + [KeyDerivation(number: 5, cost: .sensitive, salt: salt(3))]
    let found = try SealingLine(known: others, in: others, floor: .floor)
    #expect(!found.isNew && found.derivation == others[2])
  }

  /// Otherwise each space would add a line to the conf, which would show how many there are.
  @Test func `a space that knows no strong line takes one of the conf`() throws {
    let known = [KeyDerivation(number: 1, cost: .interactive, salt: salt(1))]
    let others = known + [KeyDerivation(number: 5, cost: .sensitive, salt: salt(3))]
    let line = try SealingLine(known: known, in: others, floor: .floor)
    #expect(!line.isNew && line.derivation == others[1])
  }

  @Test func `a conf that is full of weak lines is refused, one with a strong line is not`() throws
  {
    var lines = (1...4).map { KeyDerivation(number: $0, cost: .interactive, salt: salt(UInt8($0))) }
    let error = failure { _ = try SealingLine(known: [], in: lines, floor: .floor) }
    #expect(error?.code == .costRefused)
    #expect(error?.message.contains("backup") == true)
    lines[2].cost = .sensitive
    let line = try SealingLine(known: [lines[0]], in: lines, floor: .floor)
    #expect(!line.isNew && line.derivation == lines[2])
  }

  @Test func `a store is born at the floor or above, whatever is asked for`() throws {
    let place = try place()
    #expect(try place.open().configuration.derivations.map(\.cost) == [usual])
    // This is the least cost for tests.
    let least = try PasswordPlace("one", cost: KDFCost(operations: 1, memory: 1))
    #expect(try least.open().configuration.derivations.map(\.cost) == [weak])
    #expect(KDFCost.floor == .moderate)
  }

  // MARK: Warnings

  @Test func `lines that a space does not know are reported, with advice`() throws {
    let place = try place()
    #expect(try told("one", place).isEmpty)
    let line = KeyDerivation(number: 2, cost: strong, salt: salt(1))
    try append(line, to: place)
    let one = try told("one", place)
    #expect(one == [.unknownLine(line)])
    #expect(!one[0].isDamage)
    try place.open().addSpace(password: secret("two"), birth: PasswordPlace.birth)
    #expect(try told("two", place).isEmpty)
    #expect(try told("one", place) == one)
  }

  @Test func `a space reports the loss of a line that it knew`() throws {
    let place = try place()
    let before = try place.read("albumfs.conf")
    try append(KeyDerivation(number: 2, cost: strong, salt: salt(1)), to: place)
    let both = try place.read("albumfs.conf")
    try place.open().addSpace(password: secret("two"), birth: PasswordPlace.birth)
    // The slot of the second space lists the first line, too.
    var only = try StoreConfiguration(decoding: both)
    only.derivations.removeFirst()
    for path in ["albumfs.conf", "albumfs.conf.bak"] { try place.write(only.encode(), to: path) }
    let lacking = try told("two", place)
    #expect(lacking == [.missingLine])
    #expect(failure { _ = try place.space("one") }?.code == .wrongPassword)
    for path in ["albumfs.conf", "albumfs.conf.bak"] { try place.write(before, to: path) }
    #expect(try told("one", place).isEmpty)
  }

  @Test func `slots from before lines were listed vouch for their own`() throws {
    let place = try place()
    let store = try place.open()
    let key = try store.passwordKeys(secret("one"))[0]
    let bare = SlotContent(SpaceKeys())
    #expect(bare.header.trustedLines.digests.isEmpty)
    try place.write(KeySlots(birth: key, bare).bytes, to: "keys")
    #expect(try told("one", place).isEmpty)
    try place.open().changePassword(old: secret("one"), new: secret("new"))
    #expect(try told("new", place).isEmpty)
  }

  // MARK: A line that the conf lacks

  @Test func `a line that a slot needs is in both confs, and other slots unlock as before`()
    throws
  {
    let place = try place()
    let one = try place.space("one")
    let line = KeyDerivation(number: 2, cost: strong, salt: salt(9))
    let store = try place.open()
    try add("two", by: line, to: store)
    #expect(try place.read("albumfs.conf") == place.read("albumfs.conf.bak"))
    #expect(try place.open().configuration.derivations.last == line)
    #expect(try place.open().warnings.isEmpty)
    #expect(try lines(of: "two", place) == [line])
    #expect(try place.space("one") == one)
    // The process that wrote the line continues to use it.
    #expect(failure { _ = try store.unlock(password: secret("two")) } == nil)
    #expect(
      failure { try store.addSpace(password: secret("x"), birth: PasswordPlace.birth) } == nil)
  }

  @Test func `a process that opened the store before the conf changed is asked to try again`()
    throws
  {
    let place = try place()
    let (first, second) = (try place.open(), try place.open())
    try add("two", by: KeyDerivation(number: 2, cost: strong, salt: salt(9)), to: first)
    let error = failure {
      try second.addSpace(password: secret("three"), birth: PasswordPlace.birth)
    }
    #expect(error?.code == .inUse && error?.message.contains("try again") == true)
    #expect(
      failure { try place.open().addSpace(password: secret("three"), birth: PasswordPlace.birth) }
        == nil)
  }

  @Test func `a cut while the conf gets a line leaves every password as it is`() throws {
    var random = SeededRandom()
    var calls = 0
    var isDone = false
    while !isDone {
      let disk = SimulatedDisk()
      var options = StoreOptions()
      options.cost = .forTests
      options.segmentSize = SegmentLayout.minimumByteCount
      options.chaffByteCount = 0
      let made = try Store.create(
        in: disk, options: options, password: secret("one"), birth: PasswordPlace.birth)
      let one = try made.unlock(password: secret("one")).identity
      let store = try Store.open(disk)
      disk.fail(from: disk.callCount + calls)
      let line = KeyDerivation(number: 2, cost: strong, salt: salt(9))
      isDone = failure { try add("two", by: line, to: store) } == nil
      for _ in 0..<8 {
        let left = disk.crashed(&random)
        #expect(try Store.open(left).unlock(password: secret("one")).identity == one)
        let two = failure { _ = try Store.open(left).unlock(password: secret("two")) }
        let mayBe = two == nil || !isDone && two?.code == .wrongPassword
        #expect(mayBe, "seed \(random.seed), call \(calls): \(String(describing: two))")
      }
      calls += 1
    }
    #expect(calls > 8)
  }

  @Test func `a conf that is missing or damaged is there again with the line`() throws {
    let line = KeyDerivation(number: 2, cost: strong, salt: salt(9))
    for path in ["albumfs.conf", "albumfs.conf.bak"] {
      for isMissing in [true, false] {
        let place = try place()
        if isMissing {
          try place.storage().remove(path)
        } else {
          try place.edit(path) { $0[20] ^= 1 }
        }
        try add("two", by: line, to: place.open())
        #expect(try place.read("albumfs.conf") == place.read("albumfs.conf.bak"))
        #expect(try place.open().warnings.isEmpty)
        #expect(try lines(of: "two", place) == [line])
      }
    }
  }

  // MARK: What a prepared conf costs

  @Test func `two confs together cost no more than one may`() throws {
    let place = try place()
    let first = try place.open().configuration
    for (path, range) in [("albumfs.conf", 2...4), ("albumfs.conf.bak", 5...7)] {
      var edited = first
      edited.derivations += range.map {
        KeyDerivation(number: $0, cost: weak, salt: salt(UInt8($0)))
      }
      try place.write(edited.encode(), to: path)
    }
    #expect(failure { _ = try place.open() }?.code == .costRefused)
    for (path, number) in [("albumfs.conf", 2), ("albumfs.conf.bak", 3)] {
      var edited = first
      edited.derivations.append(
        KeyDerivation(
          number: number, cost: KDFCost(operations: 6, memory: 2 << 30), salt: salt(UInt8(number))))
      try place.write(edited.encode(), to: path)
    }
    #expect(failure { _ = try place.open() }?.code == .costRefused)
  }

  // MARK: By the recovery key

  @Test func `the recovery key sets a new password, in the place of the old one`() throws {
    let place = try PasswordPlace("one", "two")
    let (one, two) = (try place.space("one"), try place.space("two"))
    let before = try place.read("keys")
    let key = try place.open().recoveryKey(password: secret("one"))
    try place.open().changePassword(recoveryKey: key, new: secret("new"))
    #expect(try place.space("new") == one)
    #expect(try place.space("two") == two)
    #expect(failure { _ = try place.space("one") }?.code == .wrongPassword)
    #expect(try place.read("keys").count == before.count)
    let stranger = RecoveryKey.encode(SpaceKeys())
    let error = failure {
      try place.open().changePassword(recoveryKey: stranger, new: secret("other"))
    }
    #expect(error?.code == .wrongPassword)
    #expect(
      failure { try place.open().changePassword(recoveryKey: key, new: secret("two")) }?.code
        == .alreadyExists)
  }

  // MARK: Helpers

  /// Makes a store of the usual cost.
  private func place() throws -> PasswordPlace {
    try PasswordPlace("one", cost: usual)
  }

  private func salt(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 16) }

  /// Edits both confs, as an attacker who knows the format can.
  private func append(_ line: KeyDerivation, to place: PasswordPlace) throws {
    var configuration = try place.open().configuration
    configuration.derivations.append(line)
    for path in ["albumfs.conf", "albumfs.conf.bak"] {
      try place.write(configuration.encode(), to: path)
    }
  }

  private func lines(of password: String, _ place: PasswordPlace) throws -> [KeyDerivation] {
    let store = try place.open()
    return try KeyRing.read(store).find(store.passwordKeys(secret(password))).lines
  }

  private func told(_ password: String, _ place: PasswordPlace) throws -> [StoreWarning] {
    let store = try place.open()
    _ = try store.unlock(password: secret(password))
    return store.warnings
  }

  private func add(_ password: String, by line: KeyDerivation, to store: Store) throws(StoreError) {
    let key = try store.passwordKey(secret(password), line)
    try KeyRing.change(store, appending: line) { slots throws(StoreError) in
      slots.insert(key, SlotContent(SpaceKeys()).vouching(for: [line]))
    }
  }
}
