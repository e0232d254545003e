internal import Posix

/// A directory that can be mounted on: empty, and not a mount point yet.
package struct MountPoint: Equatable, Sendable {
  /// Absolute and without links, because the daemon works in `/`, and the mount table shows it so.
  package let path: String

  package init(_ path: String, mayHoldFiles: Bool = false) throws(MountError) {
    let names = try MountPoint.names(in: path)
    do throws(Errno) { self.path = try PathCalls.real(path) } catch {
      throw MountPoint.error(error, path)
    }
    let mount = MountTable.mount(at: self.path)
    // The space covers the autofs of an automount, which waits for that.
    if let mount, mount.type != "autofs" { throw .mountPoint(path, .busy) }
    if !mayHoldFiles, !names.isEmpty { throw .mountPoint(path, .notEmpty(names.sorted())) }
  }

  private static func names(in path: String) throws(MountError) -> [String] {
    do throws(Errno) {
      return try PlainFiles.names(in: path)
    } catch {
      throw MountPoint.error(error, path)
    }
  }

  private static func error(_ error: Errno, _ path: String) -> MountError {
    let fault: MountPointFault =
      switch error {
      case .noEntry: .missing
      case .notDirectory: .notDirectory
      case .notConnected: .dead
      case .accessDenied, .notPermitted: .notPermitted(error)
      default: .unusable(error)
      }
    return .mountPoint(path, fault)
  }
}
