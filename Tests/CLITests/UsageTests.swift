import AlbumCheck
import AlbumTestSupport
import Foundation
import Testing

@testable import albumfs

/// Wrong usage has an exit code of its own, and help is a result.
@Suite struct UsageTests {
  @Test(arguments: [
    [], ["--help"], ["help"], ["init", "--help"], ["mount", "--help"], ["space", "--help"],
    ["space", "add", "--help"], ["space", "destroy", "--help"], ["compact", "--help"],
    ["--version"],
  ])
  func helpAndVersionAreResults(arguments: [String]) throws {
    let outcome = try TestStore.run(arguments)
    #expect(outcome.code == 0)
    #expect(outcome.output.contains("albumfs"))
    #expect(outcome.errors == "")
  }

  @Test(arguments: [
    ["unknown"], ["init"], ["mount", "/tmp", "/a", "/b"], ["status"], ["list", "extra"], ["tidy"],
    ["umount"], ["umount", "/a", "--all"], ["adopt"],
    ["import"], ["import", "/a"], ["export", "/a"], ["export", "--zip", "/a"], ["traces"],
    ["browse"], ["space", "remove"],
    ["sync", "/tmp", "--timeout", "soon"],
    ["init", "/nowhere/x", "--chaff", "12Q"], ["init", "/nowhere/x", "--segment-size", "-1"],
    ["init", "/nowhere/x", "--kdf", "fast"], ["init", "/nowhere/x", "--thumbnail-size", "0"],
    ["init", "/nowhere/x", "--password-stdin", "--password-file", "f"],
    ["thumbs", "/tmp", "--failed", "--all"],
  ])
  func wrongUsageExitsWith1AndSaysSoOnStandardError(arguments: [String]) throws {
    // No settings name a default.
    let outcome = try TestStore.run(arguments, environment: ["XDG_CONFIG_HOME": "/nowhere"])
    #expect(outcome.code == 1, "\(outcome)")
    #expect(outcome.output == "")
    #expect(outcome.errors != "")
  }

