package import AlbumModel
internal import Glibc

/// A file, directory or link by its path, as lstat(2) reports it.
package struct PlainEntry: Sendable, Equatable {
  package enum Kind: Sendable { case file, directory, link, other }
  package var kind: Kind
  /// In bytes; of a link, that of its target's path.
  package var size: Int64
  package var permissions: UInt32
  package var modified: Timestamp
  package var changed: Timestamp
  package var file: Identity

  /// Identifies a file by file system and inode.
  package struct Identity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
  }

  package init(_ path: some SystemPath) throws(Errno) {
    var status = stat()
    let path = path.cString
    try retrying { unsafe lstat(path, &status) }
    self.init(status)
  }

  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .directory
      case S_IFLNK: .link
      default: .other
      }
    size = status.byteCount
    permissions = status.st_mode & 0o7777
    modified = status.times.modified
    changed = status.times.changed
    file = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  /// True if this is the same file with the same size and modification time. Its links and permissions may
  /// have changed.
  package func hasContent(of other: PlainEntry) -> Bool {
    kind == other.kind && file == other.file && size == other.size && modified == other.modified
  }
}
