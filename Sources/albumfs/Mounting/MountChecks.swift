import AlbumStore
import ControlProtocol
import Posix

/// Checks before the command asks for a password, so that nobody types one in vain.
enum MountChecks {
  /// Clears a dead mount at the mount point, and refuses a mount point that lies in the store or contains it.
  /// Both paths are resolved. `LaunchOptions.check` checks the rest.
  static func prepareMountPoint(_ path: String, store: String) throws(Failure) {
    if try Unmounting.clearDead(at: path) {
      Terminal.complain("cleared the dead mount on \(path)")
    }
    if let mount = try MountPath.table().mount(at: path), !mount.isAutomount { throw busy(mount) }
    if let mount = try MountPath.table().space(holding: path) {
      throw Failure(
        .mountPoint,
        "\(path) lies in the space that is mounted on \(mount.mountPoint). Choose a directory outside of it."
      )
    }
    if path.lies(in: store) {
      throw Failure(.mountPoint, "The mount point \(path) lies in the store.")
    }
    if store.lies(in: path) {
      throw Failure(.mountPoint, "The mount point \(path) contains the store.")
    }
  }

  /// Opens the store. Recognises a store and a mount point in the wrong order.
  static func openStore(of plan: MountPlan) throws(Failure) -> Store {
    do throws(Failure) { return try StoreCommands.open(plan.store) } catch {
      let isSwapped =
        error.kind == .storeMissing
        && PathCalls.exists(plan.mountPoint + "/" + StorePath.configuration)
      if !isSwapped { throw error }
      let words = [plan.mountPoint, plan.store].map(UserConfiguration.shellWord)
      throw Failure(
        .usage,
        "\(plan.mountPoint) is the store, and the store comes first: "
          + "albumfs mount \(words.joined(separator: " "))")
    }
  }

  private static func busy(_ mount: MountEntry) -> Failure {
    let path = mount.mountPoint
    if !mount.isSpace {
      return Failure(.mountPoint, "\(path) is busy: \(mount.source) is mounted there already.")
    }
    let process = ControlClient.daemon(of: mount).map { " (process \($0.pid))" } ?? ""
    return Failure(
      .mountPoint,
      "A space is mounted there already: on \(path)\(process). To unmount it: "
        + "albumfs umount \(ShellWord.quoted(path))"
    )
  }
}
