import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Posix
import SecurityKeyProtocol

/// The source of a typed or stored password.
enum PasswordSource: Equatable {
  case terminal
  case file(String)
  case command(String)
  case standardInput
}

/// The options of every command that needs a password or a security key.
struct PasswordOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Read the password from the first line of a file.", valueName: "f"),
    completion: .file())
  var passwordFile: String?

  @Option(
    help: ArgumentHelp(
      "Run a shell command; the first line that it prints is the password.", valueName: "cmd"))
  var passwordCommand: String?

  @Flag(help: "Read the password from the first line of standard input.")
  var passwordStdin = false

  @Flag(help: "Use a FIDO2 security key and its PIN instead of a password.")
  var fido2 = false

  @Flag(help: "Use a password as well as the security key; both are needed.")
  var withPassword = false

  func validate() throws {
    let given = [passwordFile != nil, passwordCommand != nil, passwordStdin]
    if given.count(where: { $0 }) > 1 {
      throw ValidationError(
        "Give only one of --password-file, --password-command and --password-stdin.")
    }
    if withPassword, !fido2 { throw ValidationError("--with-password is for --fido2.") }
  }

  /// True if an option says what to use. Without one a command asks for a password.
  var isGiven: Bool { fido2 || source != .terminal }

  private var source: PasswordSource {
    if let passwordFile { return .file(passwordFile) }
    if let passwordCommand { return .command(passwordCommand) }
    return passwordStdin ? .standardInput : .terminal
  }

  private var secret: SecretSource {
    SecretSource(password: source, usesKey: fido2, asksBesidesKey: withPassword)
  }

  /// Reads the secret of a space that exists.
  func ask(for store: Store) throws(Failure) -> SecretBytes {
    try secret.existing(salt: store.securityKeySalt)
  }

  /// Reads a password where a security key is no use.
  func askForPassword() throws(Failure) -> SecretBytes {
    if fido2 { throw Failure(.usage, "The gallery takes passwords, and no security key.") }
    return try PasswordInput.existing(source, prompt: "Password: ")
  }

  /// Reads a new secret. Asks with these words on a terminal.
  func askForNew(_ prompt: String, salt: [UInt8]) throws(Failure) -> SecretBytes {
    try secret.new(prompt, salt: salt)
  }

  /// Reads the recovery key from the same sources.
  fileprivate func askForRecoveryKey() throws(Failure) -> SecretBytes {
    if fido2 { throw Failure(.usage, "Give only one of --fido2 and --recovery-key.") }
    return try PasswordInput.existing(source, prompt: "Recovery key: ")
  }

  /// Unlocks a space whose passwords are to be changed, so that a wrong password fails before anybody thinks
  /// of a new one.
  func unlock(_ store: Store) throws(Failure) -> Store.PasswordChange {
    let typed = try ask(for: store)
    return try StoreCommands.reporting { () throws(StoreError) in
      try store.passwordChange(old: typed)
    }
  }

  /// Says the same of a security key where a failure speaks of a password.
  func explained(_ failure: Failure) -> Failure {
    secret.explained(failure)
  }
}

/// A command that a security key can unlock a space for.
protocol PasswordCommand: ParsableCommand {
  var password: PasswordOptions { get }
}

/// The option of commands that also accept the recovery key.
struct RecoveryKeyOption: ParsableArguments {
  @Flag(help: "Ask for the recovery key instead of the password.")
  var recoveryKey = false

  /// Reads the recovery key, or what `password` names.
  func ask(_ password: PasswordOptions, for store: Store) throws(Failure) -> SecretBytes {
    recoveryKey ? try password.askForRecoveryKey() : try password.ask(for: store)
  }

  /// Unlocks a space whose passwords are to be changed.
  func unlock(_ store: Store, _ password: PasswordOptions) throws(Failure) -> Store.PasswordChange {
    if !recoveryKey { return try password.unlock(store) }
    let typed = try password.askForRecoveryKey()
    return try StoreCommands.reporting { () throws(StoreError) in
      try store.passwordChange(recoveryKey: typed)
    }
  }
}

