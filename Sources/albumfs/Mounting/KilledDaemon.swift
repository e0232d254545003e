import ControlProtocol
import Glibc
import Posix

/// A daemon that was killed while one of its threads waited in the kernel for pages that only the daemon
/// could have written. That thread cannot end, so the kernel keeps the connection, the store stays locked
/// and every call on the mount hangs. Aborting the connection (`fusectl`) releases all of them.
enum KilledDaemon {
  private static let connections = "/sys/fs/fuse/connections"
  /// How long the rest of the process may take to end.
  private static let patience = Duration.seconds(10)

  /// Aborts the connection of a mount if the first thread of its daemon has ended but the process has not.
  /// Leaves every other mount alone. Afterwards the mount is dead.
  static func release(_ mount: MountEntry) throws(Failure) {
    guard let daemon = ControlClient.daemon(of: mount), ProcessState.isZombie(daemon.pid) else {
      return
    }
    if geteuid() == 0 { mountControl() }
    let path = "\(connections)/\(mount.device.minor)/abort"
    do throws(Errno) {
      try FileDescriptor(open: path, O_WRONLY).writeAll([UInt8(ascii: "1")])
    } catch {
      throw Failure(
        .unreachable,
        "The daemon of \(mount.mountPoint) was killed and cannot end, and \(path) cannot be written "
          + "(\(error)). As root: mount -t fusectl none \(connections), then echo 1 > \(path)")
    }
    let deadline = MonotonicTime.now + patience
    while ProcessState.isZombie(daemon.pid), MonotonicTime.now < deadline {
      usleep(10_000)
    }
  }

  private static func mountControl() {
    if MountTable.mount(at: connections) != nil { return }
    _ = unsafe mount("none", connections, "fusectl", 0, nil)
  }
}
