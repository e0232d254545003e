import AlbumTestSupport
import Foundation
import Testing

/// The cost of sealing passwords as users have it: without the environment variable of tests, at the real
/// cost.
@Suite(.serialized) struct PasswordCostTests {
  private static let variable = "ALBUMFS_TESTS_ALLOW_WEAK_PASSWORDS"
  private static let strong = "vapour kettle ninety harbour moss"

  private func run(_ arguments: [String], input: String = "") throws -> Command.Outcome {
    var command = Command.built("albumfs", arguments)
    command.input = Data(input.utf8)
    command.environment = [Self.variable: ""]
    return try command.run()
  }

  @Test func onlyTestsCanSealAtTheirCost() throws {
    let scratch = try ScratchDirectory()
    let store = scratch.path("store")
    for value in ["", "no", "1", "YES"] {
      var command = Command.built(
        "albumfs", ["init", store, "--kdf", "interactive", "--password-stdin"])
      command.input = Data("a".utf8)
      command.environment = [Self.variable: value]
      let refused = try command.run()
      #expect(refused.code == 1 && !FileManager.default.fileExists(atPath: store))
      #expect(!refused.errors.contains("interactive'."))
    }
    #expect(try !run(["init", "--help"]).output.contains("interactive"))
    // A warning says so, so that nobody sets the variable by accident.
    let made = try TestStore.run(
      ["init", store, "--kdf", "interactive", "--chaff", "0", "--password-stdin"], input: "a")
    #expect(made.code == 0 && made.errors.contains(Self.variable))
    // The variable that forbids chaff warns for the same reason.
    for (value, isTold) in [("yes", true), ("no", false)] {
      var command = Command.built(
        "albumfs",
        [
          "init", scratch.path(value), "--kdf", "interactive", "--chaff", "0", "--password-stdin",
        ])
      command.input = Data(Self.strong.utf8)
      command.environment = ["ALBUMFS_TESTS_FORBID_CHAFF": value]
      let made = try command.run()
      #expect(made.code == 0 && made.errors.contains("no chaff is added") == isTold, "\(made)")
    }
  }

  /// The attack: one line appended to both confs, with a checksum that fits.
  @Test func aWeakLineInBothConfsSealsNothingAndIsReported() throws {
    let scratch = try ScratchDirectory()
    let store = scratch.path("store")
    let made = try run(["init", store, "--chaff", "0", "--password-stdin"], input: "one")
    #expect(made.code == 0)
    let good = try String(contentsOfFile: store + "/albumfs.conf", encoding: .utf8)
    #expect(good.contains("argon2id 1 operations 3 memory 268435456 "))
    let salt = String(repeating: "ab", count: 16)
    try edit(store, appending: "argon2id 2 operations 1 memory 8192 salt \(salt)")

    let new = try scratch.write("new", Self.strong)
    let changed = try run(
      ["space", "password", store, "--password-stdin", "--new-password-file", new], input: "one")
    let added = try run(["space", "add", store, "--password-stdin"], input: "two")
    #expect(changed.code == 0 && added.code == 0)
    for outcome in [changed, added] {
      #expect(outcome.errors.contains("line 2: 1 pass over 8 KiB"))
      #expect(outcome.errors.contains("from a backup"))
    }
    let opened = try run(
      ["space", "recovery-key", store, "--password-stdin"], input: Self.strong)
    #expect(opened.code == 0 && opened.errors.contains("line 2: 1 pass over 8 KiB"))
    let checked = try run(["check", store, "--password-stdin"], input: Self.strong)
    #expect(checked.code == 26 && checked.output.contains("damage: albumfs.conf was edited"))
    // Both were sealed by the first line, so they unlock without the other line, and without a warning.
    for path in ["albumfs.conf", "albumfs.conf.bak"] {
      try good.write(toFile: store + "/" + path, atomically: false, encoding: .utf8)
    }
    for password in [Self.strong, "two"] {
      let opened = try run(["space", "recovery-key", store, "--password-stdin"], input: password)
      #expect(opened.code == 0 && opened.errors == "")
    }
  }

  @Test func aStoreOfWeakLinesGetsAStrongOneForTheNextPassword() throws {
    let store = try TestStore()
    let before = try run(
      ["space", "recovery-key", store.path, "--password-stdin"], input: TestStore.password)
    #expect(before.code == 0 && before.errors.contains("easy to guess"))
    let added = try run(["space", "add", store.path, "--password-stdin"], input: Self.strong)
    #expect(added.code == 0)
    #expect(try store.content("albumfs.conf") == store.content("albumfs.conf.bak"))
    let conf = String(decoding: try store.content("albumfs.conf"), as: UTF8.self)
    #expect(conf.contains("argon2id 2 operations 3 memory 268435456 "))
    let info = try run(["info", store.path])
    #expect(info.code == 0 && info.output.contains("3 passes over 256M"))
    let key = try run(
      ["space", "recovery-key", store.path, "--password-stdin"], input: Self.strong)
    #expect(key.code == 0 && !key.errors.contains("space's password is easy to guess"))
    // The same holds for the first space after a change of its password. No line is added for that.
    let new = try store.scratch.write("new", "another " + Self.strong)
    let changed = try run(
      ["space", "password", store.path, "--password-stdin", "--new-password-file", new],
      input: TestStore.password)
    #expect(changed.code == 0)
    #expect(try String(decoding: store.content("albumfs.conf"), as: UTF8.self) == conf)
    let after = try run(
      ["space", "recovery-key", store.path, "--password-stdin"], input: "another " + Self.strong)
    #expect(after.output == before.output && after.errors == "")
  }

  /// Appends a line to both confs, as an attacker who knows the format can.
  private func edit(_ store: String, appending line: String) throws {
    for path in ["albumfs.conf", "albumfs.conf.bak"] {
      let text = try String(contentsOfFile: store + "/" + path, encoding: .utf8)
      let body = text.components(separatedBy: "crc32")[0] + line + "\n"
      var sum = UInt32.max
      for byte in body.utf8 {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : sum >> 1 ^ 0xEDB8_8320 }
      }
      let digits = String(~sum, radix: 16)
      let padded = String(repeating: "0", count: 8 - digits.count) + digits
      try (body + "crc32 \(padded)\n").write(
        toFile: store + "/" + path, atomically: false, encoding: .utf8)
    }
  }
}
