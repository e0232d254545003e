/// Why a mount failed; the message tells the user what to do.
package struct MountError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable, CaseIterable {
    /// There is no /dev/fuse: the kernel has no FUSE, or its module is not loaded.
    case noDevice
    /// /dev/fuse cannot be opened, and no fusermount3 can do it instead.
    case deviceNotPermitted
    /// An ordinary user mounts with the program fusermount3, which is missing.
    case noFusermount
    case mountPointMissing, mountPointNotDirectory, mountPointNotEmpty
    /// Something is mounted there already.
    case mountPointBusy
    /// A file system is mounted there whose daemon is gone.
    case mountPointDead
    /// The user may not use this mount point.
    case mountPointNotPermitted
    /// `allow_other` by an ordinary user needs `user_allow_other` in /etc/fuse.conf.
    case allowOtherNotPermitted
    case badOption
    /// The kernel or fusermount3 refused for another reason, which the message names.
    case refused
    /// libfuse could not start or continue; the message has its last output.
    case sessionFailed
  }
  package let code: Code
  /// A whole sentence for a person.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
