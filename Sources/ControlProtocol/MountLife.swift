internal import CLinux
internal import Glibc
package import Posix

/// Finds out whether a daemon still serves a mount.
package enum MountLife {
  /// The daemon of a mount that does not reply for this long hangs.
  private static let patience = Duration.seconds(5)

  /// True if the kernel reports that no process serves the mount any more, so that every call on it fails
  /// with ENOTCONN. The daemon's socket does not show that. If the daemon hangs, it blocks only a thread of
  /// its own here.
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

  /// The kernel replies only to the user who mounted the space, not even to root. So a thread of root becomes
  /// that user; only this thread changes, and for good.
  private static func ask(_ mount: MountEntry) -> Bool {
    if geteuid() == 0, let user = mount.user, user != 0 {
      _ = clinux_become(user, mount.group ?? user)
    }
    var status = statvfs()
    return unsafe statvfs(mount.mountPoint, &status) != 0 && errno == ENOTCONN
  }
}
