import AlbumTestSupport
import Foundation
import Testing

/// Each error before a mount has its own exit code, and nothing stays mounted. (MountTests tests real
/// mounts.)
@Suite(.serialized) struct MountInputTests {
  let store: TestStore
  let place: ScratchDirectory

  init() throws {
    store = try TestStore()
    place = try ScratchDirectory()
    try FileManager.default.createDirectory(
      atPath: place.path("mnt"), withIntermediateDirectories: false)
  }

  private func mount(
    _ arguments: [String], password: String = TestStore.password
  ) throws -> Command.Outcome {
    let outcome = try TestStore.run(
      ["mount"] + arguments + ["--password-stdin"], input: password + "\n")
    #expect(try !TestStore.run(["list"]).output.contains(place.path))
    #expect(outcome.output == "")
    return outcome
  }

  @Test func theCommandReportsAWrongPasswordThatTheDaemonFinds() throws {
    #expect(try mount([store.path, place.path("mnt")], password: "wrong").code == 12)
    #expect(try mount([store.path, place.path("mnt")], password: "").code == 22)
    #expect(
      try mount([store.path, place.path("mnt"), "--foreground"], password: "wrong").code == 12)
  }

  @Test func aRecoveryKeyThatIsMistypedOrOfAnotherStore() throws {
    let other = try TestStore().recoveryKey().output
    let own = try store.recoveryKey().output
    for key in ["0123-4567", other, String(own.dropFirst()) + "0"] {
      let outcome = try mount(
        [store.path, place.path("mnt"), "--recovery-key"],
        password: key.trimmingCharacters(in: .newlines))
      #expect(outcome.code == 12)
      #expect(!outcome.errors.contains(key.trimmingCharacters(in: .newlines)))
    }
  }

  @Test func aMountPointThatIsMissingNoDirectoryOrNotEmpty() throws {
    try place.write("file", "x")
    try FileManager.default.createDirectory(
      atPath: place.path("full/inner"), withIntermediateDirectories: true)
    for name in ["missing/inner", "file", "full"] {
      let outcome = try mount([store.path, place.path(name)])
      #expect(outcome.code == 10)
      #expect(outcome.errors.contains(name))
    }
  }

  @Test func storeAndMountPointMayNotContainOneAnother() throws {
    try FileManager.default.createDirectory(
      atPath: store.path + "/inner", withIntermediateDirectories: false)
    #expect(try mount([store.path, store.path + "/inner"]).code == 10)
    #expect(try mount([store.path, store.path]).code == 10)
    #expect(try mount([store.path, store.scratch.path]).code == 10)
    // Nor through a symbolic link.
    try FileManager.default.createSymbolicLink(
      atPath: place.path("link"), withDestinationPath: store.path + "/inner")
    #expect(try mount([store.path, place.path("link")]).code == 10)
  }

  @Test func aPlaceWhereSomethingElseIsMounted() throws {
    #expect(try mount([store.path, "/proc"]).code == 10)
  }

  @Test func anUnknownMountOption() throws {
    let outcome = try mount([store.path, place.path("mnt"), "-o", "ro,telepathy"])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("telepathy"))
  }

  @Test func aStoreThatIsMissingOrNone() throws {
    #expect(try mount([place.path("nothing"), place.path("mnt")]).code == 6)
    #expect(try mount([place.path("mnt"), place.path("mnt")]).code == 6)
  }

  @Test func withoutTerminalNothingIsAsked() throws {
    let outcome = try TestStore.run(["mount", store.path, place.path("mnt")])
    #expect(outcome.code == 9)
  }
}
