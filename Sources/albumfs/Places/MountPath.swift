import AlbumModel
import ControlProtocol
import Glibc
import ObjectStores
import Posix

/// Finds the mount of a path. It asks the kernel's table and not the mount, so it also finds a mount whose
/// daemon is dead or hangs.
enum MountPath {
  /// The mounted space that a path lies in, and the path relative to its mount point (empty: the mount point
  /// itself).
  static func find(_ path: String) throws(Failure) -> (mount: MountEntry, inside: String) {
    let absolute = resolve(path)
    guard let mount = try table().space(holding: absolute) else {
      throw noMount(path, absolute)
        ?? Failure(
          .noSuchMount, "\(path) is in no mounted space of albumfs.")
    }
    let inside = absolute.dropFirst(mount.mountPoint.count).drop { $0 == "/" }
    return (mount, String(inside))
  }

  /// Finds the space of one of several paths, where the command says in which order they come. Recognises the
  /// wrong order: `other` lies in a space then, and `path` does not.
  static func find(
    _ path: String, not other: String, _ order: String
  ) throws(Failure) -> (mount: MountEntry, inside: String) {
    do throws(Failure) { return try find(path) } catch {
      guard error.kind == .noSuchMount, try table().space(holding: resolve(other)) != nil else {
        throw error
      }
      throw Failure(.usage, "\(other) lies in a mounted space, and \(path) in none. \(order)")
    }
  }

  /// The failure of a command on a mount that got a store; nil if the path is no store.
  static func noMount(_ path: String, _ absolute: String) -> Failure? {
    guard PathCalls.exists(absolute + "/albumfs.conf") else { return nil }
    return Failure(
      .noSuchMount,
      "\(path) is a store. Give the directory on which it is mounted (see albumfs list).")
  }

  static func table() throws(Failure) -> MountTable {
    do throws(Errno) { return try MountTable.current() } catch {
      throw Failure(.other, "/proc/self/mountinfo cannot be read: \(error)")
    }
  }

  /// A path in the spelling of the kernel's table: absolute, without symbolic links as far as they can be
  /// resolved, without `.` and `..`. Missing parts stay as written.
  static func resolve(_ path: String) -> String {
    // The address of a bucket is no path.
    if path.hasPrefix(S3Place.scheme) { return path }
    let absolute = path.hasPrefix("/") ? path : currentDirectory() + "/" + path
    if let real = realPath(absolute) { return real }
    // The last part is missing or is a dead mount: resolve the part before it.
    let parts = absolute.split(separator: "/").filter { $0 != "." }
    guard let last = parts.last else { return "/" }
    let parent = resolve("/" + parts.dropLast().joined(separator: "/"))
    if last == ".." { return dropLast(parent) }
    return parent == "/" ? "/\(last)" : "\(parent)/\(last)"
  }

  /// realpath(3); nil if part of the path is missing or inaccessible.
  static func realPath(_ path: String) -> String? { try? PathCalls.real(path) }

  private static func dropLast(_ path: String) -> String {
    let parts = path.split(separator: "/").dropLast()
    return "/" + parts.joined(separator: "/")
  }

  private static func currentDirectory() -> String { PathCalls.currentDirectory ?? "/" }
}

extension MountTable {
  /// The mounted spaces.
  var spaces: [MountEntry] { mounts(ofType: FileSystemType.albumfs) }

  /// The mounted space that an absolute path lies in; nil if another file system is mounted in between.
  func space(holding path: String) -> MountEntry? {
    mount(ofType: FileSystemType.albumfs, holding: path)
  }
}

extension MountEntry {
  var isSpace: Bool { type == FileSystemType.albumfs }

  /// True for the autofs of systemd's automount, over which systemd mounts a space when a program enters it.
  var isAutomount: Bool { type == "autofs" }

  /// True if the caller mounted it, or is root.
  var isOurs: Bool { geteuid() == 0 || user == getuid() }
}
