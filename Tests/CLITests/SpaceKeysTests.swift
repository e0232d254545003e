import AlbumTestSupport
import Foundation
import Testing

/// `space add-key` and `space remove-key`: several passwords of one space, each by itself.
@Suite(.serialized) struct SpaceKeysTests {
  private func add(_ new: String, to password: String, _ store: TestStore) throws
    -> Command.Outcome
  {
    let file = try store.scratch.write("new", new)
    return try TestStore.run(
      ["space", "add-key", store.path, "--password-stdin", "--new-password-file", file],
      input: password)
  }

  private func remove(_ password: String, _ store: TestStore, _ options: [String] = []) throws
    -> Command.Outcome
  {
    try TestStore.run(
      ["space", "remove-key", store.path, "--password-stdin"] + options, input: password)
  }

  @Test func eachPasswordUnlocksTheSameSpaceAndGoesAlone() throws {
    let store = try TestStore()
    #expect(try store.addSpace("another").code == 0)
    let key = try store.recoveryKey()
    let added = try add("second", to: TestStore.password, store)
    #expect(added.code == 0 && added.errors.contains("2 passwords or security keys"), "\(added)")
    #expect(try store.recoveryKey("second") == key)
    #expect(try store.recoveryKey() == key)
    #expect(try add("another", to: "second", store).code == 45)
    #expect(try add("third", to: "wrong", store).code == 12)
    let removed = try remove(TestStore.password, store)
    #expect(removed.code == 0 && removed.errors.contains("One password"), "\(removed)")
    #expect(try store.recoveryKey().code == 12)
    #expect(try store.recoveryKey("second") == key)
    let last = try remove("second", store)
    #expect(last.code == 44 && last.errors.contains("destroy"), "\(last)")
    #expect(try store.recoveryKey("another").code == 0)
  }

  @Test func allOthersGo() throws {
    let store = try TestStore()
    let key = try store.recoveryKey()
    #expect(try add("second", to: TestStore.password, store).code == 0)
    #expect(try add("third", to: "second", store).code == 0)
    let removed = try remove("third", store, ["--others"])
    #expect(removed.code == 0 && removed.errors.contains("Removed 2."), "\(removed)")
    #expect(try store.recoveryKey("third") == key)
    for password in ["second", TestStore.password] {
      #expect(try store.recoveryKey(password).code == 12)
    }
  }

  @Test func theRecoveryKeyAddsAPasswordAndReplacesAll() throws {
    let store = try TestStore()
    let key = try store.recoveryKey().output
    let file = try store.scratch.write("new", "second")
    let options = ["--recovery-key", "--password-stdin", "--new-password-file", file]
    let added = try TestStore.run(["space", "add-key", store.path] + options, input: key)
    #expect(added.code == 0, "\(added)")
    for password in [TestStore.password, "second"] {
      #expect(try store.recoveryKey(password).output == key)
    }
    try store.scratch.write("new", "third")
    let changed = try TestStore.run(["space", "password", store.path] + options, input: key)
    #expect(changed.code == 0 && changed.errors.contains("1 other password"), "\(changed)")
    #expect(try store.recoveryKey("third").output == key)
    for password in [TestStore.password, "second"] {
      #expect(try store.recoveryKey(password).code == 12)
    }
  }
}
