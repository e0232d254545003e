import AlbumFormat
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon

/// The cost of trying a password. `interactive` is for tests; it is valid only with the environment variable
/// that lifts the floor.
enum KDFArgument: String, ExpressibleByArgument {
  case interactive, moderate, sensitive

  init?(argument: String) {
    self.init(rawValue: argument)
    if self == .interactive, !SealingFloor.isLifted { return nil }
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

/// Shared by the commands on a store (not on a mount).
enum StoreCommands {
  static func open(_ path: String) throws(Failure) -> Store {
    try StoreOpening.open(MountPath.resolve(path))
  }

  /// Warns about damage and edits in the store that did not stop the command.
  static func warn(of store: Store) {
    for warning in store.warnings + store.advice { Terminal.complain(warning) }
  }

  /// Runs a call of the core and translates its errors. `changing`: the call writes the conf or keys.
  static func reporting<Result: ~Copyable>(
    changing: Bool = false, _ body: () throws(StoreError) -> Result
  ) throws(Failure) -> Result {
    do throws(StoreError) { return try body() } catch {
      throw Failure(error, changing: changing)
    }
  }
}
