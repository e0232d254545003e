import AlbumTestSupport
import Testing

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
    ["unknown"], ["init"], ["mount", "/tmp"], ["status"], ["list", "extra"], ["tidy"],
    ["umount"], ["umount", "/a", "--all"], ["traces"], ["browse"], ["space", "remove"],
    ["sync", "/tmp", "--timeout", "soon"],
    ["init", "/nowhere/x", "--chaff", "12Q"], ["init", "/nowhere/x", "--segment-size", "-1"],
    ["init", "/nowhere/x", "--kdf", "fast"], ["init", "/nowhere/x", "--thumbnail-size", "0"],
    ["init", "/nowhere/x", "--password-stdin", "--password-file", "f"],
    ["thumbs", "/tmp", "--failed", "--all"],
  ])
  func wrongUsageExitsWith1AndSaysSoOnStandardError(arguments: [String]) throws {
    let outcome = try TestStore.run(arguments)
    #expect(outcome.code == 1, "\(outcome)")
    #expect(outcome.output == "")
    #expect(outcome.errors != "")
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func completionScriptsCanBeHad(shell: String) throws {
    let outcome = try TestStore.run(["--generate-completion-script", shell])
    #expect(outcome.code == 0)
    #expect(outcome.output.contains("recovery-key"))
    #expect(!outcome.output.contains("no-syscall-inspection"))
  }

  @Test func theDaemonsOwnCommandIsNotForPeople() throws {
    #expect(try !TestStore.run(["--help"]).output.contains("\n  daemon"))
    #expect(try TestStore.run(["daemon"]).code == 1)
  }

  @Test(arguments: [
    ["status", "/"], ["sync", "/"], ["thumbs", "/"], ["tidy", "/"], ["umount", "/"],
    ["compact", "/"], ["browse", "/"],
  ])
  func whatIsNotMountedIsNamed(arguments: [String]) throws {
    let outcome = try TestStore.run(arguments)
    #expect(outcome.code == 41)
    #expect(outcome.errors.hasPrefix("albumfs: "))
  }

  @Test func exitCodesAreInTheHelp() throws {
    let help = try TestStore.run(["--help"]).output
    for line in ["6   the store", "12  wrong password", "22  the password is empty"] {
      #expect(help.contains(line))
    }
  }
}
