import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon
import Glibc

struct SpaceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "space",
    abstract: "Add a space, change a password, show a recovery key, destroy a space.",
    subcommands: [
      SpaceAdd.self, SpacePassword.self, SpaceRecoveryKey.self, SpaceDestroy.self,
    ])
}

struct SpaceAdd: ParsableCommand {
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

  @Option(help: CipherArgument.help)
  var cipher = CipherArgument.auto

  @Option(
    help: ArgumentHelp("Longer edge of the thumbnails, in pixels.", valueName: "px"))
  var thumbnailSize = 512

  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    try Init.checkThumbnailSize(thumbnailSize)
    try cipher.requireAvailable()
  }

  func run() throws {
    ProcessSetup.protectMemory()
    let opened = try StoreCommands.open(store)
    let secret = try PasswordInput.new(password.source, prompt: "New space's password: ")
    let options = SpaceOptions(thumbnailEdge: thumbnailSize, owner: getuid(), group: getgid())
    try StoreCommands.reporting(changing: true) { () throws(StoreError) in
      try opened.addSpace(password: secret, cipher: cipher.kind) {
        (store, keys) throws(StoreError) in
        try Space.create(in: store, keys: keys, options: options)
      }
    }
    StoreCommands.warn(of: opened)
    output.say(
      "Added. Mount it with its password: albumfs mount \(ShellWord.quoted(store)) MOUNTPOINT")
  }
}

struct SpacePassword: RecoveryKeyCommand {
  static let configuration = CommandConfiguration(
    commandName: "password",
    abstract: "Change the password of a space.",
    discussion: """
      An old copy of the store keeps the old password. With --recovery-key you can replace a forgotten \
      password.

        albumfs space password ~/Album.store
        albumfs space password ~/Album.store --recovery-key
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @Option(
    help: ArgumentHelp("Read the new password from the first line of a file.", valueName: "f"),
    completion: .file())
  var newPasswordFile: String?

  @Option(
    help: ArgumentHelp(
      "Run a shell command; the first line that it prints is the new password.", valueName: "cmd"))
  var newPasswordCommand: String?

  @OptionGroup var password: PasswordOptions
  @OptionGroup var secret: RecoveryKeyOption
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if newPasswordFile != nil && newPasswordCommand != nil {
      throw ValidationError("Give only one of --new-password-file and --new-password-command.")
    }
  }

  func run() throws {
    ProcessSetup.protectMemory()
    let opened = try StoreCommands.open(store)
    let old = try secret.ask(password)
    // A wrong password fails before anybody thinks of a new one.
    let change = try StoreCommands.reporting { () throws(StoreError) in
      secret.recoveryKey
        ? try opened.passwordChange(recoveryKey: old) : try opened.passwordChange(old: old)
    }
    let new = try PasswordInput.new(newSource, prompt: "New password: ")
    try StoreCommands.reporting(changing: true) { () throws(StoreError) in
      try opened.finish(change, new: new)
    }
    StoreCommands.warn(of: opened)
    output.say("The password is changed.")
  }

  private var newSource: PasswordSource {
    if let newPasswordFile { return .file(newPasswordFile) }
    if let newPasswordCommand { return .command(newPasswordCommand) }
    return .terminal
  }
}

struct SpaceRecoveryKey: ParsableCommand {
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
    let secret = try PasswordInput.existing(password.source, prompt: "Password: ")
    let key = try StoreCommands.reporting { () throws(StoreError) in
      try opened.recoveryKey(password: secret)
    }
    StoreCommands.warn(of: opened)
    Terminal.result(secret: key)
  }
}
