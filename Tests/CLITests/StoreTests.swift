import AlbumTestSupport
import Foundation
import Testing

/// A store and its spaces on the command line, and messages about a damaged store. Nothing is lost and no
/// secret is printed.
@Suite(.serialized) struct StoreTests {
  @Test func aNewStoreHasItsFilesAndOneSegmentSize() throws {
    let store = try TestStore()
    let files = try store.files()
    #expect(files.contains("albumfs.conf"))
    #expect(try store.content("albumfs.conf") == store.content("albumfs.conf.bak"))
    #expect(try store.content("keys").count % 512 == 0)
    let sizes = try files.filter { $0.count == "segments/3f/".count + 32 }
      .map { try store.content($0).count }
    #expect(!sizes.isEmpty)
    #expect(Set(sizes).count == 1)
  }

  @Test func infoShowsTheConfAndNothingOfSpaces() throws {
    let store = try TestStore()
    let before = try TestStore.run(["info", store.path, "--json"])
    #expect(before.code == 0)
    let json = try JSONSerialization.jsonObject(with: Data(before.output.utf8)) as? [String: Any]
    #expect(json?["version"] as? Int == 1)
    #expect(json?["format"] as? Int == 1)
    #expect(json?["segmentSize"] as? Int == 4 << 20)
    #expect(try store.addSpace("another").code == 0)
    #expect(try TestStore.run(["info", store.path, "--json"]) == before)
  }

  @Test func aSecondSpaceHasItsOwnPasswordAndKey() throws {
    let store = try TestStore()
    let first = try store.recoveryKey()
    let added = try store.addSpace("another")
    #expect(added.code == 0)
    let second = try store.recoveryKey("another")
    #expect(second.code == 0)
    #expect(second.output != first.output)
    #expect(try store.recoveryKey() == first)
  }

  @Test func aSpaceThatThisMachineCannotDecryptIsRefusedAndSaysWhy() throws {
    let store = try TestStore()
    let added = try store.addSpace("another", ["--cipher", "aes-256-gcm"])
    // A machine without AES refuses to make such a space.
    if added.code != 0 { return #expect(added.errors.contains("--cipher auto")) }
    let key = try store.scratch.write("key", store.recoveryKey("another").output)
    let withoutAES = ["ALBUMFS_TESTS_HIDE_AES": "yes"]
    let tries = [
      (["space", "recovery-key", store.path, "--password-stdin"], "another\n"),
      (["check", store.path, "--password-stdin"], "another\n"),
      (["check", store.path, "--recovery-key", "--password-file", key], ""),
    ]
    for (arguments, input) in tries {
      let refused = try TestStore.run(arguments, input: input, environment: withoutAES)
      #expect(refused.code == 44)
      #expect(refused.errors.contains("aes-256-gcm"))
      #expect(try TestStore.run(arguments, input: input).code == 0)
    }
    let made = try TestStore.run(
      ["init", store.scratch.path("new"), "--cipher", "aes-256-gcm", "--password-stdin"],
      input: TestStore.password + "\n", environment: withoutAES)
    #expect(made.code == 1)
    #expect(made.errors.contains("--cipher auto"))
    #expect(
      try !FileManager.default.contentsOfDirectory(atPath: store.scratch.path).contains("new"))
    #expect(try store.addSpace("one of auto", [], environment: withoutAES).code == 0)
    #expect(
      try TestStore.run(
        ["check", store.path, "--password-stdin"], input: "one of auto\n", environment: withoutAES
      ).code == 0)
  }

  @Test func aPasswordThatUnlocksASpaceAlreadyIsRefused() throws {
    let store = try TestStore()
    let keys = try store.content("keys")
    #expect(try store.addSpace(TestStore.password).code == 45)
    #expect(try store.content("keys") == keys)
  }

  @Test func aChangedPasswordUnlocksTheSameSpace() throws {
    let store = try TestStore()
    let key = try store.recoveryKey().output
    let new = try store.scratch.write("new", "a new one\n")
    let changed = try TestStore.run(
      ["space", "password", store.path, "--password-stdin", "--new-password-file", new],
      input: TestStore.password)
    #expect(changed.code == 0)
    #expect(try store.recoveryKey().code == 12)
    #expect(try store.recoveryKey("a new one").output == key)
  }

  @Test func aPasswordOfAnotherSpaceCannotBeTaken() throws {
    let store = try TestStore()
    #expect(try store.addSpace("another").code == 0)
    let new = try store.scratch.write("new", "another")
    let changed = try TestStore.run(
      ["space", "password", store.path, "--password-stdin", "--new-password-file", new],
      input: TestStore.password)
    #expect(changed.code == 45)
    #expect(try store.recoveryKey().code == 0)
  }

  @Test func aWrongAndAnEmptyPasswordGiveDifferentErrors() throws {
    let store = try TestStore()
    let wrong = try store.recoveryKey("wrong")
    #expect(wrong.code == 12)
    #expect(wrong.output == "")
    #expect(try store.recoveryKey("").code == 22)
  }

  @Test func noPasswordIsPrintedOrStored() throws {
    let store = try TestStore()
    let outcomes = [
      try store.addSpace("another secret"), try store.recoveryKey("another secret"),
      try store.recoveryKey("yet another secret"),
    ]
    for outcome in outcomes { #expect(!(outcome.output + outcome.errors).contains("secret")) }
    for name in try store.files() {
      var isDirectory: ObjCBool = false
      _ = unsafe FileManager.default.fileExists(
        atPath: store.path + "/" + name, isDirectory: &isDirectory)
      if isDirectory.boolValue { continue }
      #expect(try store.content(name).range(of: Data("secret".utf8)) == nil)
    }
  }

  @Test func initTakesAnEmptyDirectoryAndNoOther() throws {
    let scratch = try ScratchDirectory()
    let options = ["--kdf", "interactive", "--chaff", "0", "--password-stdin"]
    #expect(try TestStore.run(["init", scratch.path] + options, input: "a").code == 0)
    let again = try TestStore.run(["init", scratch.path] + options, input: "b")
    #expect(again.code == 7)
    let key = try TestStore.run(
      ["space", "recovery-key", scratch.path, "--password-stdin"], input: "a")
    #expect(key.code == 0)

    let other = try ScratchDirectory()
    try other.write("note.txt", "mine")
    #expect(try TestStore.run(["init", other.path] + options, input: "a").code == 7)
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["note.txt"])
  }

  @Test func chaffIsMadeAsAskedFor() throws {
    let scratch = try ScratchDirectory()
    let outcome = try TestStore.run(
      [
        "init", scratch.path("store"), "--kdf", "interactive", "--chaff", "16M",
        "--segment-size", "1M", "--password-stdin",
      ], input: "a")
    #expect(outcome.code == 0)
    let files = try FileManager.default.subpathsOfDirectory(atPath: scratch.path("store"))
    let segments = files.filter { $0.count == "segments/3f/".count + 32 }
    #expect(segments.count >= 16)
  }
}

