import ControlProtocol
import FUSEDriver
import Posix

// Errors of a mount, in words. They name options and commands, which the driver does not know.

extension Failure {
  /// `store`: the one that was to be mounted.
  init(_ error: MountError, store: String? = nil) {
    self.init(Kind(error), error.sentence(store))
  }
}

extension Failure.Kind {
  fileprivate init(_ error: MountError) {
    self =
      switch error {
      case .unknownOption, .badID: .usage
      case .mountPoint: .mountPoint
      default: .fuse
      }
  }
}

extension MountError {
  fileprivate func sentence(_ store: String?) -> String {
    switch self {
    case .noDevice:
      "There is no /dev/fuse. Load the kernel module (modprobe fuse); a container needs --device /dev/fuse."
    case .deviceRefused(let error): "/dev/fuse cannot be opened: \(error)."
    case .noFusermount:
      "fusermount3 is not installed; only root can mount without it (package fuse3)."
    case .allowOtherNotPermitted: "--allow-other needs the line user_allow_other in /etc/fuse.conf."
    case .mountPoint(let path, let fault): fault.sentence(of: path, store)
    case .unknownOption("nonempty"):
      "The option nonempty is not supported: choose an empty directory to mount on."
    case .unknownOption(let word):
      """
      Unknown mount option "\(word)". Known are ro, rw, allow_other, suid, nosuid, dev, nodev, exec, \
      noexec, sync, async, dirsync, atime, noatime, diratime, nodiratime, symfollow, nosymfollow, acl, \
      uid=USER, gid=GROUP, fsname=NAME. In fstab also albumfs' own: \
      \((LaunchOptions.valuedWords.map { $0 + "=" } + LaunchOptions.flagWords).joined(separator: ", ")).
      """
    case .badID(let word):
      """
      "\(word)" is not a mount option: uid= and gid= take the name or the number of a user or group, and this \
      is none (id shows yours).
      """
    case .mountRefused(let path, let error): "The kernel refused to mount on \(path): \(error)."
    case .unmountRefused(let path, let error): "\(path) cannot be unmounted: \(error)."
    case .fusermountFailed(""): "fusermount3 failed and printed no message."
    case .fusermountFailed(let words): "fusermount3 failed: \(words)"
    case .systemRefused(let action, let error): "albumfs cannot \(action): \(error)."
    case .noRing(let fault):
      """
      --transport uring is not possible: \(fault.phrase). Without this option albumfs uses io_uring only \
      where it can.
      """
    case .sessionFailed(let action, let words):
      "libfuse could not \(action)\(words.isEmpty ? "." : ": \(words)")"
    }
  }
}

extension RingFault {
  /// A part of a sentence.
  var phrase: String {
    switch self {
    case .unknownToKernel: "this kernel has no FUSE over io_uring (Linux 6.14 and later do)"
    case .switchedOff:
      "FUSE over io_uring is switched off (root switches it on with albumfs-enable-uring, or "
        + "scripts/enable-uring of the sources)"
    case .unavailable(.noMemory):
      "the rings need more locked memory than this user may have (ulimit -l)"
    case .unavailable(.notPermitted):
      "io_uring is forbidden here (sysctl kernel.io_uring_disabled, or the rules of a container)"
    case .unavailable(let error): "a ring cannot be made: \(error)"
    case .refused(let error): "the kernel refused the rings: \(error)"
    }
  }
}

extension MountPointFault {
  fileprivate func sentence(of path: String, _ store: String?) -> String {
    switch self {
    case .missing: "\(path) does not exist: make that directory first."
    case .notDirectory: "\(path) is not a directory."
    case .notEmpty(let names):
      """
      \(path) is not empty. It holds \(names.inWords), which \(names.count == 1 ? "was" : "were") written while \
      nothing was mounted. \(names.count == 1 ? "It is" : "They are") NOT encrypted. Choose another directory, \
      or move what is in this one into the space: albumfs adopt \(ShellWord.quoted(path))\
      \(store.map { " " + ShellWord.quoted($0) } ?? "")
      """
    case .busy: "Something is mounted on \(path) already."
    case .dead: "\(path) is a mount whose daemon is gone: clear it with albumfs umount."
    case .notPermitted(let error): "\(path) cannot be entered: \(error)."
    case .notOwned: "\(path) is not yours to mount on: choose a directory of your own."
    case .unusable(let error): "\(path) cannot be a mount point: \(error)."
    }
  }
}

extension [String] {
  /// `a, b, c and 4 more`.
  fileprivate var inWords: String {
    let shown = prefix(count == 4 ? 4 : 3).map(\.printable).joined(separator: ", ")
    return count > 4 ? "\(shown) and \(count - 3) more" : shown
  }
}
