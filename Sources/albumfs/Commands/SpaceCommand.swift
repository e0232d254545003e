import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon

struct SpaceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "space",
    abstract: "Add a space, change its passwords, show its recovery key, destroy it.",
    subcommands: [
      SpaceAdd.self, SpacePassword.self, SpaceAddKey.self, SpaceRemoveKey.self,
      SpaceRecoveryKey.self, SpaceDestroy.self,
    ])
}

struct SpaceAdd: PasswordCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Add a space with its own password.",
    discussion: """
      Needs no other password, and afterwards nothing shows how many spaces there are. Refuses a password \
      that unlocks a space of this store already.

        albumfs space add ~/Album.store
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @OptionGroup var space: NewSpaceOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    ProcessSetup.protectMemory()
    let opened = try StoreCommands.openToChange(store)
    let secret = try password.askForNew(
      "New space's password: ", salt: opened.securityKeySalt)
    try StoreCommands.reporting(changing: true) { () throws(StoreError) in
      try opened.addSpace(password: secret, cipher: space.cipher.kind) {
        (store, keys) throws(StoreError) in
        try Space.create(in: store, keys: keys, options: space.options)
      }
    }
    StoreCommands.warn(of: opened)
    output.say(
      "Added. Mount it with its password: albumfs mount \(UserConfiguration.shellWord(store)) MOUNTPOINT"
    )
  }
}

struct SpacePassword: RecoveryKeyCommand {
  static let configuration = CommandConfiguration(
    commandName: "password",
    abstract: "Change the password of a space.",
    discussion: """
      An old copy of the store keeps the old password. Other passwords and security keys of the space stay \
      (`albumfs space remove-key`). With --recovery-key you can replace a forgotten password; then no other \
      one unlocks the space any more.

        albumfs space password ~/Album.store
        albumfs space password ~/Album.store --recovery-key
      """)

  @OptionGroup var keys: KeyChangeOptions
  var password: PasswordOptions { keys.password }
  var secret: RecoveryKeyOption { keys.secret }

  func run() throws {
    let lost = try keys.change { (store, change, new) throws(StoreError) in
      try store.finish(change, new: new)
    }
    keys.output.say("The password is changed.")
    if lost > 0 {
      keys.output.say(
        "\(counted(lost, "other password")) or security key\(lost == 1 ? "" : "s") of the space "
          + "\(lost == 1 ? "does" : "do") not unlock it any more.")
    }
  }
}

struct SpaceRecoveryKey: PasswordCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery-key",
    abstract: "Show the recovery key of a space.",
    discussion: """
      Anybody who has the key can mount the space, whatever its password is by then (`albumfs mount \
      --recovery-key`). Write it down and keep it where you would keep the photos themselves.

        albumfs space recovery-key ~/Album.store
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    ProcessSetup.protectMemory()
    let opened = try StoreCommands.open(store)
    let secret = try password.ask(for: opened)
    let key = try StoreCommands.reporting { () throws(StoreError) in
      try opened.recoveryKey(password: secret)
    }
    StoreCommands.warn(of: opened)
    Terminal.result(secret: key)
  }
}