  @Test(arguments: ["umount", "lock", "status", "sync", "compact", "browse", "traces"])
  func withoutAMountPointTheOneOfTheSettingsIsMeant(verb: String) throws {
    let home = try ScratchDirectory()
    try FileManager.default.createDirectory(
      atPath: home.path("albumfs"), withIntermediateDirectories: true)
    try home.write("albumfs/config", "store = /nowhere/store\nmountpoint = \(home.path("Album"))\n")
    let outcome = try TestStore.run(
      [verb], environment: ["XDG_CONFIG_HOME": home.path, "HOME": home.path])
    // Traces are left after the unmount.
    #expect(outcome.code == (verb == "traces" ? 0 : 41), "\(outcome)")
    if verb != "traces" { #expect(outcome.errors.contains(home.path("Album")), "\(outcome)") }
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func completionScriptsCanBeHad(shell: String) throws {
    let outcome = try TestStore.run(["--generate-completion-script", shell])
    #expect(outcome.code == 0)
    #expect(outcome.output.contains("recovery-key"))
    #expect(!outcome.output.contains("no-syscall-inspection"))
  }

  /// Each verb has a page with its options, and albumfs(1) has the exit codes; man(1) finds no fault in them.
  @Test func manPagesComeFromTheHelp() throws {
    let scratch = try ScratchDirectory()
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().path
    let made = try Command(
      root + "/scripts/manual", [Command.builtPath("albumfs"), scratch.path("man")]
    ).run()
    #expect(made.code == 0, "\(made)")
    let pages = try FileManager.default.contentsOfDirectory(atPath: scratch.path("man"))
    #expect(pages.count > 20)
    for page in pages {
      let shown = try Command(
        "/usr/bin/env", ["man", "--warnings", "-E", "UTF-8", "-l", scratch.path("man/" + page)]
      ).run()
      #expect(
        shown.code == 0 && shown.errors == "" && !shown.output.isEmpty, "\(page): \(shown.errors)")
    }
    func text(_ page: String) throws -> String {
      try String(contentsOfFile: scratch.path("man/" + page), encoding: .utf8)
    }
    #expect(try text("albumfs-mount.1").contains("\\-\\-read\\-only"))
    #expect(try !text("albumfs-mount.1").contains("syscall"))
    #expect(try text("albumfs-space-add.1").contains("albumfs space add"))
    #expect(try text("albumfs.1").contains(".SH EXIT STATUS"))
  }

  @Test func theDaemonsOwnCommandIsNotForPeople() throws {
    #expect(try !TestStore.run(["--help"]).output.contains("\n  daemon"))
    #expect(try TestStore.run(["daemon"]).code == 1)
  }

  @Test(arguments: [
    ["status", "/"], ["sync", "/"], ["thumbs", "/"], ["tidy", "/"], ["umount", "/"],
    ["compact", "/"], ["browse", "/"], ["import", "/a", "/"], ["export", "/", "/a"],
  ])
  func whatIsNotMountedIsNamed(arguments: [String]) throws {
    let outcome = try TestStore.run(arguments)
    #expect(outcome.code == 41)
    #expect(outcome.errors.hasPrefix("albumfs: "))
  }

  /// They come from variables without a value, and as paths they would mean the current directory.
  @Test(arguments: [
    ["init", ""], ["mount", "", "/a"], ["mount", "/a", ""], ["umount", ""], ["lock", ""],
    ["import", "", "/a"], ["import", "/a", ""], ["export", "/a", ""], ["export", "", "/a"],
    ["export", "/a", "--zip", ""], ["export", "/a", "--zip="], ["check", ""], ["space", "add", ""],
    ["list-photos", ""], ["status", ""], ["", "/a", "-o", "rw"],
    ["mount", "/a", "/b", "--password-file", ""], ["mount", "/a", "/b", "--idle="],
  ])
  func emptyArgumentsAreRefusedEverywhere(arguments: [String]) throws {
    let scratch = try ScratchDirectory()
    var command = Command.built("albumfs", arguments)
    command.directory = scratch.path
    command.input = Data("correct horse\n".utf8)
    let outcome = try command.run()
    #expect(outcome.code == 1 && outcome.output == "", "\(outcome)")
    #expect(outcome.errors.contains("empty"), "\(outcome)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
  }

  @Test(arguments: [
    (["moutn", "/a"], "'mount'"), (["imort"], "'import'"), (["umuont"], "'umount'"),
    (["umnount"], "'umount'"), (["passwrd"], "'passwd'"), (["space", "pasword"], "'password'"),
    (["chaff", "stats"], "'status'"),
  ])
  func aMistypedVerbIsAnsweredWithTheOneThatWasMeant(arguments: [String], meant: String) throws {
    let outcome = try TestStore.run(arguments)
    #expect(outcome.code == 1 && outcome.errors.contains("Did you mean \(meant)?"), "\(outcome)")
  }

  @Test func aWordThatResemblesNoVerbIsAnsweredWithAll() throws {
    let errors = try TestStore.run(["holiday"]).errors
    #expect(!errors.contains("Did you mean") && errors.contains("Verbs: init mount"), "\(errors)")
  }

  /// A name may hold what a terminal would obey, or read backwards.
  @Test func noNameCommandsTheTerminal() throws {
    let name = "/nowhere/\u{1B}[31m\u{202E}gpj"
    for arguments in [["check", name], ["mount", name, "/a"], ["import", name, name], [name]] {
      let outcome = try TestStore.run(arguments)
      let all = outcome.output + outcome.errors
      #expect(!all.contains("\u{1B}") && !all.contains("\u{202E}"), "\(arguments)")
      #expect(all.contains("\\u{1B}[31m"), "\(all)")
    }
  }

  @Test func theOptionThatNamesANewPasswordIsNamed() throws {
    let store = try TestStore()
    for verb in ["add-key", "password"] {
      let outcome = try TestStore.run(
        ["space", verb, store.path, "--password-stdin"], input: TestStore.password + "\n")
      #expect(outcome.code == 9 && outcome.errors.contains("--new-password-file"), "\(outcome)")
    }
  }

  @Test func aStoreAndAMountPointInTheWrongOrderAreRecognised() throws {
    let store = try TestStore()
    let point = store.scratch.path("Album")
    try FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: false)
    let outcome = try TestStore.run(["mount", point, store.path, "--password-stdin"])
    #expect(outcome.code == 1 && outcome.errors.contains("store comes first"), "\(outcome)")
    #expect(outcome.errors.contains("albumfs mount \(store.path) \(point)"), "\(outcome)")
  }

