import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import FoundationEssentials
import Posix

/// Unlocks a space for the gallery, which holds no keys: finds the mount of the space that the password
/// unlocks, or mounts it. Only albumfs-gallery starts it, with the password on standard input.
struct SessionCommand: ParsableCommand {
  static let name = "session"
  static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

  @Argument(help: "The store's directory; with --mounted, that of the only store to look at.")
  var store: String?

  @Argument(help: "An empty directory, for a space that is not mounted.")
  var mountpoint: String?

  @Flag(help: "Look only at what this user has mounted.")
  var mounted = false

  @Flag(help: "Change nothing.")
  var readOnly = false

  @Flag(help: "The only source of the password.")
  var passwordStdin = false

  func validate() throws {
    if !mounted, store == nil { throw ValidationError("Give a store, or --mounted.") }
    if mounted == (mountpoint != nil) { throw ValidationError("Give a mount point.") }
  }

  func run() throws {
    if mounted, let store { return try DistantTrial.work(on: store) }
    ProcessSetup.protectMemory()
    let password = try PasswordInput.existing(.standardInput, prompt: "")
    let found = mounted ? try inMounts(password) : try inStore(password)
    Terminal.result(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
  }

  /// Tries all mounted stores, also after the right one, so that the time reveals nothing. Stores on other
  /// machines are tried by other processes, so that none that is silent delays a login to another one.
  private func inMounts(_ password: borrowing SecretBytes) throws(Failure) -> GalleryMount {
    var stores: [String] = []
    for mount in try MountPath.table().spaces where mount.user == Credentials.user {
      if let store = ControlClient.store(of: mount), !stores.contains(store) {
        stores.append(store)
      }
    }
    let isDistant = { DistantStores([$0]) != nil }
    let trials = stores.filter(isDistant).compactMap(DistantTrial.init)
    var found: GalleryMount?
    for store in stores where !isDistant(store) {
      found = found ?? SessionCommand.mount(in: store, unlockedBy: password)
    }
    for trial in trials {
      let other = trial.result(of: password)
      found = found ?? other
    }
    if let found { return found }
    throw Failure(.wrongPassword, "The password unlocks nothing that is mounted.")
  }

  /// The mount of the space of a store that a password unlocks; nil if it unlocks none that is mounted.
  static func mount(in path: String, unlockedBy password: borrowing SecretBytes) -> GalleryMount? {
    guard let store = try? StoreCommands.open(path),
      let keys = try? store.unlock(password: password)
    else { return nil }
    return mount(of: keys.memoryName)
  }

  /// Mounts first, which derives the keys once. Only a space that is mounted already takes a second time.
  private func inStore(_ password: borrowing SecretBytes) throws -> GalleryMount {
    let words = [store!, mountpoint!, "--quiet"] + (readOnly ? ["--read-only"] : [])
    let mount = try Mount.parse(words)
    let path = MountPath.resolve(store!)
    do throws(Failure) {
      let point = MountPath.resolve(mountpoint!)
      try mount.mount(store: path, at: point, password)
      return GalleryMount(mountPoint: point, isNew: true)
    } catch {
      if error.kind != .storeInUse { throw error }
      let store = try StoreCommands.open(path)
      let keys = try StoreCommands.reporting { () throws(StoreError) in
        try store.unlock(password: password)
      }
      guard let found = SessionCommand.mount(of: keys.memoryName, in: path) else { throw error }
      return found
    }
  }

  /// The mount of a space whose daemon is this user's. A copy of a store has the same spaces, so `store` says
  /// which one is meant; nil: any.
  private static func mount(of space: String, in store: String? = nil) -> GalleryMount? {
    ControlClient.firstDaemon { client, device -> GalleryMount? in
      guard case .done(let summary)? = try? client.ask(.serves(space: space)), summary.count == 1,
        let mount = try? MountPath.table().spaces.last(where: { $0.device == device }),
        store == nil || ControlClient.store(of: mount).map(MountPath.resolve) == store
      else { return nil }
      return GalleryMount(mountPoint: mount.mountPoint, isNew: false)
    }
  }
}