/// Commands report a directory that is no store, and a damaged store.
@Suite(.serialized) struct DamagedStoreTests {
  private static let commands: [[String]] = [
    ["info"], ["space", "recovery-key"], ["space", "add"],
  ]

  private func run(_ command: [String], _ path: String) throws -> Command.Outcome {
    let password = command == ["info"] ? [] : ["--password-stdin"]
    return try TestStore.run(command + [path] + password, input: TestStore.password)
  }

  @Test(arguments: commands) func aMissingStore(command: [String]) throws {
    let scratch = try ScratchDirectory()
    let outcome = try run(command, scratch.path("nothing"))
    #expect(outcome.code == 6)
    #expect(outcome.errors.contains("nothing"))
  }

  @Test(arguments: commands) func aDirectoryThatIsNoStore(command: [String]) throws {
    let scratch = try ScratchDirectory()
    try scratch.write("note.txt", "mine")
    #expect(try run(command, scratch.path).code == 6)
  }

  @Test(arguments: commands) func aFileInItsPlace(command: [String]) throws {
    let scratch = try ScratchDirectory()
    #expect(try run(command, try scratch.write("store", "x")).code == 6)
  }

  @Test func keysCutShort() throws {
    let store = try TestStore()
    let keys = try store.content("keys")
    try store.write("keys", keys.prefix(100))
    let outcome = try store.recoveryKey()
    #expect(outcome.code == 8)
    #expect(outcome.errors.contains("keys"))
    #expect(try store.addSpace("another").code == 8)
    #expect(try store.content("keys").count == 100)
  }

  @Test func keysWithoutTheirEndAreReportedAndNotChanged() throws {
    let store = try TestStore()
    let keys = try store.content("keys")
    try store.write("keys", keys.prefix(keys.count - 100))
    let outcome = try store.recoveryKey()
    // The cut slot may have been the password's own.
    #expect(outcome.code == 0 || outcome.code == 8)
    #expect(outcome.errors.contains("keys"))
    #expect(try store.addSpace("another").code == 8)
    #expect(try store.content("keys").count == keys.count - 100)
  }

  @Test func keysMissing() throws {
    let store = try TestStore()
    try FileManager.default.removeItem(atPath: store.path + "/keys")
    #expect(try store.recoveryKey().code == 8)
  }

