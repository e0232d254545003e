import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumStore
import AlbumTestSupport
import Glibc
import Posix
import Testing

// Making a store, unlocking its spaces, and damage to its files. Every refusal has its code, and a text that
// says what to do and contains no secret.

@Suite struct StoreTests {
  // MARK: Making one

  @Test func `the password unlocks a new store`() throws {
    let place = try PasswordPlace("correct horse")
    let store = try place.open()
    #expect(store.warnings.isEmpty)
    #expect(store.configuration.segmentSize == SegmentLayout.minimumByteCount)
    #expect(try place.space("correct horse") == place.space("correct horse"))
    #expect(try place.read("albumfs.conf") == place.read("albumfs.conf.bak"))
  }

  @Test func `a store is made only in an empty directory`() throws {
    let place = try PasswordPlace("correct horse")
    #expect(failure { _ = try create(in: place.storage()) }?.code == .alreadyExists)
    try place.storage().remove("albumfs.conf")
    #expect(failure { _ = try create(in: place.storage()) }?.code == .alreadyExists)
    try place.storage().remove("albumfs.conf.bak")
    let unfinished = failure { _ = try create(in: place.storage()) }
    #expect(unfinished?.code == .notEmpty)
    #expect(unfinished?.message.contains("not finished") == true)
    let other = TemporaryDirectory()
    let storage = try PosixDirectory(path: other.path)
    _ = try storage.open("holiday.jpg", .createNew)
    #expect(failure { _ = try create(in: storage) }?.code == .notEmpty)
    #expect(try storage.list("") == ["holiday.jpg"])
  }

  @Test func `the root of a fresh file system counts as empty`() throws {
    let directory = TemporaryDirectory()
    let storage = try PosixDirectory(path: directory.path)
    try storage.makeDirectory("lost+found")
    _ = try create(in: storage)
  }

  @Test func `where the first space cannot be born there is no store`() throws {
    let directory = TemporaryDirectory()
    let storage = try PosixDirectory(path: directory.path)
    let error = failure {
      _ = try Store.create(in: storage, options: options, password: secret("a")) {
        (_, _) throws(StoreError) in throw StoreError(.noSpace, "full")
      }
    }
    #expect(error?.code == .noSpace)
    #expect(failure { _ = try Store.open(storage) }?.code == .notAStore)
  }

