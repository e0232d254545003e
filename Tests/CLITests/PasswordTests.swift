import AlbumTestSupport
import Testing

/// Passwords come from where the user says, whole and to nobody else.
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

  @Test(arguments: [("sesame\n", "sesame"), ("sesame", "sesame"), (" a b \nmore\n", " a b ")])
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
    (["--password-command", "true"], ""), (["--password-file", "/dev/null"], ""),
  ])
  func anEmptyPasswordIsRefused(options: [String], input: String) throws {
    #expect(try initialize(options, input: input).0.code == 22)
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
}
