internal import CLinux
internal import Glibc

/// A directory that stays reachable when something is mounted over it. Its owner sees what lies in it, and
/// can change its permissions, although its path leads into the mount.
package struct HeldDirectory: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  package init(_ path: String) throws(Errno) {
    descriptor = try FileDescriptor(open: path, O_RDONLY | O_DIRECTORY)
  }

  /// A path to the directory itself, valid in this process while this value lives.
  package var path: String { "/proc/self/fd/\(descriptor.rawValue)" }

  /// True if the process's user owns it.
  package var isOwn: Bool {
    get throws(Errno) { try descriptor.status().st_uid == geteuid() }
  }

  /// True if nothing may be created in it, root apart.
  package var isClosed: Bool {
    get throws(Errno) { try descriptor.status().st_mode & 0o222 == 0 }
  }

  /// Removes all rights to write.
  package func close() throws(Errno) {
    let mode = try descriptor.status().st_mode & 0o7777
    if mode & 0o222 != 0 { try change(mode & ~0o222) }
  }

  /// Lets its owner write again.
  package func reopen() throws(Errno) {
    let mode = try descriptor.status().st_mode & 0o7777
    if mode & 0o200 == 0 { try change(mode | 0o200) }
  }

  /// Returns when all entries that were made and removed before are on disk.
  package func synchronize() throws(Errno) { try descriptor.synchronize() }

  private func change(_ mode: mode_t) throws(Errno) {
    try retrying { fchmod(descriptor.rawValue, mode) }
  }
}

/// A directory that albumfs made to mount on. An extended attribute marks it, so that whoever unmounts can
/// remove it, also after the daemon was killed. A directory without the mark is the user's and stays.
package enum MadeDirectory {
  private static let mark = "user.albumfs.mountpoint"

  /// Makes a directory that nobody else may look into. Where the disk keeps no marks, it stays.
  package static func make(_ path: String) throws(Errno) {
    try PathCalls.makePrivateDirectory(path)
    unsafe _ = clinux_set_attribute(path, mark, "1", 1)
  }

  /// Removes the directory if it has the mark and is empty.
  package static func remove(_ path: String) {
    if unsafe clinux_attribute(path, mark, nil, 0) < 0 { return }
    unsafe _ = rmdir(path)
  }
}
