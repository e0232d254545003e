package import AlbumModel
internal import CLinux
internal import Glibc

/// A file, directory or link by its path, as lstat(2) reports it.
package struct PlainEntry: Sendable {
  package enum Kind: Sendable { case file, directory, link, other }
  package var kind: Kind
  package var size: Int64
  package var permissions: UInt32
  package var modified: Timestamp

  package init(_ path: String) throws(Errno) {
    var status = stat()
    try retrying { unsafe lstat(path, &status) }
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .directory
      case S_IFLNK: .link
      default: .other
      }
    size = Int64(status.st_size)
    permissions = status.st_mode & 0o7777
    modified = Timestamp(
      seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))
  }
}

/// Copies and compares single files for a command that moves plain files into a space.
package enum PlainFiles {
  private static let chunk = 1 << 20

  /// Creates a file with the content, permissions, modification time and extended attributes of another.
  /// Leaves nothing if it fails.
  package static func copy(_ source: String, to path: String) throws(Errno) {
    let from = try FileDescriptor(open: source, O_RDONLY | O_NOFOLLOW)
    let entry = try PlainEntry(source)
    let to = try FileDescriptor(open: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    do throws(Errno) {
      var buffer = [UInt8](repeating: 0, count: chunk)
      var offset: Int64 = 0
      while true {
        let count = try from.fill(&buffer, at: offset)
        if count == 0 { break }
        try to.writeAll(Array(buffer[..<count]))
        offset += Int64(count)
      }
      copyAttributes(source, to: path)
      try retrying { fchmod(to.rawValue, entry.permissions & 0o777) }
      try to.setTimes(entry.modified)
      try to.close()
    } catch {
      unsafe _ = unlink(path)
      throw error
    }
  }

  /// True if both files hold the same bytes. Drops the kernel's copy of the second one first, so that its
  /// content comes from the file system.
  package static func areEqual(_ first: String, _ second: String) throws(Errno) -> Bool {
    let a = try FileDescriptor(open: first, O_RDONLY | O_NOFOLLOW)
    let b = try FileDescriptor(open: second, O_RDONLY | O_NOFOLLOW)
    if try a.size() != b.size() { return false }
    _ = posix_fadvise(b.rawValue, 0, 0, POSIX_FADV_DONTNEED)
    var (left, right) = ([UInt8](repeating: 0, count: chunk), [UInt8](repeating: 0, count: chunk))
    var offset: Int64 = 0
    while true {
      let count = try a.fill(&left, at: offset)
      let other = try b.fill(&right, at: offset)
      if count != other || left[..<count] != right[..<count] { return false }
      if count == 0 { return true }
      offset += Int64(count)
    }
  }

  /// symlink(2).
  package static func makeLink(to target: String, at path: String) throws(Errno) {
    try retrying { unsafe symlink(target, path) }
  }

  /// mkdir(2), with the right to write for its owner.
  package static func makeDirectory(_ path: String, permissions: UInt32) throws(Errno) {
    try retrying { unsafe mkdir(path, permissions & 0o777 | 0o700) }
  }

  /// Throws `.exists` where the new name is taken.
  package static func rename(_ from: String, to path: String) throws(Errno) {
    try retrying { unsafe clinux_rename_exclusive(from, path) }
  }

  /// Returns when everything in the file system of a directory is on disk, as an fsync of a directory does
  /// in a space.
  package static func synchronize(_ directory: String) throws(Errno) {
    try FileDescriptor(open: directory, O_RDONLY | O_DIRECTORY).synchronize()
  }

  /// Copies the attributes that users set. A file system may refuse some.
  private static func copyAttributes(_ source: String, to path: String) {
    var names = [CChar](repeating: 0, count: 1 << 16)
    let length = unsafe clinux_attribute_names(source, &names, UInt(names.count))
    if length <= 0 { return }
    for name in names[..<length].split(separator: 0) {
      let name = String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      var value = [UInt8](repeating: 0, count: 1 << 16)
      let size = unsafe clinux_attribute(source, name, &value, UInt(value.count))
      if name.hasPrefix("user."), size >= 0 {
        unsafe _ = clinux_set_attribute(path, name, value, UInt(size))
      }
    }
  }
}
