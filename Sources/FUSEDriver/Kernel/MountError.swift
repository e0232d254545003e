package import Posix

/// Why a mount or an unmount failed. The front end makes sentences of it.
package enum MountError: Error, Equatable, Sendable {
  /// There is no /dev/fuse: the kernel has no FUSE, or its module is not loaded.
  case noDevice
  /// /dev/fuse cannot be opened.
  case deviceRefused(Errno)
  /// fusermount3 is missing. An ordinary user mounts with this program.
  case noFusermount
  /// `allow_other` by an ordinary user needs `user_allow_other` in /etc/fuse.conf.
  case allowOtherNotPermitted
  case mountPoint(String, MountPointFault)
  /// A mount option that is not supported.
  case unknownOption(String)
  /// A `uid=` or `gid=` whose value is neither the number nor the name of one.
  case badID(String)
  /// The kernel refused to mount on this path.
  case mountRefused(String, Errno)
  /// The kernel refused to unmount this path.
  case unmountRefused(String, Errno)
  /// fusermount3 failed with this message; empty if it printed none.
  case fusermountFailed(String)
  /// A call to the system failed. The text is the attempted action, such as "start a thread".
  case systemRefused(String, Errno)
  /// The mount must use io_uring, and cannot.
  case noRing(RingFault)
  /// libfuse could not start or continue. `action` is what it attempted, `words` its last message.
  case sessionFailed(action: String, words: String)
}

/// Why a path cannot be a mount point.
package enum MountPointFault: Equatable, Sendable {
  case missing, notDirectory
  /// It holds these names.
  case notEmpty([String])
  /// Something is mounted there already.
  case busy
  /// A file system is mounted there whose daemon is gone.
  case dead
  /// The user may not enter it.
  case notPermitted(Errno)
  /// An ordinary user may mount only on directories of their own.
  case notOwned
  /// The kernel returned another error for the path.
  case unusable(Errno)
}
