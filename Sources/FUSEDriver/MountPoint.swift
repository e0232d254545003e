internal import Glibc
internal import Posix

/// A directory that can be mounted on: empty, and not a mount point yet.
package struct MountPoint: Equatable, Sendable {
  /// Absolute and without links, because the daemon works in `/`, and the mount table shows it so.
  package let path: String

  package init(_ path: String) throws(MountError) {
    let names = try MountPoint.names(in: path)
    guard let resolved = unsafe realpath(path, nil) else {
      throw MountPoint.error(.last, path)
    }
    defer { unsafe free(resolved) }
    self.path = unsafe String(cString: resolved)
    if MountTable.mount(at: self.path) != nil {
      throw MountError(.mountPointBusy, "Something is mounted on \(path) already.")
    }
    if !names.isEmpty {
      throw MountError(
        .mountPointNotEmpty, "\(path) is not empty: choose an empty directory to mount on.")
    }
  }

  private static func names(in path: String) throws(MountError) -> [String] {
    do throws(Errno) {
      return try PosixDirectory(path: path).list("")
    } catch {
      throw MountPoint.error(error, path)
    }
  }

  private static func error(_ error: Errno, _ path: String) -> MountError {
    switch error {
    case .noEntry:
      MountError(.mountPointMissing, "\(path) does not exist: make that directory first.")
    case .notDirectory: MountError(.mountPointNotDirectory, "\(path) is not a directory.")
    case .notConnected:
      MountError(
        .mountPointDead, "\(path) is a mount whose daemon is gone: clear it with albumfs umount.")
    case .accessDenied, .notPermitted:
      MountError(.mountPointNotPermitted, "\(path) cannot be entered: \(error).")
    default: MountError(.refused, "\(path): \(error).")
    }
  }
}