  @Test func `an empty password is refused, new and old`() throws {
    let directory = TemporaryDirectory()
    let storage = try PosixDirectory(path: directory.path)
    let error = failure { _ = try create(in: storage, password: "") }
    #expect(error?.code == .emptyPassword)
    #expect(try storage.list("").isEmpty)
    let place = try PasswordPlace("correct horse")
    let store = try place.open()
    #expect(failure { _ = try store.unlock(password: secret("")) }?.code == .emptyPassword)
    #expect(
      failure { try store.addSpace(password: secret(""), birth: PasswordPlace.birth) }?.code
        == .emptyPassword)
    #expect(
      failure {
        try store.changePassword(old: secret("correct horse"), new: secret(""))
      }?.code == .emptyPassword)
  }

  // MARK: Opening spaces

  @Test func `each password unlocks its space, all others none`() throws {
    let place = try PasswordPlace("correct horse", "battery", "staple")
    let spaces = try ["correct horse", "battery", "staple"].map { try place.space($0) }
    #expect(Set(spaces).count == 3)
    for password in ["correct", "Battery", "staple ", "x"] {
      let error = failure { _ = try place.space(password) }
      #expect(error?.code == .wrongPassword)
    }
  }

  @Test func `a wrong password and the password of another store's space give the same error`()
    throws
  {
    let (one, other) = (try PasswordPlace("one"), try PasswordPlace("other"))
    let elsewhere = failure { _ = try one.space("other") }
    let wrong = failure { _ = try one.space("never used anywhere") }
    #expect(elsewhere?.code == wrong?.code)
    #expect(elsewhere?.message == wrong?.message)
    #expect(elsewhere?.path == wrong?.path)
    #expect(failure { _ = try other.space("other") } == nil)
  }

  @Test func `the recovery key unlocks the space, without keys or password`() throws {
    let place = try PasswordPlace("correct horse")
    let expected = try place.space("correct horse")
    let key = try place.open().recoveryKey(password: secret("correct horse"))
    try place.storage().remove("keys")
    let opened = try place.open().unlock(recoveryKey: key).identity
    #expect(opened == expected)
  }

  @Test func `a mistyped recovery key is refused and not repeated`() throws {
    let place = try PasswordPlace("correct horse")
    let store = try place.open()
    for typed in ["", "HUNTER2", "0123-4567", String(repeating: "7", count: 56)] {
      let error = failure { _ = try store.unlock(recoveryKey: secret(typed)) }
      #expect(error?.code == .wrongPassword)
      #expect(typed.isEmpty || error?.message.contains(typed) == false)
    }
  }

  @Test func `one session at a time uses a space, and two spaces of a store can be used at once`()
    throws
  {
    let place = try PasswordPlace("one", "other")
    let store = try place.open()
    let one = try store.unlock(password: secret("one"))
    let other = try store.unlock(password: secret("other"))
    let first = try SpaceLock.take(store: store, keys: one, readOnly: false)
    let second = try SpaceLock.take(store: try place.open(), keys: other, readOnly: false)
    #expect(
      failure { _ = try SpaceLock.take(store: try place.open(), keys: one, readOnly: false) }?.code
        == .inUse)
    #expect(
      failure { _ = try SpaceLock.take(store: try place.open(), keys: one, readOnly: true) }?.code
        == .inUse)
    first.release()
    _ = try SpaceLock.take(store: store, keys: one, readOnly: true)
    second.release()
  }

  @Test func `a session that only reads restores no conf, and still keeps writers out`() throws {
    let place = try PasswordPlace("one")
    let storage = try place.storage()
    let store = try place.open()
    let keys = try store.unlock(password: secret("one"))
    try storage.remove("albumfs.conf")
    let reader = try SpaceLock.take(store: store, keys: keys, readOnly: true)
    #expect(try !storage.list("").contains("albumfs.conf"))
    #expect(
      failure { _ = try SpaceLock.take(store: try place.open(), keys: keys, readOnly: false) }?.code
        == .inUse)
    reader.release()
    let writer = try SpaceLock.take(store: store, keys: keys, readOnly: false)
    #expect(try place.read("albumfs.conf") == place.read("albumfs.conf.bak"))
    writer.release()
  }

  @Test func `a mounted space does not keep its password from being changed`() throws {
    let place = try PasswordPlace("one")
    let store = try place.open()
    let keys = try store.unlock(password: secret("one"))
    let lock = try SpaceLock.take(store: store, keys: keys, readOnly: false)
    try place.open().changePassword(old: secret("one"), new: secret("two"))
    lock.release()
    #expect(try place.space("two") == keys.identity)
  }

  // MARK: Damaged and edited confs

  @Test
  func `one conf may be lost or damaged in any byte: the other serves, and a warning says so`()
    throws
  {
    let place = try PasswordPlace("correct horse")
    let expected = try place.space("correct horse")
    for path in ["albumfs.conf", "albumfs.conf.bak"] {
      let good = try place.read(path)
      for byte in good.indices {
        try place.edit(path) { $0[byte] ^= 1 << (byte % 8) }
        let store = try place.open()
        #expect(store.warnings.map(\.unusableConf) == [path])
        #expect(try store.unlock(password: secret("correct horse")).identity == expected)
        try place.write(good, to: path)
      }
      try place.storage().remove(path)
      let store = try place.open()
      let twin = path == "albumfs.conf" ? "albumfs.conf.bak" : "albumfs.conf"
      #expect(store.warnings == [.unusableConf(path: path, twin: twin, .missing)])
      #expect(try store.unlock(password: secret("correct horse")).identity == expected)
      try place.write(good, to: path)
    }
  }

  /// A lock of one process on the twin alone excludes another process, and a password changes as usual.
  @Test(arguments: ["albumfs.conf", "albumfs.conf.bak"])
  func `something else in the place of one conf costs nothing: the other serves`(_ path: String)
    throws
  {
    let makers: [(String) throws -> Void] = [
      { try #require(unsafe mkfifo($0, 0o600) == 0) },
      { try #require(unsafe mkdir($0, 0o700) == 0) },
      { try #require(unsafe symlink("keys", $0) == 0) },
    ]
    for make in makers {
      let place = try PasswordPlace("correct horse", "battery")
      let other = try place.space("battery")
      try place.storage().remove(path)
      try make("\(place.directory.path)/\(path)")
      let store = try place.open()
      #expect(store.warnings.map(\.unusableConf) == [path])
      let keys = try store.unlock(password: secret("correct horse"))
      for isReader in [false, true] {
        let lock = try SpaceLock.take(store: store, keys: keys, readOnly: isReader)
        for mayWrite in [true, false] {
          let again = failure {
            _ = try SpaceLock.take(store: place.open(), keys: keys, readOnly: !mayWrite)
          }
          #expect(again?.code == .inUse)
        }
        lock.release()
      }
      try store.changePassword(old: secret("correct horse"), new: secret("staple"))
      #expect(try place.space("staple") == keys.identity)
      #expect(try place.space("battery") == other)
      #expect(failure { _ = try place.space("correct horse") }?.code == .wrongPassword)
    }
  }

  @Test func `both confs damaged in the same way are refused, with a reason`() throws {
    let place = try PasswordPlace("correct horse")
    let good = try place.read("albumfs.conf")
    for byte in good.indices {
      for path in ["albumfs.conf", "albumfs.conf.bak"] {
        try place.edit(path) { $0[byte] ^= 1 << (byte % 8) }
      }
      let error = failure { _ = try place.open() }
      let allowed: [StoreError.Code] = [
        .notAStore, .newerFormat, .costRefused, .configurationAltered,
      ]
      #expect(error.map { allowed.contains($0.code) } == true, "byte \(byte)")
      for path in ["albumfs.conf", "albumfs.conf.bak"] { try place.write(good, to: path) }
    }
  }

  @Test func `a store of a newer format, an absurd cost and no store give different errors`() throws
  {
    let place = try PasswordPlace("correct horse")
    try replace("format 1", "format 2", place)
    #expect(failure { _ = try place.open() }?.code == .newerFormat)
    try replace("format 2", "format 1", place)
    try replace("memory 8192", "memory 99999999999", place)
    #expect(failure { _ = try place.open() }?.code == .costRefused)
    let empty = TemporaryDirectory()
    let error = failure { _ = try Store.open(try PosixDirectory(path: empty.path)) }
    #expect(error?.code == .notAStore)
    for path in ["albumfs.conf", "albumfs.conf.bak"] { try place.storage().remove(path) }
    let orphaned = failure { _ = try place.open() }
    #expect(orphaned?.code == .notAStore)
    #expect(orphaned?.message.contains("backup") == true)
  }

  @Test func `a conf edited with care, checksum and all, is found out by the slots`() throws {
    let place = try PasswordPlace("correct horse")
    var edited = try place.open().configuration
    edited.segmentSize *= 2
    for path in ["albumfs.conf", "albumfs.conf.bak"] { try place.write(edited.encode(), to: path) }
    let error = failure { _ = try place.space("correct horse") }
    #expect(error?.code == .configurationAltered)
    #expect(failure { _ = try place.space("wrong") }?.code == .wrongPassword)
  }

  @Test func `confs that contradict each other are refused, or the slots show the edit`() throws {
    let place = try PasswordPlace("correct horse")
    let good = try place.open().configuration
    var edited = good
    edited.segmentSize *= 2
    try place.write(edited.encode(), to: "albumfs.conf")
    #expect(failure { _ = try place.open() }?.code == .configurationAltered)
    edited = good
    edited.derivations[0].salt[0] ^= 1
    try place.write(edited.encode(), to: "albumfs.conf")
    let store = try place.open()
    #expect(store.warnings == [.confsDiffer(right: nil)])
    _ = try store.unlock(password: secret("correct horse"))
    #expect(store.warnings.first == .confsDiffer(right: "albumfs.conf.bak"))
    let error = failure {
      try store.changePassword(old: secret("correct horse"), new: secret("new"))
    }
    #expect(error?.code == .configurationAltered)
    #expect(error?.message.contains("albumfs.conf.bak has the line") == true)
  }

  /// `space password` was cut off between the two confs.
  @Test(arguments: ["albumfs.conf", "albumfs.conf.bak"])
  func `the next change makes confs equal of which one has a line more`(_ longer: String) throws {
    let place = try PasswordPlace("correct horse")
    var configuration = try place.open().configuration
    configuration.derivations.append(
      KeyDerivation(number: 2, cost: .forTests, salt: [UInt8](repeating: 9, count: 16)))
    try place.write(configuration.encode(), to: longer)
    let store = try place.open()
    #expect(store.warnings == [.confsDiffer(right: longer)])
    try store.changePassword(old: secret("correct horse"), new: secret("new"))
    #expect(try place.read("albumfs.conf") == configuration.encode())
    #expect(try place.read("albumfs.conf.bak") == configuration.encode())
    let next = try place.open()
    #expect(next.warnings.isEmpty)
    _ = try next.unlock(password: secret("new"))
  }

  @Test func `the recovery key makes lost keys again`() throws {
    let place = try PasswordPlace("one", "two") { store, keys throws(StoreError) in
      try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
    }
    let store = try place.open()
    let recoveryKey = try store.recoveryKey(password: secret("two"))
    let identity = try place.space("two")
    let sound = try place.open()
    #expect(try sound.unlock(recoveryKey: recoveryKey).identity == identity)
    #expect(sound.warnings.isEmpty)
    try place.storage().remove("keys")
    let lost = try place.open()
    #expect(try lost.unlock(recoveryKey: recoveryKey).identity == identity)
    #expect(lost.warnings == [.lostKeys])
    let change = try lost.passwordChange(recoveryKey: recoveryKey)
    try lost.finish(change, new: secret("new"))
    #expect(try place.space("new") == identity)
    let bytes = try place.read("keys")
    #expect(bytes.count % KeySlot.byteCount == 0)
    #expect(bytes.count >= KeySlot.minimumCount * KeySlot.byteCount)
    #expect(failure { _ = try place.space("two") }?.code == .wrongPassword)
    // The recovery key of another store makes none.
    try place.storage().remove("keys")
    let stranger = RecoveryKey.encode(SpaceKeys())
    let error = failure { _ = try place.open().passwordChange(recoveryKey: stranger) }
    #expect(error?.code == .wrongPassword)
    #expect(try !place.storage().list("").contains("keys"))
  }

  @Test func `a space without a slot is named`() throws {
    let place = try PasswordPlace("one", "two")
    let recoveryKey = try place.open().recoveryKey(password: secret("two"))
    try place.write([UInt8](repeating: 7, count: 8 * KeySlot.byteCount), to: "keys")
    let store = try place.open()
    _ = try store.unlock(recoveryKey: recoveryKey)
    #expect(store.warnings == [.noSlot])
  }

  @Test func `what is written to a store without albumfs.conf brings it back`() throws {
    let place = try PasswordPlace("correct horse")
    try place.storage().remove("albumfs.conf")
    try place.open().addSpace(password: secret("battery"), birth: PasswordPlace.birth)
    #expect(try place.read("albumfs.conf") == place.read("albumfs.conf.bak"))
    #expect(try place.open().warnings.isEmpty)
  }

  @Test func `no text of an error or warning holds a password`() throws {
    let place = try PasswordPlace("hunter2secret")
    try place.edit("keys") { $0.removeLast(100) }
    var texts: [String] = []
    let store = try place.open()
    let attempts: [() throws -> Void] = [
      { _ = try store.unlock(password: secret("hunter3secret")) },
      {
        try store.addSpace(password: secret("hunter2secret"), birth: PasswordPlace.birth)
      },
      { try store.changePassword(old: secret("hunter2secret"), new: secret("hunter4secret")) },
      { _ = try store.unlock(recoveryKey: secret("hunter5secret")) },
    ]
    for attempt in attempts {
      let error = try #require(failure(attempt))
      texts.append("\(error) \(String(reflecting: error))")
    }
    texts += store.warnings.map { "\($0)" }
    for text in texts { #expect(!text.contains("secret"), "\(text)") }
  }

  // MARK: Helpers

  private var options: StoreOptions {
    var options = StoreOptions()
    options.cost = .forTests
    options.segmentSize = SegmentLayout.minimumByteCount
    options.chaffByteCount = 0
    return options
  }

  private func create(in storage: PosixDirectory, password: String = "a") throws -> Store {
    try Store.create(
      in: storage, options: options, password: secret(password), birth: PasswordPlace.birth)
  }

  private func replace(_ from: String, _ to: String, _ place: PasswordPlace) throws {
    for path in ["albumfs.conf", "albumfs.conf.bak"] {
      try place.edit(path) {
        $0 = Array(String(decoding: $0, as: UTF8.self).replacing(from, with: to).utf8)
      }
    }
  }
}

extension StoreWarning {
  /// The path of the unusable conf, if the warning is about one.
  fileprivate var unusableConf: String? {
    if case .unusableConf(let path, _, _) = self { path } else { nil }
  }
}