/// A command that the recovery key unlocks a space for, too.
protocol RecoveryKeyCommand: PasswordCommand {
  var secret: RecoveryKeyOption { get }
}

/// The options of commands that set a password besides the present one.
struct NewPasswordOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Read the new password from the first line of a file.", valueName: "f"),
    completion: .file())
  var newPasswordFile: String?

  @Option(
    help: ArgumentHelp(
      "Run a shell command; the first line that it prints is the new password.", valueName: "cmd"))
  var newPasswordCommand: String?

  @Flag(help: "Let a FIDO2 security key unlock the space from now on, instead of a new password.")
  var newFido2 = false

  @Flag(help: "Ask for a new password as well as the new security key; both are needed.")
  var newWithPassword = false

  func validate() throws {
    if newPasswordFile != nil && newPasswordCommand != nil {
      throw ValidationError("Give only one of --new-password-file and --new-password-command.")
    }
    if newWithPassword, !newFido2 {
      throw ValidationError("--new-with-password is for --new-fido2.")
    }
  }

  private var secret: SecretSource {
    var source = PasswordSource.terminal
    if let newPasswordFile { source = .file(newPasswordFile) }
    if let newPasswordCommand { source = .command(newPasswordCommand) }
    var secret = SecretSource(password: source, usesKey: newFido2, asksBesidesKey: newWithPassword)
    secret.options = "--new-password-file or --new-password-command"
    return secret
  }

  /// Reads the new secret for a space of the store.
  func ask(for store: Store) throws(Failure) -> SecretBytes {
    try secret.new("New password: ", salt: store.securityKeySalt)
  }

  /// Runs a call of the core that seals a slot with the new secret, and translates its errors.
  func reporting<Result>(_ body: () throws(StoreError) -> Result) throws(Failure) -> Result {
    do throws(Failure) {
      return try StoreCommands.reporting(changing: true, body)
    } catch {
      // Whoever has unlocked the space has given the right secret: the new one is at fault.
      throw error.kind == .passwordInUse ? secret.explained(error) : error
    }
  }
}

/// The secret that unlocks a space: a password, a security key, or both together.
struct SecretSource {
  private let password: PasswordSource?
  private let usesKey: Bool
  /// Those that name a new password.
  var options = PasswordInput.usualOptions

  /// A security key stands alone unless an option names a password, or `asksBesidesKey`.
  init(password: PasswordSource, usesKey: Bool, asksBesidesKey: Bool) {
    let isAlone = usesKey && !asksBesidesKey && password == .terminal
    self.password = isAlone ? nil : password
    self.usesKey = usesKey
  }

  func existing(salt: [UInt8]) throws(Failure) -> SecretBytes {
    guard let password else { return try SecurityKeyInput.secret(.find, salt: salt) }
    let typed = try PasswordInput.existing(password, prompt: "Password: ")
    if !usesKey { return typed }
    return SecurityKeySecret.password(try SecurityKeyInput.secret(.find, salt: salt), and: typed)
  }

  func new(_ prompt: String, salt: [UInt8]) throws(Failure) -> SecretBytes {
    guard let password else { return try SecurityKeyInput.secret(.make, salt: salt) }
    let typed = try PasswordInput.new(
      password, prompt: prompt, strength: usesKey ? .besidesKey : .alone, options: options)
    if !usesKey { return typed }
    return SecurityKeySecret.password(try SecurityKeyInput.secret(.make, salt: salt), and: typed)
  }

  func explained(_ failure: Failure) -> Failure {
    guard usesKey else { return failure }
    let what = password == nil ? "security key" : "security key with this password"
    switch failure.kind {
    case .wrongPassword:
      return Failure(
        failure.kind,
        "This \(what) unlocks no space of this store. Use another key, the password or the recovery key."
      )
    case .passwordInUse:
      return Failure(
        failure.kind,
        "This \(what) unlocks a space of this store already. "
          + "With another password besides it, it unlocks another space.")
    default: return failure
    }
  }
}
