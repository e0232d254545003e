import AlbumTestSupport
import Foundation
import Testing

/// Passwords come from the place that the user names, complete, and go nowhere else.
@Suite(.serialized) struct PasswordTests {
  private func initialize(_ options: [String], input: String = "") throws -> (
    Command.Outcome, ScratchDirectory
  ) {
    let scratch = try ScratchDirectory()
    let arguments = ["init", scratch.path("store"), "--kdf", "interactive", "--chaff", "0"]
    return (try TestStore.run(arguments + options, input: input), scratch)
  }

  private func opens(_ scratch: ScratchDirectory, _ password: String) throws -> Bool {
    try TestStore.run(
      ["space", "recovery-key", scratch.path("store"), "--password-stdin"], input: password
    ).code == 0
  }

  @Test func withoutTerminalAndOptionsItFailsAtOnce() throws {
    let (outcome, _) = try initialize([])
    #expect(outcome.code == 9)
    #expect(outcome.errors.contains("--password-file"))
  }

  @Test(arguments: [
    ("sesame\n", "sesame"), ("sesame", "sesame"), (" a b \nmore\n", " a b "),
    // A line ending of Windows; a carriage return elsewhere belongs to the password.
    ("sesame\r\n", "sesame"), ("a\rb\r\r\nmore\r\n", "a\rb\r"), ("sesame\r", "sesame\r"),
  ])
  func aFileGivesItsFirstLineWithoutTheNewline(content: String, password: String) throws {
    let files = try ScratchDirectory()
    let file = try files.write("password", content)
    let (outcome, scratch) = try initialize(["--password-file", file])
    #expect(outcome.code == 0)
    #expect(try opens(scratch, password))
    #expect(try !opens(scratch, password + " "))
  }

  @Test func aCommandGivesItsFirstLineAndItsMessagesAreShown() throws {
    let (outcome, scratch) = try initialize([
      "--password-command", "echo asked >&2; printf 'sesame\\nlogin: ann\\n'",
    ])
    #expect(outcome.code == 0)
    #expect(outcome.errors.contains("asked"))
    #expect(try opens(scratch, "sesame"))
  }

  @Test(arguments: [
    ["--password-command", "exit 3"], ["--password-command", "/nonexistent/program"],
    ["--password-file", "/nonexistent/file"],
  ])
  func aSourceThatFailsIsExitCode9(options: [String]) throws {
    #expect(try initialize(options).0.code == 9)
  }

  @Test(arguments: [
    (["--password-stdin"], ""), (["--password-stdin"], "\nsesame\n"),
    (["--password-stdin"], "\r\nsesame\r\n"),
    (["--password-command", "true"], ""), (["--password-file", "/dev/null"], ""),
  ])
  func anEmptyPasswordIsRefused(options: [String], input: String) throws {
    #expect(try initialize(options, input: input).0.code == 22)
  }

  @Test func aCarriageReturnBeforeTheNewlineIsNoPartOfAPasswordFromAnywhere() throws {
    let (made, scratch) = try initialize(["--password-command", "printf 'sesame\\r\\n'"])
    #expect(made.code == 0)
    #expect(try opens(scratch, "sesame"))
    #expect(try opens(scratch, "sesame\r\n"))
  }

  @Test func aPasswordTypedOnAMacUnlocksASpaceFromLinux() throws {
    let (mac, linux) = ("Ka\u{308}fer", "K\u{E4}fer")
    for (set, typed) in [(mac, linux), (linux, mac)] {
      let (made, scratch) = try initialize(["--password-stdin"], input: set + "\n")
      #expect(made.code == 0)
      #expect(try opens(scratch, typed))
    }
  }

  @Test func aWeakPasswordIsReportedAndAccepted() throws {
    let weak = "This password is weak"
    let strong = "vapour kettle ninety harbour moss"
    let (made, scratch) = try initialize(["--password-stdin"], input: "sesame\n")
    #expect(made.code == 0 && made.errors.contains(weak))
    #expect(!made.errors.contains("sesame"))
    #expect(made.errors.split(separator: "\n").count { $0.contains("weak") } == 1)
    #expect(try !initialize(["--password-stdin"], input: strong + "\n").0.errors.contains(weak))
    let store = scratch.path("store")
    let added = try TestStore.run(["space", "add", store, "--password-stdin"], input: "password1")
    #expect(added.code == 0 && added.errors.contains(weak))
    for (old, new, isWeak) in [("sesame", strong, false), (strong, "letmein", true)] {
      let file = try scratch.write("new", new)
      let changed = try TestStore.run(
        ["space", "password", store, "--password-stdin", "--new-password-file", file], input: old)
      #expect(changed.code == 0 && changed.errors.contains(weak) == isWeak)
    }
    let another = try scratch.write("another", "iloveyou")
    let more = try TestStore.run(
      ["space", "add-key", store, "--password-stdin", "--new-password-file", another],
      input: "letmein")
    #expect(more.code == 0 && more.errors.contains(weak))
    // A command that only unlocks does not warn.
    let opened = try TestStore.run(
      ["space", "recovery-key", store, "--password-stdin"], input: "letmein")
    #expect(opened.code == 0 && !opened.errors.contains(weak))
  }

