import ArgumentParser
import Posix

/// A command on a store.
protocol StoreCommand: ParsableCommand {
  var store: String { get }
}

extension Mount: StoreCommand {}
extension Check: StoreCommand {}
extension SpaceAdd: StoreCommand {}
extension SpacePassword: StoreCommand {}
extension SpaceRecoveryKey: StoreCommand {}
extension SpaceDestroy: StoreCommand {}
extension ChaffAdd: StoreCommand {}
extension ChaffStatus: StoreCommand {}
extension Info: StoreCommand {}

/// What a user can do who may not use a store, or a file of it.
enum OwnershipAdvice {
  /// nil if the owner of the store cannot be found.
  static func sentence(for store: String, mayReadOnly: Bool) -> String? {
    guard let owner = PathCalls.owner(of: store) else { return nil }
    if owner == Credentials.user {
      return "Some of its files are not yours. Take them back: "
        + "sudo chown -R \(Credentials.name(of: owner)): \(store)"
    }
    let name = Credentials.name(of: owner)
    let share =
      "let \(name), who owns it, share it with a group of both: chgrp -R GROUP \(store) and "
      + "chmod -R g+rwX \(store)"
    return mayReadOnly
      ? "Use --read-only, or \(share)" : share.prefix(1).uppercased() + share.dropFirst()
  }
}
