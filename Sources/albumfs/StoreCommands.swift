import AlbumFormat
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon

/// How much work it is to try a password. `interactive` is for tests, and no value without the
/// environment variable that lifts the floor.
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

/// What the commands on a store (not on a mount) have in common.
enum StoreCommands {
  static func open(_ path: String) throws(Failure) -> Store {
    try StoreOpening.open(MountPath.resolve(path))
  }

  /// Tells what is damaged in the store or was edited, and did not hinder.
  static func warn(of store: Store) {
    for warning in store.warnings + store.advice { Terminal.complain(warning) }
  }

  /// Runs what the core does and says its errors in our words. `changing`: it writes conf or keys.
  static func reporting<Result: ~Copyable>(
    changing: Bool = false, _ body: () throws(StoreError) -> Result
  ) throws(Failure) -> Result {
    do throws(StoreError) { return try body() } catch {
      throw Failure(error, changing: changing)
    }
  }
}
