import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon
import Glibc

struct SpaceDestroy: RecoveryKeyCommand {
  static let configuration = CommandConfiguration(
    commandName: "destroy",
    abstract: "Destroy the space that a password unlocks.",
    discussion: """
      Fills the space's slot in keys with random bytes, so that no password unlocks the space any more. Its \
      segments stay and look like chaff. No other space is touched. This cannot be undone.

      The recovery key, or an old copy of keys with the password, still decrypts segments that stay. \
      --remove-segments removes them; two copies of the store, one from before and one from after, then \
      show how many went at once.

        albumfs space destroy ~/Album.store
        albumfs space destroy ~/Album.store --remove-segments
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @Flag(help: "Remove the space's segments too.")
  var removeSegments = false

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @OptionGroup var password: PasswordOptions
  @OptionGroup var secret: RecoveryKeyOption
  @OptionGroup var output: OutputOptions

  func run() throws {
    ProcessSetup.protectMemory()
    if !yes, isatty(STDIN_FILENO) != 1 {
      throw Failure(.usage, "No terminal to ask for confirmation. Use --yes.")
    }
    let opened = try StoreCommands.openToChange(store)
    let space = try find(opened)
    StoreCommands.warn(of: opened)
    let segments =
      "\(counted(space.segmentCount, "segment")) (\(SizeArgument.readable(space.byteCount)))"
    if !yes { try confirm(segments) }
    try StoreCommands.reporting(changing: true) { () throws(StoreError) in
      try space.destroySlots()
      if removeSegments { try space.removeSegments() }
    }
    try StateDirectory.forget(space.memoryName)
    output.say("The space is destroyed: no password unlocks it any more.")
    output.say(
      removeSegments
        ? "Its \(segments) are gone. A copy of the store from before and one from now show that so "
          + "many went at once."
        : "Its \(segments) stay and look like chaff. Its recovery key, or its password with an old "
          + "copy of keys, still decrypts them. To remove them later, use --remove-segments with the "
          + "recovery key.")
  }

  private func find(_ opened: Store) throws(Failure) -> SpaceDestruction {
    let typed = try secret.ask(password, for: opened)
    do throws(StoreError) {
      return secret.recoveryKey
        ? try SpaceDestruction(opened, recoveryKey: typed)
        : try SpaceDestruction(opened, password: typed)
    } catch {
      throw StoreCommands.failure(error, in: store) { () throws(StoreError) in
        secret.recoveryKey
          ? try opened.unlock(recoveryKey: typed) : try opened.unlock(password: typed)
      }
    }
  }

  private func confirm(_ segments: String) throws(Failure) {
    output.say(
      "This destroys the space that this password unlocks, for good: \(segments)"
        + (removeSegments ? ", which are removed." : "."))
    Terminal.prompt("Type yes to destroy it: ")
    if readLine() != "yes" { throw Failure(.interrupted, "Not confirmed; nothing was changed.") }
  }
}
