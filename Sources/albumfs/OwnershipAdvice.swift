import ArgumentParser
import ControlProtocol
import Posix

/// A command on a store.
protocol StoreCommand: ParsableCommand {
  /// nil if neither its arguments nor the user's settings name one.
  var namedStore: String? { get }
  /// All stores, or directories for one, that it uses until it ends.
  var stores: [String] { get }
}

extension StoreCommand {
  var stores: [String] { namedStore.map { [$0] } ?? [] }
}

extension Mount: StoreCommand {
  var namedStore: String? { store ?? (try? UserConfiguration.read())?.entries.first?.store }
}
extension Init: StoreCommand { var namedStore: String? { store } }
extension Copy: StoreCommand {
  var namedStore: String? { store }
  var stores: [String] { [store, target] }
}
extension Check: StoreCommand { var namedStore: String? { store } }
extension SpaceAdd: StoreCommand { var namedStore: String? { store } }
extension SpacePassword: StoreCommand { var namedStore: String? { keys.store } }
extension SpaceAddKey: StoreCommand { var namedStore: String? { keys.store } }
extension SpaceRemoveKey: StoreCommand { var namedStore: String? { store } }
extension SpaceRecoveryKey: StoreCommand { var namedStore: String? { store } }
extension SpaceDestroy: StoreCommand { var namedStore: String? { store } }
extension ChaffAdd: StoreCommand { var namedStore: String? { store } }
extension ChaffStatus: StoreCommand { var namedStore: String? { store } }
extension Info: StoreCommand { var namedStore: String? { store } }

/// Advice for a user who may not use a store, or a file of it.
enum OwnershipAdvice {
  /// nil if the owner of the store cannot be found.
  static func sentence(for store: String, mayReadOnly: Bool) -> String? {
    guard let owner = PathCalls.owner(of: store) else { return nil }
    if owner == Credentials.user {
      return "Some of its files are not yours. Take them back: "
        + "sudo chown -R \(UserName.word(for: owner)): \(ShellWord.quoted(store))"
    }
    let name = UserName.of(owner)
    let word = ShellWord.quoted(store)
    let share =
      "let \(name), who owns it, share it with a group of both: chgrp -R GROUP \(word) and "
      + "chmod -R g+rwX \(word)"
    return mayReadOnly
      ? "Use --read-only, or \(share)" : share.prefix(1).uppercased() + share.dropFirst()
  }
}
