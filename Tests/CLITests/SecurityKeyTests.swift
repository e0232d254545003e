import AlbumTestSupport
import Foundation
import Testing

/// A FIDO2 security key unlocks a space. The key is simulated; libfido2 and its conversation are real.
@Suite(.serialized) struct SecurityKeyTests {
  private let pinPrompt = "PIN of the security key: "

  /// Makes a key unlock the space of a store too.
  private func add(_ key: SimulatedKey, to store: TestStore, _ more: [String] = []) throws
    -> KeyedOutcome
  {
    let file = try store.scratch.write("password", TestStore.password)
    return try KeyedOutcome(
      ["space", "add-key", store.path, "--password-file", file, "--new-fido2"] + more, [key])
  }

  /// Returns the recovery key of the space that a security key unlocks.
  private func unlock(_ store: TestStore, _ keys: [SimulatedKey], pin: String = SimulatedKey.pin)
    throws -> KeyedOutcome
  {
    try KeyedOutcome(
      ["space", "recovery-key", store.path, "--fido2"], keys, [(pinPrompt, pin)])
  }

  @Test func aStoreMadeWithAKeyIsMountedWithIt() throws {
    let (scratch, key) = (try ScratchDirectory(), try SimulatedKey())
    let (store, mount) = (scratch.path("store"), scratch.path("mount"))
    let made = try KeyedOutcome(
      ["init", store, "--kdf", "interactive", "--chaff", "0", "--fido2"], [key])
    #expect(made.code == 0, "\(made)")
    #expect(key.log.filter { $0 == "made albumfs" }.count == 1)
    let mounted = try KeyedOutcome(["mount", store, mount, "--fido2"], [key])
    defer { _ = try? TestStore.run(["umount", mount]) }
    #expect(mounted.code == 0 && mounted.errors.contains("Mounted on"), "\(mounted)")
    #expect(mounted.errors.contains("Touch your security key."))
    // A second space needs more than the same key. A space is destroyed with it.
    let again = try KeyedOutcome(["space", "add", store, "--fido2"], [key])
    #expect(again.code == 45 && again.errors.contains("security key"), "\(again)")
    #expect(try TestStore.run(["umount", mount]).code == 0)
    let destroyed = try KeyedOutcome(["space", "destroy", store, "--fido2", "--yes"], [key])
    #expect(destroyed.code == 0, "\(destroyed)")
    #expect(try KeyedOutcome(["check", store, "--fido2"], [key]).code == 12)
    #expect(key.log.filter { $0 == "made albumfs" }.count == 1)
  }

