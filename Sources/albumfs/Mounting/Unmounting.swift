import ControlProtocol
import Glibc
import Posix

/// Removes mounts: as root with umount2(2), otherwise with fusermount3.
enum Unmounting {
  enum Outcome { case done, busy }

  /// Unmounts. With `lazy` the mount leaves the tree at once and ends when its last file is closed.
  /// Removes a mount point that albumfs made.
  static func unmount(_ mountPoint: String, lazy: Bool) throws(Failure) -> Outcome {
    let outcome =
      geteuid() == 0 ? try bySystemCall(mountPoint, lazy) : try byHelper(mountPoint, lazy)
    if outcome == .done, MountTable.mount(at: mountPoint) == nil {
      MadeDirectory.remove(mountPoint)
    }
    return outcome
  }

  /// Clears what a killed daemon left at a mount point; returns true if there was anything.
  static func clearDead(at mountPoint: String) throws(Failure) -> Bool {
    var cleared = false
    while let mount = try MountPath.table().mount(at: mountPoint),
      mount.isSpace
    {
      try KilledDaemon.release(mount)
      if !MountLife.isDead(mount) { break }
      try clear(mount)
      cleared = true
    }
    return cleared
  }

  /// Removes a dead mount and what its daemon left.
  static func clear(_ mount: MountEntry) throws(Failure) {
    _ = try unmount(mount.mountPoint, lazy: true)
    ControlClient.cleanUp(after: mount)
  }

  private static func bySystemCall(_ mountPoint: String, _ lazy: Bool) throws(Failure) -> Outcome {
    do throws(Errno) { try PathCalls.unmount(mountPoint, lazy: lazy) } catch {
      if error == .busy { return .busy }
      throw Failure(.other, "\(mountPoint) cannot be unmounted: \(error)")
    }
    return .done
  }

  private static func byHelper(_ mountPoint: String, _ lazy: Bool) throws(Failure) -> Outcome {
    guard let helper = Subprocess.fusermount() else {
      throw Failure(
        .fuse, "fusermount3 is not installed; only root can unmount without it (package fuse3).")
    }
    let code: Int32
    let complaint: String
    do throws(Errno) {
      (code, complaint) = try Subprocess.run(
        [helper, lazy ? "-uz" : "-u", "--", mountPoint], environment: Subprocess.plainEnvironment)
    } catch {
      throw Failure(.fuse, "fusermount3 cannot be run: \(error)")
    }
    if code == 0 { return .done }
    if complaint.contains("busy") { return .busy }
    throw Failure(.other, complaint.isEmpty ? "fusermount3 failed with code \(code)." : complaint)
  }
}
