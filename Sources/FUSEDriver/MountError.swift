/// Why a mount did not come about, told so that the person knows what to do.
package struct MountError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable, CaseIterable {
    /// There is no /dev/fuse: the kernel has no FUSE, or its module is not loaded.
    case noDevice
    /// /dev/fuse cannot be opened, and no fusermount3 can do it instead.
    case deviceNotPermitted
    /// An ordinary user mounts through the program fusermount3, which is not there.
    case noFusermount
    case mountPointMissing, mountPointNotDirectory, mountPointNotEmpty
    /// Something is mounted there already.
    case mountPointBusy
    /// A file system is mounted there whose daemon is gone.
    case mountPointDead
    /// The user may not make use of this mount point.
    case mountPointNotPermitted
    /// `allow_other` by an ordinary user needs `user_allow_other` in /etc/fuse.conf.
    case allowOtherNotPermitted
    case badOption
    /// The kernel or fusermount3 refused for another reason, which the message gives.
    case refused
    /// libfuse could not begin or go on; the message gives its last words.
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