  @Test func aSpareKeyUnlocksTheSameSpaceAndALostOneIsShutOut() throws {
    let store = try TestStore()
    let (first, spare) = (try SimulatedKey(), try SimulatedKey(["--protocol", "1"]))
    for key in [first, spare] { #expect(try add(key, to: store).code == 0) }
    let recovery = try store.recoveryKey().output
    for key in [first, spare] {
      let outcome = try unlock(store, [key])
      #expect(outcome.code == 0 && outcome.output == recovery, "\(outcome)")
    }
    let both = try unlock(store, [spare, first])
    #expect(both.code == 0 && both.errors.contains("Touch the one to use"), "\(both)")
    let removed = try KeyedOutcome(
      ["space", "remove-key", store.path, "--fido2", "--others"], [spare])
    #expect(removed.code == 0 && removed.errors.contains("Removed 2."), "\(removed)")
    let lost = try unlock(store, [first])
    #expect(lost.code == 12 && lost.errors.contains("security key"), "\(lost)")
    #expect(try unlock(store, [spare]).output == recovery)
  }

  @Test func withAPasswordBothAreNeeded() throws {
    let (store, key) = (try TestStore(), try SimulatedKey())
    let file = try store.scratch.write("besides", "besides")
    let added = try add(key, to: store, ["--new-password-file", file])
    #expect(added.code == 0, "\(added)")
    #expect(try unlock(store, [key]).code == 12)
    #expect(try store.recoveryKey("besides").code == 12)
    let both = try KeyedOutcome(
      ["space", "recovery-key", store.path, "--fido2", "--with-password"], [key],
      [("Password: ", "besides"), (pinPrompt, SimulatedKey.pin)])
    #expect(try both.code == 0 && both.output == store.recoveryKey().output, "\(both)")
  }

  @Test func theStoreDoesNotShowThatAKeyIsUsed() throws {
    let (store, key) = (try TestStore(), try SimulatedKey())
    let files = ["albumfs.conf", "albumfs.conf.bak"]
    let before = try files.map(store.content)
    let (info, all) = (try TestStore.run(["info", store.path]), try store.files())
    #expect(try add(key, to: store).code == 0)
    #expect(try files.map(store.content) == before)
    #expect(try store.files() == all)
    #expect(try TestStore.run(["info", store.path]) == info)
    #expect(try store.content("keys").count % 512 == 0)
  }

  @Test func everySlotAndSegmentStaysRandom() throws {
    let (scratch, key) = (try ScratchDirectory(), try SimulatedKey())
    let store = scratch.path("store")
    let file = try scratch.write("password", TestStore.password)
    for command in [
      [
        "init", store, "--kdf", "interactive", "--segment-size", "256K", "--chaff", "512K",
        "--fido2",
      ],
      ["space", "add-key", store, "--fido2", "--new-password-file", file],
      ["space", "add-key", store, "--password-file", file, "--new-fido2", "--new-with-password"],
      ["space", "remove-key", store, "--password-file", file],
      ["space", "password", store, "--fido2", "--new-password-file", file],
      ["space", "password", store, "--password-file", file, "--new-fido2"],
      ["space", "remove-key", store, "--fido2", "--others"],
      ["space", "destroy", store, "--fido2", "--remove-segments", "--yes"],
    ] {
      let besides = [("New password: ", "besides"), ("Once more: ", "besides")]
      let answers = command.contains("--new-with-password") ? besides : []
      let outcome = try KeyedOutcome(command, [key], answers + [(pinPrompt, SimulatedKey.pin)])
      #expect(outcome.code == 0, "\(command) \(outcome)")
      let found = try UniformStore(store)
      #expect(found.faults == [] && found.fileCount > 1, "\(command)")
    }
  }

  @Test func aWeakPasswordBesidesAKeyIsSaidToBeOne() throws {
    let (store, key) = (try TestStore(), try SimulatedKey())
    let words = "adds little to the security key"
    for (password, isWeak) in [("sesame", true), ("vapour kettle ninety harbour moss", false)] {
      let file = try store.scratch.write("besides", password)
      let added = try add(key, to: store, ["--new-password-file", file])
      #expect(added.code == 0 && added.errors.contains(words) == isWeak, "\(added)")
      #expect(!added.errors.contains(password))
    }
  }

  /// A password replaces a key, and a key a password.
  @Test func aKeyReplacesThePassword() throws {
    let (store, key) = (try TestStore(), try SimulatedKey())
    let recovery = try store.recoveryKey().output
    let file = try store.scratch.write("password", TestStore.password)
    let changed = try KeyedOutcome(
      ["space", "password", store.path, "--password-file", file, "--new-fido2"], [key])
    #expect(changed.code == 0, "\(changed)")
    #expect(try store.recoveryKey().code == 12)
    #expect(try unlock(store, [key]).output == recovery)
    let back = try KeyedOutcome(
      ["space", "password", store.path, "--fido2", "--new-password-file", file], [key])
    #expect(back.code == 0, "\(back)")
    #expect(try store.recoveryKey().output == recovery)
    #expect(try unlock(store, [key]).code == 12)
  }

  struct Trouble: CustomTestStringConvertible, Sendable {
    var options: [String]
    var pin = SimulatedKey.pin
    var words: String
    var testDescription: String { options.joined(separator: " ") + " " + pin }
  }

  @Test(arguments: [
    Trouble(options: ["--no-pin"], words: "fido2-token -S"),
    Trouble(options: [], pin: "4321", words: "The PIN is wrong. 7 tries left."),
    Trouble(options: [], pin: String(repeating: "9", count: 80), words: "4 to 63 bytes"),
    Trouble(options: ["--retries", "0"], words: "blocked"),
    Trouble(options: ["--touch", "never"], words: "touch it when it blinks"),
    Trouble(options: ["--full"], words: "no room"),
    Trouble(options: ["--no-hmac-secret"], words: "hmac-secret"),
    Trouble(options: ["--hostile", "gone"], words: "Plug it in and try again"),
    Trouble(options: ["--hostile", "mute"], words: "Unplug it and plug it in again"),
    Trouble(options: ["--hostile", "short-secret"], words: "FIDO2 does not allow"),
    Trouble(options: ["--hostile", "long-secret"], words: "FIDO2 does not allow"),
    Trouble(options: ["--hostile", "no-verification"], words: "FIDO2 does not allow"),
    Trouble(options: ["--hostile", "garbage"], words: "security key"),
  ])
  func whatGoesWrongNamesTheRemedyAndChangesNothing(trouble: Trouble) throws {
    let (store, key) = (try TestStore(), try SimulatedKey(trouble.options))
    let before = try store.content("keys")
    let file = try store.scratch.write("password", TestStore.password)
    let outcome = try KeyedOutcome(
      ["space", "add-key", store.path, "--password-file", file, "--new-fido2"], [key],
      [(pinPrompt, trouble.pin)])
    #expect(outcome.code == 31 && outcome.errors.contains(trouble.words), "\(outcome)")
    #expect(try store.content("keys") == before)
  }

  @Test func aMissingOrUnknownKeyIsNamed() throws {
    let store = try TestStore()
    let none = try KeyedOutcome(["check", store.path, "--fido2"], [], [])
    #expect(none.code == 31 && none.errors.contains("Plug it in"), "\(none)")
    let key = try SimulatedKey()
    let unknown = try unlock(store, [key])
    #expect(unknown.code == 31 && unknown.errors.contains("space add-key"), "\(unknown)")
    #expect(!key.log.contains("made albumfs"), "only a new space or password makes a credential")
    #expect(try add(key, to: try TestStore()).code == 0)
    let wrong = try unlock(store, [key])
    #expect(wrong.code == 12 && wrong.errors.contains("This security key unlocks no space"))
    let environment = SimulatedKey.environment([key])
    let noTerminal = try TestStore.run(
      ["check", store.path, "--fido2"], environment: environment)
    #expect(noTerminal.code == 9 && noTerminal.errors.contains("terminal"), "\(noTerminal)")
  }

  @Test func threeWrongPinsInARowAskToPlugTheKeyInAnew() throws {
    let (store, key) = (try TestStore(), try SimulatedKey(["--retries", "4"]))
    #expect(try unlock(store, [key], pin: "0001").errors.contains("3 tries left"))
    for (pin, prompt) in [("0002", "(3 tries left): "), ("0003", "(2 tries left): ")] {
      let outcome = try KeyedOutcome(
        ["check", store.path, "--fido2"], [key], [(prompt, pin)])
      #expect(outcome.code == 31, "\(outcome)")
      if pin == "0003" { #expect(outcome.errors.contains("Take the security key out")) }
    }
  }

  @Test func interruptedBeforeTheTouchNothingIsLeft() throws {
    let (store, key) = (try TestStore(), try SimulatedKey(["--touch", "endless"]))
    let before = try store.content("keys")
    let file = try store.scratch.write("password", TestStore.password)
    let session = try TerminalSession(
      Command.builtPath("albumfs"),
      ["space", "add-key", store.path, "--password-file", file, "--new-fido2"],
      environment: SimulatedKey.environment([key]))
    #expect(session.answer(pinPrompt, SimulatedKey.pin))
    #expect(session.waitForPrompt("gets a credential.\n", shown: true))
    #expect(!session.echo.contains(SimulatedKey.pin))
    session.interrupt()
    #expect(session.wait() == 15)
    #expect(key.waits(for: "closed"), "albumfs-fido2 outlives albumfs")
    #expect(try store.content("keys") == before)
    #expect(session.echoes)
  }

  @Test func libfido2LogsNothing() throws {
    let (store, key) = (try TestStore(), try SimulatedKey())
    #expect(try add(key, to: store).code == 0)
    let outcome = try KeyedOutcome(
      ["space", "recovery-key", store.path, "--fido2"], [key], environment: ["FIDO_DEBUG": "1"])
    #expect(outcome.code == 0)
    #expect(outcome.errors.split(separator: "\n").count <= 2, "\(outcome.errors)")
  }

  @Test(arguments: [
    ("#!/bin/sh\nexit 127\n", "sudo apt install libfido2-1"), (nil, "Install it beside albumfs"),
    ("#!/bin/sh\necho nonsense\n", "ended without a reply"),
  ])
  func withoutLibfido2EverythingElseWorks(helper: String?, words: String) throws {
    let store = try TestStore()
    let programs = try ScratchDirectory()
    let albumfs = programs.path("albumfs")
    do {
      try FileManager.default.linkItem(atPath: Command.builtPath("albumfs"), toPath: albumfs)
    } catch {
      try FileManager.default.copyItem(atPath: Command.builtPath("albumfs"), toPath: albumfs)
    }
    if let helper {
      let path = try programs.write("albumfs-fido2", helper)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    let outcome = try KeyedOutcome(
      ["check", store.path, "--fido2"], [], [], program: albumfs)
    #expect(outcome.code == 31 && outcome.errors.contains(words), "\(outcome)")
    let file = try store.scratch.write("password", TestStore.password)
    let checked = try KeyedOutcome(
      ["check", store.path, "--password-file", file], [], [], program: albumfs)
    #expect(checked.code == 0, "\(checked)")
  }
}
