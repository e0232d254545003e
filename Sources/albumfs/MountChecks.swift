import ControlProtocol
import Glibc
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
      throw Failure(.mountPoint, "\(path) is busy: \(mount.source) is mounted there already.")
    }
    if resolved.lies(in: store) {
      throw Failure(.mountPoint, "The mount point \(path) lies in the store.")
    }
    if store.lies(in: resolved) {
      throw Failure(.mountPoint, "The mount point \(path) contains the store.")
    }
    return resolved
  }

  /// Checks what a mount needs of the system: the FUSE device, and for ordinary users the helper.
  static func requireFUSE(allowOther: Bool) throws(Failure) {
    if !PathCalls.exists("/dev/fuse") {
      throw Failure(
        .fuse,
        "There is no /dev/fuse. Load the kernel module (modprobe fuse); a container needs --device /dev/fuse."
      )
    }
    if geteuid() == 0 { return }
    if Subprocess.fusermount() == nil {
      throw Failure(
        .fuse, "fusermount3 is not installed; only root can mount without it (package fuse3).")
    }
    if allowOther, !isAllowOtherAllowed() {
      throw Failure(
        .fuse, "--allow-other needs the line user_allow_other in /etc/fuse.conf.")
    }
  }

  private static func isAllowOtherAllowed() -> Bool {
    let text = String(decoding: (try? readWholeFile("/etc/fuse.conf")) ?? [], as: UTF8.self)
    return text.split(separator: "\n").contains {
      $0.split(separator: " ").first == "user_allow_other"
    }
  }
}
