import ControlProtocol
import Posix

/// From a path as typed to the mount that it lies in. A mount whose daemon is dead or hangs is
/// found as well: the kernel's table says, not the mount.
enum MountPath {
  /// The mount of albumfs that a path lies in, and the path relative to its mount point (empty: the
  /// mount point itself).
  static func find(_ path: String) throws(Failure) -> (mount: MountEntry, inside: String) {
    let absolute = resolve(path)
    guard let mount = try table().space(holding: absolute) else {
      throw Failure(.noSuchMount, "\(path) is in no mounted space of albumfs.")
    }
    let inside = absolute.dropFirst(mount.mountPoint.count).drop { $0 == "/" }
    return (mount, String(inside))
  }

  static func table() throws(Failure) -> MountTable {
    do throws(Errno) { return try MountTable.current() } catch {
      throw Failure(.other, "/proc/self/mountinfo cannot be read: \(error)")
    }
  }

  /// A path as the kernel's table would spell it: absolute, no symbolic link on the way as far as
  /// that can be told, no `.` and `..`. What does not exist stays as it is written.
  static func resolve(_ path: String) -> String {
    let absolute = path.hasPrefix("/") ? path : currentDirectory() + "/" + path
    if let real = realPath(absolute) { return real }
    // The end of it is missing, or is a dead mount: resolve what stands before.
    let parts = absolute.split(separator: "/").filter { $0 != "." }
    guard let last = parts.last else { return "/" }
    let parent = resolve("/" + parts.dropLast().joined(separator: "/"))
    if last == ".." { return dropLast(parent) }
    return parent == "/" ? "/\(last)" : "\(parent)/\(last)"
  }

  /// realpath(3): nil where something on the way is missing or does not answer.
  static func realPath(_ path: String) -> String? { try? PathCalls.real(path) }

  private static func dropLast(_ path: String) -> String {
    let parts = path.split(separator: "/").dropLast()
    return "/" + parts.joined(separator: "/")
  }

  private static func currentDirectory() -> String { PathCalls.currentDirectory ?? "/" }
}