  @Test func anEndlessPasswordIsRefused() throws {
    let (outcome, _) = try initialize(["--password-file", "/dev/zero"])
    #expect(outcome.code == 9)
  }

  @Test func aTerminalAsksTwiceAndShowsNothing() throws {
    let scratch = try ScratchDirectory()
    let session = try TerminalSession(
      Command.builtPath("albumfs"),
      ["init", scratch.path("store"), "--kdf", "interactive", "--chaff", "0"])
    #expect(session.answer("password: ", "sesame"))
    #expect(session.answer("Once more: ", "sesame"))
    #expect(session.wait() == 0)
    #expect(!session.echo.contains("sesame"))
    #expect(session.echoes)
    #expect(try opens(scratch, "sesame"))
  }

  @Test func twoDifferentPasswordsChangeNothing() throws {
    let scratch = try ScratchDirectory()
    let session = try TerminalSession(
      Command.builtPath("albumfs"), ["init", scratch.path("store"), "--kdf", "interactive"])
    #expect(session.answer("password: ", "sesame"))
    #expect(session.answer("Once more: ", "sesamr"))
    #expect(session.wait() == 9)
    #expect(try TestStore.run(["info", scratch.path("store")]).code == 6)
  }

  @Test func interruptingThePromptGivesTheTerminalBack() throws {
    let store = try TestStore()
    let session = try TerminalSession(
      Command.builtPath("albumfs"), ["space", "recovery-key", store.path])
    #expect(session.waitForPrompt("Password: "))
    session.interrupt()
    #expect(session.wait() == 15)
    #expect(session.echoes)
    #expect(session.output == "")
  }

  @Test func aWrongPasswordIsReportedBeforeTheCommandAsksForANewOne() throws {
    let store = try TestStore()
    for words in [["space", "password", store.path], ["passwd", store.path, "--recovery-key"]] {
      let session = try TerminalSession(Command.builtPath("albumfs"), words)
      #expect(session.answer(words.count == 2 ? "" : ": ", "mistyped"))
      #expect(session.wait() == 12)
      #expect(!session.errors.contains("New password"), "\(session.errors)")
    }
  }

  /// A shell with job control, as at a real terminal.
  @Test func ctrlZAndFgAtThePromptLeaveTheEchoRight() throws {
    let store = try TestStore()
    let program = """
      import os, pty, re, select, sys, termios, time
      child, terminal = pty.fork()
      if child == 0:
          os.execvp("bash", ["bash", "--norc", "--noediting", "-i"])
      seen = ""
      def expect(words, echo):
          global seen
          for _ in range(800):
              if select.select([terminal], [], [], 0.1)[0]:
                  seen += os.read(terminal, 4096).decode(errors="replace")
              shows = bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
              if words in seen and shows == echo:
                  seen = seen.split(words, 1)[1]
                  return
          sys.exit(f"no {words!r} with echo {echo}: {seen!r}")
      def type_in(text): os.write(terminal, text.encode())
      type_in("PS1='ready''> '\\n"); expect("ready> ", True)
      type_in(f"'{sys.argv[1]}' space recovery-key '{sys.argv[2]}'\\n")
      expect("Password: ", False)
      for _ in range(3):
          type_in("\\x1a"); expect("ready> ", True)
          type_in("fg\\n"); expect("Password: ", False)
      type_in(sys.stdin.readline())
      expect("ready> ", True)
      type_in("echo code $?\\n"); expect("code 0", True)
      """
    var command = Command(
      "/usr/bin/python3", ["-c", program, Command.builtPath("albumfs"), store.path])
    // By standard input, because other tests look for this password in the list of processes.
    command.input = Data("\(TestStore.password)\n".utf8)
    command.timeout = 100
    let outcome = try command.run()
    #expect(outcome.code == 0, "\(outcome.errors)")
  }
}
