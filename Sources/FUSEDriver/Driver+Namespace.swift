internal import AlbumFileSystem
internal import AlbumModel
internal import Glibc

extension Driver {
  /// `mode` as in mknod(2): kind and permissions.
  func makeNode(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, device: UInt64, for caller: Caller
  ) throws(FSError) -> Entry {
    guard let kind = FileKind(mode: mode), kind != .directory, kind != .symlink else {
      throw FSError(.invalid)
    }
    return try fileSystem.makeNode(
      name, in: parent, kind: kind, permissions: UInt16(mode & 0o7777),
      device: UInt32(truncatingIfNeeded: device), for: caller)
  }

  /// `flags` as in renameat2(2); RENAME_WHITEOUT is for overlay file systems and not supported.
  func rename(
    _ from: DirectoryPlace, to: DirectoryPlace, flags: UInt32
  ) throws(FSError) {
    try fileSystem.rename(
      from.name, in: from.parent, to: to.name, in: to.parent, mode: RenameMode(flags: flags))
  }

  /// The files whose content a rename carries to another name.
  func filesToRename(_ from: DirectoryPlace, _ to: DirectoryPlace, flags: UInt32) -> [InodeNumber] {
    let isExchange = (try? RenameMode(flags: flags))?.exchange ?? false
    return (isExchange ? [from, to] : [from]).compactMap {
      fileSystem.entry($0.name, in: $0.parent)
    }
  }
}

/// A name in a directory, as the kernel gives it.
struct DirectoryPlace: Sendable {
  var name: FileName
  var parent: InodeNumber
}

extension FileKind {
  /// From the S_IFMT bits; none of them means a regular file, as in mknod(2).
  init?(mode: UInt32) {
    let bits = UInt8((mode & 0o170000) >> 12)
    guard let kind = bits == 0 ? .regular : FileKind(rawValue: bits) else { return nil }
    self = kind
  }
}

extension RenameMode {
  /// The flags of renameat2(2), which Glibc's Swift module hides.
  init(flags: UInt32) throws(FSError) {
    let noReplace: UInt32 = 1
    let exchange: UInt32 = 2
    guard flags & ~(noReplace | exchange) == 0, flags != noReplace | exchange else {
      throw FSError(.invalid)
    }
    self.init(noReplace: flags & noReplace != 0, exchange: flags & exchange != 0)
  }
}
