import AlbumTestSupport
import Foundation
import Testing

/// `albumfs check` on the command line: its exit codes, its JSON, what it prints where. It changes nothing
/// unless asked.
@Suite(.serialized) struct CheckTests {
  private func check(
    _ store: TestStore, _ options: [String] = [], password: String = TestStore.password
  ) throws -> Command.Outcome {
    try TestStore.run(["check", store.path, "--password-stdin"] + options, input: password + "\n")
  }

  private func json(_ outcome: Command.Outcome) throws -> [String: Any] {
    let value = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    return try #require(value as? [String: Any])
  }

  /// Damages every segment except those for which `kept` returns true.
  private func removeSegments(_ store: TestStore) throws {
    for name in try store.files() where name.count == "segments/3f/".count + 32 {
      try FileManager.default.removeItem(atPath: store.path + "/" + name)
    }
  }

  private func flipSegments(_ store: TestStore) throws {
    for name in try store.files() where name.count == "segments/3f/".count + 32 {
      var bytes = try store.content(name)
      for place in stride(from: 40, to: bytes.count, by: 256) { bytes[place] ^= 1 }
      try store.write(name, bytes)
    }
  }

  @Test func aHealthySpaceExitsWithZeroAndSaysSo() throws {
    let store = try TestStore()
    let before = try store.files().map { try? store.content($0) }
    let outcome = try check(store)
    #expect(outcome.code == 0)
    #expect(outcome.output == "")
    #expect(outcome.errors.contains("nothing is damaged"))
    #expect(!outcome.errors.contains("\u{1B}"), "no progress bar without a terminal")
    #expect(try check(store, ["-q"]).errors == "")
    #expect(try store.files().map { try? store.content($0) } == before)
  }

  @Test func jsonHasAStableForm() throws {
    let store = try TestStore()
    let outcome = try check(store, ["--json"])
    #expect(outcome.code == 0)
    let report = try json(outcome)
    #expect(report["version"] as? Int == 1)
    #expect(report["damaged"] as? Bool == false)
    #expect(report["complete"] as? Bool == true)
    #expect((report["findings"] as? [Any])?.isEmpty == true)
    #expect((report["repairs"] as? [Any])?.isEmpty == true)
    let totals = try #require(report["totals"] as? [String: Any])
    #expect(Set(totals.keys) == ["files", "directories", "records", "bytes", "segments"])
  }

  @Test func aWrongPasswordIsReported() throws {
    let store = try TestStore()
    #expect(try check(store, password: "wrong").code == 12)
  }

  @Test func theRecoveryKeyUnlocksItToo() throws {
    let store = try TestStore()
    let key = try store.recoveryKey().output.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(try check(store, ["--recovery-key"], password: key).code == 0)
    let other = try TestStore()
    let outcome = try check(other, ["--recovery-key"], password: key)
    #expect(outcome.code == 6)
    #expect(outcome.errors.contains("of another store"))
  }

  @Test func damageExitsWith26AndIsRepairedWhenAsked() throws {
    let store = try TestStore()
    try flipSegments(store)
    let outcome = try check(store, ["--json"])
    #expect(outcome.code == 26)
    let report = try json(outcome)
    #expect(report["damaged"] as? Bool == true)
    let findings = try #require(report["findings"] as? [[String: Any]])
    #expect(!findings.isEmpty)
    for finding in findings {
      #expect(
        Set(finding.keys).isSuperset(of: ["severity", "kind", "ranges", "segments", "message"]))
      #expect(["damage", "note"].contains(finding["severity"] as? String))
    }
    let text = try check(store)
    #expect(text.code == 26)
    #expect(text.output.contains("damage: "))
    #expect(text.errors.contains("--repair"))
    let repaired = try check(store, ["--repair"])
    #expect(repaired.code == 26)
    #expect(repaired.output.contains("repaired: "))
    #expect(try check(store).code == 0)
  }

  @Test func aMissingConfIsDamageForWhichNoRepairIsOffered() throws {
    let store = try TestStore()
    try FileManager.default.removeItem(atPath: store.path + "/albumfs.conf.bak")
    let outcome = try check(store, ["--json"])
    #expect(outcome.code == 26)
    #expect(outcome.errors.contains("do what is said there"))
    let findings = try #require(try json(outcome)["findings"] as? [[String: Any]])
    #expect(findings.map { $0["kind"] as? String } == ["store"])
    #expect(findings.map { $0["severity"] as? String } == ["damage"])
    #expect((findings.first?["message"] as? String)?.contains("copy it over") == true)
  }

  @Test func aStoreWithoutItsSegmentsIsDistinguishedFromADamagedOne() throws {
    let store = try TestStore()
    try removeSegments(store)
    let outcome = try check(store)
    #expect(outcome.code == 6)
    #expect(outcome.errors.contains("incomplete"))
  }
}