  @Test func fstabsUnknownOptionIsAnsweredWithAlbumfsOwn() throws {
    let store = try TestStore()
    let point = store.scratch.path("Album")
    try FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: false)
    let outcome = try TestStore.run([store.path, point, "-o", "rw,idel=5m"], input: "x\n")
    #expect(outcome.code == 1 && outcome.errors.contains("idel"), "\(outcome)")
    for word in ["idle=", "password-file=", "allow-other"] {
      #expect(outcome.errors.contains(word), "\(outcome)")
    }
  }

  /// Whoever waits sees how long, also in a narrow window, and no letter is left at its edge.
  @Test func progressFitsTheTerminal() {
    let progress = CheckProgress(step: .records, doneBytes: 1 << 30, totalBytes: 5 << 30)
    for work in ["Copying", "Writing chaff, random data that no space owns:"] {
      for columns in 1...200 {
        let line = ProgressBar.line(
          work, progress, "3 of 8 files", elapsed: .seconds(10), columns: columns)
        #expect(line.count < columns)
        #expect(columns < 30 || line.contains("20 %") && line.contains("40 s left"), "\(line)")
        #expect(columns < 80 || line.hasPrefix(work), "\(line)")
      }
    }
    let wide = ProgressBar.line("Copying", progress, nil, elapsed: .seconds(10), columns: .max)
    #expect(wide.contains("[####----") && wide.contains("1.0 GiB of 5.0 GiB"), "\(wide)")
  }

  @Test(arguments: [
    (["unmount", "/"], 41, "/"), (["passwd", "/nowhere"], 6, "/nowhere"),
    (["version"], 0, "albumfs 0"),
    (["help", "unmount"], 0, "albumfs umount"), (["help", "passwd"], 0, "albumfs space password"),
  ])
  func wordsOfOtherProgramsAreUnderstood(arguments: [String], code: Int32, says: String) throws {
    let outcome = try TestStore.run(arguments)
    #expect(outcome.code == code, "\(outcome)")
    #expect((outcome.output + outcome.errors).contains(says), "\(outcome)")
  }

  @Test(arguments: [
    (["init", "/x", "--chaff", "12Q"], ["K, M, G"]),
    (["init", "/x", "--kdf", "fast"], ["moderate"]),
    (["init", "/x", "--cipher", "rot13"], ["aes-256-gcm"]),
    (["init", "/x", "--thumbnail-size", "big"], ["pixels"]),
    (["init", "/x", "--segment-size", "3M"], ["512K", "64M"]),
    (["sync", "/x", "--timeout", "soon"], ["seconds"]), (["mount", "--grace", "x"], ["seconds"]),
    (["mount", "--transport", "pigeon"], ["uring", "device"]),
    (["chaff", "add", "/x", "much"], ["K, M, G"]), (["mout"], ["mount", "umount", "status"]),
  ])
  func aBadValueIsToldWhatIsValid(arguments: [String], valid: [String]) throws {
    let outcome = try TestStore.run(arguments)
    #expect(outcome.code == 1)
    for word in valid { #expect(outcome.errors.contains(word), "\(outcome.errors)") }
  }

  /// Somebody who reads the first screen sees how to begin and which verbs there are.
  @Test func theHelpHasUsageAndVerbsBeforeExitCodes() throws {
    let help = try TestStore.run(["--help"]).output
    let parts = ["First steps", "USAGE:", "SUBCOMMANDS:", "EXIT CODES:"].map {
      help.range(of: $0)?.lowerBound
    }
    #expect(parts.allSatisfy { $0 != nil })
    #expect(parts.compactMap { $0 } == parts.compactMap { $0 }.sorted())
    #expect(try !TestStore.run(["mount", "--help"]).output.contains("EXIT CODES"))
  }

  @Test func exitCodesAreInTheHelp() throws {
    let help = try TestStore.run(["--help"]).output
    for line in ["6   the store", "12  wrong password", "22  the password is empty"] {
      #expect(help.contains(line))
    }
  }

  /// A recovery key that goes into a file on a full disk is not written down. A reader that has enough is no
  /// error.
  @Test func outputThatCannotBeWrittenIsAnError() throws {
    let store = try TestStore()
    let program = "'\(Command.builtPath("albumfs"))'"
    let password = "printf '%s\\n' '\(TestStore.password)'"
    for words in [
      "--version", "--help", "find --help", "info '\(store.path)'", "list --json",
      "space recovery-key --password-stdin '\(store.path)'",
    ] {
      let full = try shell("\(password) | \(program) \(words) > /dev/full")
      #expect(full.code == 43, "\(words): \(full)")
      #expect(full.errors.contains("output"), "\(words): \(full)")
      let pipe = "set -o pipefail; \(password) | \(program) \(words) | true"
      #expect(try shell(pipe).code == 0, "\(words)")
    }
  }

  private func shell(_ script: String) throws -> Command.Outcome {
    try Command("/bin/bash", ["-c", script]).run()
  }

  @Test(arguments: ["20", "1", "0", "-1"], [["--help"], ["mount", "--help"], []])
  func aNarrowTerminalShowsTheHelpToo(_ columns: String, _ words: [String]) throws {
    let help = try TestStore.run(words, environment: ["COLUMNS": columns])
    #expect(help.code == 0 && help.output.contains("USAGE"), "\(help)")
  }
}
