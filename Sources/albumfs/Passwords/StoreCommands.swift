import AlbumFormat
import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon
import Glibc
import Posix

/// The cost of trying a password. `interactive` is for tests; it is valid only with the environment variable
/// that lifts the floor.
enum KDFArgument: String, ExpressibleByArgument {
  case interactive, moderate, sensitive

  init?(argument: String) {
    self.init(rawValue: argument)
    if self == .interactive, !TestHooks.allowsWeakPasswords { return nil }
  }

  static var allValueStrings: [String] { [moderate.rawValue, sensitive.rawValue] }

  var cost: KDFCost {
    switch self {
    case .interactive: .interactive
    case .moderate: .moderate
    case .sensitive: .sensitive
    }
  }
}

/// The cipher of a new space.
enum CipherArgument: ExpressibleByArgument {
  case auto
  case fixed(CipherKind)

  init?(argument: String) {
    if argument == "auto" {
      self = .auto
    } else if let kind = CipherKind(name: argument) {
      self = .fixed(kind)
    } else {
      return nil
    }
  }

  static var allValueStrings: [String] { ["auto"] + CipherKind.allCases.map(\.name) }

  static let help = ArgumentHelp(
    """
    What seals the space's files. auto takes the fastest cipher of this machine. Only machines with AES in \
    hardware, as nearly all since 2010, can read a space in aes-256-gcm.
    """, valueName: "cipher")

  /// Throws where this machine does not have it.
  func requireAvailable() throws {
    guard case .fixed(let kind) = self, !kind.isAvailable else { return }
    throw ValidationError(
      "This machine's processor has no instructions for \(kind.name). Use --cipher auto.")
  }

  var kind: CipherKind {
    switch self {
    case .auto: .fastest()
    case .fixed(let kind): kind
    }
  }
}

/// The options of a space that is to be made.
struct NewSpaceOptions: ParsableArguments {
  @Option(help: CipherArgument.help)
  var cipher = CipherArgument.auto

  @Option(
    help: ArgumentHelp("Longer edge of the thumbnails, in pixels.", valueName: "px"))
  var thumbnailSize = 512

  func validate() throws {
    guard (16...4096).contains(thumbnailSize) else {
      throw ValidationError("--thumbnail-size takes 16 to 4096 pixels.")
    }
    try cipher.requireAvailable()
  }

  /// With the user who runs the command as its owner.
  var options: SpaceOptions {
    SpaceOptions(thumbnailEdge: thumbnailSize, owner: getuid(), group: getgid())
  }
}

/// Shared by the commands on a store (not on a mount).
enum StoreCommands {
  static func open(_ path: String) throws(Failure) -> Store {
    try RemoteStores.open(MountPath.resolve(path))
  }

  /// Opens a store for a command that changes it; refuses one that can only be read.
  static func openToChange(_ path: String) throws(Failure) -> Store {
    let store = try open(path)
    try reporting { () throws(StoreError) in try store.requireChangeable() }
    return store
  }

  /// Warns about damage and edits in the store that did not stop the command.
  static func warn(of store: Store) {
    for warning in store.warnings { Terminal.complain(warning.sentence) }
  }

  /// Runs a call of the core and translates its errors. `changing` is true if the call writes the conf or
  /// keys.
  static func reporting<Result: ~Copyable>(
    changing: Bool = false, _ body: () throws(StoreError) -> Result
  ) throws(Failure) -> Result {
    do throws(StoreError) { return try body() } catch {
      throw Failure(error, changing: changing)
    }
  }
  /// The failure of a call that needs a space for itself. If the space is mounted, it says where.
  static func failure(
    _ error: StoreError, in store: String, space: () throws(StoreError) -> SpaceKeys
  ) -> Failure {
    guard error.code == .inUse, let keys = try? space() else { return Failure(error) }
    return SpaceHolder.failure(ofSpace: keys.memoryName, in: MountPath.resolve(store))
  }
}
