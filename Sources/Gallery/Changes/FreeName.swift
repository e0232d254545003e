import AlbumModel
import FileKinds
import PhotoGroups
import Posix

/// Names that people choose, and names that are free.
enum GalleryName {
  /// A name that a person gives to a photo or an album. What the file system, or another program, keeps for
  /// itself is none, and neither is a hidden name.
  static func valid(_ text: String) throws(GalleryError) -> FileName {
    guard let name = try? FileName(text), !name.isHidden, name != .photo, name != .thumb,
      !Leftover.isFolder(name.bytes),
      !name.bytes.contains(where: { $0 < 0x20 || $0 == 0x7f })
    else { throw GalleryError(.name) }
    return name
  }

  /// Moves a file to its name in a directory, or to that name with a number where it is taken.
  static func place(
    _ name: FileName, of folder: borrowing Folder, as wanted: FileName, in target: borrowing Folder
  ) throws(Errno) -> FileName {
    try firstFree { number throws(Errno) in
      let free = NumberedName.of(wanted, number)
      try folder.rename(name, to: free, in: target)
      return free
    }
  }

  /// Moves files that belong together to the names that they have as a group in a directory. Where one name
  /// is taken, all get the same number. Either all are moved or none. `inode` is nil for a file of which
  /// nobody else knows the name.
  static func place(
    _ files: [(name: FileName, inode: UInt64?, wanted: MemberName)], of folder: borrowing Folder,
    in target: borrowing Folder, _ mount: MountedSpace
  ) throws(Errno) {
    try firstFree { number throws(Errno) in
      let names = files.map { ($0.name, $0.inode, $0.wanted.numbered(number)) }
      try rename(names, of: folder, in: target, mount)
    }
  }

  /// Tries one number after the other until what it names is free.
  private static func firstFree<Moved>(
    _ move: (Int) throws(Errno) -> Moved
  ) throws(Errno) -> Moved {
    for number in 1...9999 {
      do throws(Errno) { return try move(number) } catch {
        if error != .exists { throw error }
      }
    }
    throw .exists
  }

  /// Renames all files or none.
  static func rename(
    _ files: [(from: FileName, inode: UInt64?, to: FileName)], of folder: borrowing Folder,
    in target: borrowing Folder, _ mount: MountedSpace
  ) throws(Errno) {
    var renamed: [(from: FileName, to: FileName)] = []
    do throws(Errno) {
      for (from, inode, to) in files {
        if let inode {
          try mount.withMeant(from, is: inode, in: folder) { folder throws(Errno) in
            try folder.rename(from, to: to, in: target)
          }
        } else {
          try folder.rename(from, to: to, in: target)
        }
        renamed.append((from, to))
      }
    } catch {
      for (from, to) in renamed.reversed() { try? target.rename(to, to: from, in: folder) }
      throw error
    }
  }
}
