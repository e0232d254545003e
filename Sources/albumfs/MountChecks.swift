import ControlProtocol
import Glibc
import Posix

/// What is looked at before a password is asked for, so that nobody types one in vain.
enum MountChecks {
  /// The mount point must be an empty directory on which nothing of albumfs is mounted, apart from
  /// the store. A dead mount there is cleared. Answers the resolved path.
  static func prepareMountPoint(_ path: String, store: String) throws(Failure) -> String {
    let resolved = MountPath.resolve(path)
    if try Unmounting.clearDead(at: resolved) {
      Terminal.complain("cleared the dead mount on \(resolved)")
    }
    if let mount = try MountPath.table().mount(at: resolved),
      mount.type == MountTable.fileSystemType
    {
      throw Failure(.mountPoint, "\(path) is busy: \(mount.store) is mounted there already.")
    }
    try requireEmptyDirectory(resolved, as: path)
    if resolved.lies(in: store) {
      throw Failure(.mountPoint, "The mount point \(path) lies in the store.")
    }
    if store.lies(in: resolved) {
      throw Failure(.mountPoint, "The mount point \(path) contains the store.")
    }
    return resolved
  }

  private static func requireEmptyDirectory(_ path: String, as given: String) throws(Failure) {
    let names: [String]
    do throws(Errno) { names = try PosixDirectory(path: path).list("") } catch {
      switch error {
      case .noEntry: throw Failure(.mountPoint, "The mount point \(given) does not exist.")
      case .notDirectory: throw Failure(.mountPoint, "The mount point \(given) is no directory.")
      default: throw Failure(.mountPoint, "The mount point \(given) cannot be used: \(error)")
      }
    }
    if !names.isEmpty {
      throw Failure(.mountPoint, "The mount point \(given) is not empty.")
    }
  }

  /// What a mount needs of the system: the FUSE device, and the helper for all but root.
  static func requireFUSE(allowOther: Bool) throws(Failure) {
    if unsafe access("/dev/fuse", F_OK) != 0 {
      throw Failure(
        .fuse,
        "There is no /dev/fuse. Load the kernel module (modprobe fuse); a container needs --device /dev/fuse."
      )
    }
    if geteuid() == 0 { return }
    if Subprocess.find("fusermount3") == nil {
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
