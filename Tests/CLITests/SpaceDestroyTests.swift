import AlbumTestSupport
import Foundation
import Testing

/// `space destroy` destroys the space that a password unlocks, for good, after a question, and no other
/// space.
@Suite(.serialized) struct SpaceDestroyTests {
  private func destroy(_ store: TestStore, _ options: [String], input: String) throws
    -> Command.Outcome
  {
    try TestStore.run(["space", "destroy", store.path] + options, input: input)
  }

  @Test func itDestroysTheSpaceOfThePasswordAndNoOther() throws {
    let store = try TestStore()
    #expect(try store.addSpace("another").code == 0)
    let first = try store.recoveryKey()
    let files = try store.files()
    let outcome = try destroy(store, ["--yes", "--password-stdin"], input: "another\n")
    #expect(outcome.code == 0 && outcome.output == "")
    #expect(outcome.errors.contains("stay and look like chaff"))
    #expect(outcome.errors.contains("recovery key"))
    #expect(try store.recoveryKey("another").code == 12)
    #expect(try store.recoveryKey() == first)
    #expect(try store.files() == files)
  }

  @Test func removeSegmentsRemovesThemAndTheCommandSaysWhatTwoCopiesShow() throws {
    let store = try TestStore()
    let files = try store.files()
    #expect(try store.addSpace("another").code == 0)
    let more = try store.files()
    let outcome = try destroy(
      store, ["--yes", "--remove-segments", "--password-stdin"], input: "another\n")
    #expect(outcome.code == 0)
    #expect(outcome.errors.contains("from before"))
    let left = Set(try store.files())
    #expect(left.isSubset(of: more) && left.isSuperset(of: files) && left.count < more.count)
    #expect(try store.recoveryKey().code == 0)
  }

  @Test func theRecoveryKeyDoesItToo() throws {
    let store = try TestStore()
    let key = try store.recoveryKey().output
    let options = ["--yes", "--recovery-key", "--password-stdin"]
    #expect(try destroy(store, options, input: key).code == 0)
    #expect(try store.recoveryKey().code == 12)
    // The key still identifies its segments, so they can be removed later.
    #expect(try destroy(store, options + ["--remove-segments"], input: key).code == 0)
    #expect(try destroy(store, options, input: key).code == 12)
  }

  @Test func withoutTerminalItWantsYes() throws {
    let store = try TestStore()
    let keys = try store.content("keys")
    let outcome = try destroy(store, ["--password-stdin"], input: TestStore.password)
    #expect(outcome.code == 1 && outcome.errors.contains("--yes"))
    #expect(try destroy(store, ["--yes", "--password-stdin"], input: "wrong").code == 12)
    #expect(try store.content("keys") == keys)
  }

  @Test(arguments: [("yes", Int32(0)), ("y", 15), ("", 15)])
  func onATerminalItAsks(answer: String, code: Int32) throws {
    let store = try TestStore()
    let keys = try store.content("keys")
    let session = try TerminalSession(
      Command.builtPath("albumfs"), ["space", "destroy", store.path])
    #expect(session.answer("Password: ", TestStore.password))
    #expect(session.answer("Type yes to destroy it: ", answer, shown: true))
    #expect(session.wait() == code)
    #expect(try (store.content("keys") == keys) == (code != 0))
    #expect(try store.recoveryKey().code == (code == 0 ? 12 : 0))
  }

  @Test func aForgottenPasswordIsReplacedByTheRecoveryKey() throws {
    let store = try TestStore()
    let key = try store.recoveryKey().output
    let new = try store.scratch.write("new", "a new one")
    let options = ["--recovery-key", "--password-stdin", "--new-password-file", new]
    let changed = try TestStore.run(["space", "password", store.path] + options, input: key)
    #expect(changed.code == 0)
    #expect(try store.recoveryKey().code == 12)
    #expect(try store.recoveryKey("a new one").output == key)
  }
}
