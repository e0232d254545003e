import ControlProtocol
import Posix

/// Checks before the command asks for a password, so that nobody types one in vain.
enum MountChecks {
  /// Clears a dead mount at the mount point, and refuses a mount point that lies in the store or contains it.
  /// Returns the resolved path. `LaunchOptions.check` checks the rest.
  static func prepareMountPoint(_ path: String, store: String) throws(Failure) -> String {
    let resolved = MountPath.resolve(path)
    if try Unmounting.clearDead(at: resolved) {
      Terminal.complain("cleared the dead mount on \(resolved)")
    }
    if let mount = try MountPath.table().mount(at: resolved) {
      let what = mount.isSpace ? ControlClient.store(of: mount) ?? "a space" : mount.source
      throw Failure(.mountPoint, "\(path) is busy: \(what) is mounted there already.")
    }
    if resolved.lies(in: store) {
      throw Failure(.mountPoint, "The mount point \(path) lies in the store.")
    }
    if store.lies(in: resolved) {
      throw Failure(.mountPoint, "The mount point \(path) contains the store.")
    }
    return resolved
  }
}