  @Test func lostKeysAreNamedAndTheRecoveryKeyMakesThemAnew() throws {
    let store = try TestStore()
    let key = try store.recoveryKey().output
    let new = try store.scratch.write("new", "battery staple")
    try FileManager.default.removeItem(atPath: store.path + "/keys")
    let check = ["check", store.path, "--recovery-key", "--password-stdin"]
    let lost = try TestStore.run(check, input: key)
    #expect(lost.code == 26 && lost.output.contains("keys is missing"))
    let change = ["space", "password", store.path, "--recovery-key", "--password-stdin"]
    let changed = try TestStore.run(change + ["--new-password-file", new], input: key)
    #expect(changed.code == 0, "\(changed)")
    #expect(try store.recoveryKey("battery staple").output == key)
    #expect(try TestStore.run(check, input: key).code == 0)
  }

  @Test func oneLostConfDoesNotCostTheStore() throws {
    for name in ["albumfs.conf", "albumfs.conf.bak"] {
      let store = try TestStore()
      let key = try store.recoveryKey()
      try store.write(name, Data())
      let after = try store.recoveryKey()
      #expect(after.code == 0)
      #expect(after.output == key.output)
    }
  }

  @Test func bothConfsLost() throws {
    let store = try TestStore()
    for name in ["albumfs.conf", "albumfs.conf.bak"] { try store.write(name, Data("x".utf8)) }
    let code = try store.recoveryKey().code
    #expect(code == 6 || code == 8)
  }

  @Test func aNewerFormat() throws {
    let store = try TestStore()
    try edit(store, "format 1", "format 2")
    let outcome = try store.recoveryKey()
    #expect(outcome.code == 8)
    #expect(outcome.errors.contains("newer"))
  }

  /// Replaces a text in both copies of the conf; fails if a copy lacks it.
  private func edit(_ store: TestStore, _ old: String, _ new: String) throws {
    for name in ["albumfs.conf", "albumfs.conf.bak"] {
      let text = String(decoding: try store.content(name), as: UTF8.self)
      #expect(text.contains(old))
      try store.write(name, Data(text.replacing(old, with: new).utf8))
    }
  }

  /// Starts an `init` with much chaff in the background, as the shell's job `init`, and returns when it has
  /// begun to write.
  private static let begin = """
    set -e; cd "$D"; printf 'correct horse\\n' > p
    make() { "$A" init --kdf interactive --chaff "$2" --password-file p "$1"; }
    begin() {
      # Without exec, $! would be a shell that waits for `init`.
      (exec "$A" init --kdf interactive --chaff 4G --password-file p "$1") 2> said & init=$!
      local store=$1
      await '[ -n "$(find "$store/segments" -type f 2> /dev/null)" ] || ! kill -0 $init'
      kill -0 $init
    }

    """

  private func script(_ text: String) throws -> Command.Outcome {
    let scratch = try ScratchDirectory()
    var command = Command("/usr/bin/env", ["bash", "-c", Waiting.shell + Self.begin + text])
    command.environment = ["A": Command.builtPath("albumfs"), "D": scratch.path]
      .merging(WeakPasswords.environment) { $1 }
    return try command.run()
  }

  @Test func anInterruptedInitLeavesNothing() throws {
    let outcome = try script(
      """
      begin store; kill -TERM $init; code=0; wait $init || code=$?; test $code = 15; cat said; test ! -e store
      # A directory that was there stays, and is as empty as before.
      mkdir disk; begin disk; kill -TERM $init; wait $init || true; test -z "$(ls -A disk)"
      make disk 0; "$A" info disk > /dev/null; test ! -e disk/albumfs.unfinished
      """)
    #expect(outcome.code == 0, "\(outcome)")
    #expect(outcome.output.contains("nothing was made"), "\(outcome)")
  }

  @Test func whatAKilledInitLeftIsNamedAndMadeAnew() throws {
    let outcome = try script(
      """
      begin store
      # Another init leaves one that runs alone.
      code=0; make store 0 2> other || code=$?; test $code = 40; kill -0 $init; cat other
      kill -KILL $init; wait $init || true
      code=0; "$A" check --password-file p store 2> named || code=$?; test $code = 6; cat named
      make store 0; "$A" check -q --password-file p store; test ! -e store/albumfs.unfinished
      # Without that mark it may be a store that lost its conf, which nobody removes.
      rm store/albumfs.conf*; code=0; make store 0 || code=$?; test $code = 7; test -e store/keys
      """)
    #expect(outcome.code == 0, "\(outcome)")
    #expect(outcome.output.contains("is making a store"), "\(outcome)")
    #expect(outcome.output.contains("not finished"), "\(outcome)")
    #expect(outcome.errors.contains("interrupted init left"), "\(outcome)")
  }

  @Test func initOffersTheRecoveryKey() throws {
    let scratch = try ScratchDirectory()
    let path = scratch.path("store")
    let made = try TestStore.run(
      ["init", path, "--kdf", "interactive", "--chaff", "0", "--password-stdin"],
      input: "correct horse\n", environment: WeakPasswords.environment)
    #expect(made.errors.contains("albumfs space recovery-key \(path)"), "\(made)")
  }
}
