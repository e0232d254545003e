import AlbumTestSupport
import Foundation
import Testing

/// `albumfs mount` without arguments asks a person on a terminal, makes what is missing, and does the same without a
/// question the next time.
@Suite(.serialized) struct MountQuestionTests {
  let home: ScratchDirectory
  private let password = "correct horse"

  init() throws { home = try ScratchDirectory() }

  private var environment: [String: String] {
    [
      "HOME": home.path, "XDG_CONFIG_HOME": "", "XDG_RUNTIME_DIR": "",
      "ALBUMFS_TESTS_FORBID_CHAFF": "yes",
    ]
  }

  private func ask() throws -> TerminalSession {
    try TerminalSession(Command.builtPath("albumfs"), ["mount"], environment: environment)
  }

  private func run(_ arguments: [String], input: String = "") throws -> Command.Outcome {
    try TestStore.run(arguments, input: input, environment: environment)
  }

  private func isThere(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: home.path(name))
  }

  private let make = "There is no ~/Album.store. Make it? [Y/n] "
  private let remember = "Do the same for `albumfs mount` from now on? [Y/n] "

  @Test func itAsksMakesMountsAndRemembers() throws {
    let session = try ask()
    defer { _ = try? run(["umount", "-q", home.path("Album")]) }
    // Return takes what stands in brackets.
    #expect(session.answer("Store, made if it is missing [~/Album.store]: ", "", shown: true))
    #expect(session.answer("Where to mount it [~/Album]: ", "", shown: true))
    #expect(session.answer(make, "perhaps", shown: true))
    #expect(session.answer(make, "y", shown: true))
    #expect(session.answer(remember, "", shown: true))
    #expect(session.answer("New password: ", password))
    #expect(session.answer("Once more: ", password))
    #expect(session.wait() == 0, "\(session.errors)")
    #expect(session.errors.contains("albumfs space recovery-key ~/Album.store"))
    #expect(session.errors.hasSuffix("Mounted on ~/Album; unmount: albumfs umount ~/Album\n"))
    #expect(!session.echo.contains(password))
    try home.write("Album/kept", "x")
    #expect(try run(["umount", home.path("Album")]).code == 0)

    let settings = try String(contentsOfFile: home.path(".config/albumfs/config"), encoding: .utf8)
    #expect(settings.hasSuffix("\nstore = ~/Album.store\nmountpoint = ~/Album\n"), "\(settings)")
    let again = try ask()
    #expect(again.answer("Password: ", password))
    #expect(again.wait() == 0, "\(again.errors)")
    #expect(isThere("Album/kept"))
    #expect(try run(["umount", home.path("Album")]).code == 0)
  }

  @Test func otherPlacesAreTakenAndNothingIsRememberedUnlessWanted() throws {
    let place = home.path("Disk/My photos.store")
    try FileManager.default.createDirectory(
      atPath: home.path("Disk"), withIntermediateDirectories: false)
    let made = try run(
      ["init", place, "--kdf", "interactive", "--chaff", "0", "--password-stdin"],
      input: password + "\n")
    #expect(made.code == 0)
    let session = try ask()
    defer { _ = try? run(["umount", "-q", home.path("here")]) }
    #expect(session.answer("[~/Album.store]: ", "~/Disk/My photos.store", shown: true))
    #expect(session.answer("Where to mount it [~/Disk/My photos]: ", "~/here", shown: true))
    #expect(session.answer(remember, "n", shown: true))
    #expect(session.answer("Password: ", password))
    #expect(session.wait() == 0, "\(session.errors)")
    #expect(try run(["umount", home.path("here")]).code == 0)
    #expect(!isThere(".config/albumfs/config") && !isThere("here"))
  }

  @Test func whoSaysNoOrLeavesFindsNothingMade() throws {
    let refused = try ask()
    #expect(refused.answer("[~/Album.store]: ", "", shown: true))
    #expect(refused.answer("[~/Album]: ", "", shown: true))
    #expect(refused.answer(make, "n", shown: true))
    #expect(refused.wait() == 15)
    let left = try ask()
    #expect(left.waitForPrompt("[~/Album.store]: ", shown: true))
    left.interrupt()
    #expect(left.wait() == 15)
    let wrong = try ask()
    #expect(wrong.answer("[~/Album.store]: ", "", shown: true))
    #expect(wrong.answer("[~/Album]: ", "", shown: true))
    #expect(wrong.answer(make, "", shown: true))
    #expect(wrong.answer(remember, "", shown: true))
    #expect(wrong.answer("New password: ", password))
    #expect(wrong.answer("Once more: ", "mistyped"))
    #expect(wrong.wait() == 9)
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path) == [])
  }
}
