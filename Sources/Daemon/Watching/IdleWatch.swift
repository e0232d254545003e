import AlbumModel
import FUSEDriver
import Logging
import Posix

/// Unmounts a space that nobody has used for a time. The kernel refuses while a file or a directory of the
/// mount is open or a program works in it, and the watch tries again.
enum IdleWatch {
  /// Watches until the process ends.
  static func start(_ mount: FUSEDriver.Mount, after limit: Duration, _ logger: Logger) {
    do throws(Errno) {
      try PosixThread(name: "idle") { watch(mount, limit) }.detach()
    } catch {
      logger.warning("the space will not be unmounted when it is idle: \(error)")
    }
  }

  private static func watch(_ mount: FUSEDriver.Mount, _ limit: Duration) {
    // So often that the unmount comes at most a tenth late.
    let step = max(100, min(limit.milliseconds / 10, 10_000))
    var last = MonotonicTime.now
    while true {
      SystemClock.sleep(milliseconds: UInt32(step))
      if mount.takeUse() { last = .now }
      if MonotonicTime.now - last >= limit { mount.stopIfUnused() }
    }
  }
}
