import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon

// Several passwords and security keys of one space, any of which unlocks it.

/// The options of commands that set a password besides or in place of the present one.
struct KeyChangeOptions: ParsableArguments {
  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @OptionGroup var new: NewPasswordOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var secret: RecoveryKeyOption
  @OptionGroup var output: OutputOptions

  /// Unlocks the space, asks for the new password, and makes the change.
  func change<Result>(
    _ body: (Store, Store.PasswordChange, borrowing SecretBytes) throws(StoreError) -> Result
  ) throws -> Result {
    ProcessSetup.protectMemory()
    let opened = try StoreCommands.openToChange(store)
    let change = try secret.unlock(opened, password)
    let another = try new.ask(for: opened)
    let result = try new.reporting { () throws(StoreError) in try body(opened, change, another) }
    StoreCommands.warn(of: opened)
    return result
  }
}

struct SpaceAddKey: RecoveryKeyCommand {
  static let configuration = CommandConfiguration(
    commandName: "add-key",
    abstract: "Add another password or a security key to a space.",
    discussion: """
      Unlocks the space with a present password, security key or recovery key, and lets another one \
      unlock it too. Nothing shows how many there are, nor whether they belong to one space or to several.

        albumfs space add-key ~/Album.store
        albumfs space add-key ~/Album.store --new-fido2
        albumfs space add-key ~/Album.store --fido2 --new-fido2
      """)

  @OptionGroup var keys: KeyChangeOptions
  var password: PasswordOptions { keys.password }
  var secret: RecoveryKeyOption { keys.secret }

  func run() throws {
    let count = try keys.change { (store, change, new) throws(StoreError) in
      try store.add(new, to: change)
    }
    keys.output.say("Added. \(SpaceRemoveKey.census(count))")
  }
}

struct SpaceRemoveKey: PasswordCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove-key",
    abstract: "Remove a password or a security key from a space.",
    discussion: """
      Removes the password or security key that you give. With --others it keeps that one and removes all \
      others of the space: for a key that is lost. The last one stays (`albumfs space destroy`). An old copy \
      of the store keeps what is removed, and the recovery key stays valid.

        albumfs space remove-key ~/Album.store
        albumfs space remove-key ~/Album.store --fido2
        albumfs space remove-key ~/Album.store --others
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @Flag(help: "Keep the one that you give, and remove all others of the space.")
  var others = false

  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    ProcessSetup.protectMemory()
    let opened = try StoreCommands.openToChange(store)
    let given = try password.unlock(opened)
    let outcome = try StoreCommands.reporting(changing: true) { () throws(StoreError) in
      try opened.remove(others ? .others : .given, of: given)
    }
    StoreCommands.warn(of: opened)
    output.say("Removed \(outcome.removed). \(SpaceRemoveKey.census(outcome.left))")
  }

  /// States how many passwords and security keys unlock a space.
  static func census(_ count: Int) -> String {
    count == 1
      ? "One password or security key unlocks the space now."
      : "\(count) passwords or security keys unlock the space now, each by itself."
  }
}
