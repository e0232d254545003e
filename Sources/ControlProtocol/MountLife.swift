internal import CLinux
internal import Glibc
package import Posix

/// Asks a mount itself whether anybody serves it.
package enum MountLife {
  /// A mount that says nothing for so long is served by a daemon that hangs.
  private static let patience = Duration.seconds(5)

  /// True where the kernel says that nobody serves the mount any more: then every call on it fails with
  /// ENOTCONN. That its daemon does not answer on its socket says nothing. A daemon that hangs hangs a
  /// thread of its own at most.
  package static func isDead(_ mount: MountEntry) -> Bool {
    let answer = Monitor(Bool?.none, rank: .leaf)
    let thread = try? PosixThread(name: "mount-life") {
      let isDead = ask(mount)
      answer.withLock { $0 = isDead }
      answer.notifyAll()
    }
    guard let thread else { return false }
    thread.detach()
    let deadline = MonotonicTime.now + patience
    return answer.waiting(until: deadline) { $0 } ?? false
  }

  /// The kernel answers nobody but who mounted it, root neither, so root's thread becomes that user: the
  /// thread alone, and for good.
  private static func ask(_ mount: MountEntry) -> Bool {
    if geteuid() == 0, let user = mount.user, user != 0 {
      _ = clinux_become(user, mount.group ?? user)
    }
    var status = statvfs()
    return unsafe statvfs(mount.mountPoint, &status) != 0 && errno == ENOTCONN
  }
}
