package import AlbumModel
internal import CLinux
internal import Glibc

/// Copies and compares single files for a command that moves plain files into a space.
package enum PlainFiles {
  /// Creates a file with the content, permissions, modification time and extended attributes of another.
  /// Leaves nothing if it fails.
  package static func copy(_ source: some SystemPath, to path: some SystemPath) throws(Errno) {
    do throws(PlainCopy.Fault) { _ = try PlainCopy.make(path, from: source) } catch {
      throw error.errno
    }
  }

  /// True if both files hold the same bytes. Drops the kernel's copy of the second one first, so that its
  /// content comes from the file system.
  package static func areEqual(
    _ first: some SystemPath, _ second: some SystemPath
  ) throws(Errno) -> Bool {
    do throws(PlainCopy.Fault) { return try PlainCopy.isEqual(first, second) } catch {
      throw error.errno
    }
  }

  /// The first bytes of a file, at most `count`.
  package static func head(of path: some SystemPath, atMost count: Int) throws(Errno) -> [UInt8] {
    let file = try FileDescriptor(open: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    return try file.bytes(count, at: 0)
  }

  /// symlink(2).
  package static func makeLink(to target: PlainPath, at path: PlainPath) throws(Errno) {
    let (target, path) = (target.cString, path.cString)
    try retrying { unsafe symlink(target, path) }
  }

  /// link(2): gives a file another name.
  package static func addName(_ path: PlainPath, of file: PlainPath) throws(Errno) {
    let (file, path) = (file.cString, path.cString)
    try retrying { unsafe link(file, path) }
  }

  /// Copies the attributes that users set, and the access control lists. Returns false if the file system
  /// refused an access control list.
  package static func copyAttributes(_ source: PlainPath, to path: PlainPath) -> Bool {
    PlainCopy.copyAttributes(source, to: path)
  }

  /// lgetxattr(2): the value of a short extended attribute; nil if there is none, or a longer one.
  package static func attribute(_ name: String, of path: PlainPath) -> [UInt8]? {
    var value = [UInt8](repeating: 0, count: 256)
    let path = path.cString
    let length = unsafe clinux_attribute(path, name, &value, UInt(value.count))
    return length < 0 ? nil : Array(value.prefix(length))
  }

  /// utimensat(2): sets the modification time of a file.
  package static func setTime(_ time: Timestamp, of path: PlainPath) throws(Errno) {
    try FileDescriptor(open: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY).setTimes(time)
  }

  /// mkdir(2), with the right to write for its owner.
  package static func makeDirectory(_ path: some SystemPath, permissions: UInt32) throws(Errno) {
    let path = path.cString
    try retrying { unsafe mkdir(path, permissions & 0o777 | 0o700) }
  }

  /// Throws `.exists` where the new name is taken.
  package static func rename(_ from: some SystemPath, to path: some SystemPath) throws(Errno) {
    let (from, to) = (from.cString, path.cString)
    do throws(Errno) { try retrying { unsafe clinux_rename_exclusive(from, to) } } catch {
      // Some file systems know no exclusive rename.
      if error != .invalid { throw error }
      if (try? PlainEntry(path)) != nil { throw .exists }
      try retrying { unsafe Glibc.rename(from, to) }
    }
  }

  /// All names in a directory but `.` and `..`, in no order. Bytes that are not UTF-8 are replaced.
  package static func names(in directory: some SystemPath) throws(Errno) -> [String] {
    let opened = try FileDescriptor(open: directory, O_RDONLY | O_DIRECTORY)
    return try opened.readNames().names.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns when everything in the file system of a directory is on disk, as an fsync of a directory does
  /// in a space.
  package static func synchronize(_ directory: some SystemPath) throws(Errno) {
    try FileDescriptor(open: directory, O_RDONLY | O_DIRECTORY).synchronize()
  }

  /// syncfs(2): returns when everything in the file system of a directory is on disk. A space replies to
  /// `synchronize` alone.
  package static func synchronizeFileSystem(of directory: some SystemPath) throws(Errno) {
    let opened = try FileDescriptor(open: directory, O_RDONLY | O_DIRECTORY)
    try retrying { clinux_sync_file_system(opened.rawValue) }
  }
}
