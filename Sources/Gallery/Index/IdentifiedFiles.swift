import AlbumModel
import ControlProtocol
import Posix

// An id names a file by its inode, and the index knows the name that the file had when it was listed. What
// the name leads to is used only if it is that file still: another program may have put something else there
// a moment ago, and may do so at any time. So no look before a call is enough: what is read is looked at when
// it is open, and the daemon removes and renames only what is meant. A thumbnail is told by its name alone,
// because it may have been made again.

extension Folder {
  /// Throws `.unknown` if the name leads to another file or album than this inode, or to nothing.
  func require(_ name: FileName, is inode: UInt64) throws {
    if try entry(name).file.inode != inode { throw GalleryError(.unknown) }
  }

  /// Opens the file of a row of the index for reading. Throws `.unknown` if its name leads to another file.
  func open(_ row: PhotoRow) throws -> FolderFile {
    let file = try open(row.name)
    if file.entry.file.inode != row.inode { throw GalleryError(.unknown) }
    return file
  }
}

extension MountedSpace {
  /// Runs the one call that removes or renames a name of a folder, for the file or album with this inode. It
  /// throws `.noEntry`, and changes nothing, where the name leads to another one.
  func withMeant<Result>(
    _ name: FileName, is inode: UInt64, in folder: borrowing Folder,
    _ call: (borrowing Folder) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    if try folder.entry(name).file.inode != inode { throw .noEntry }
    let request = ControlRequest.means(
      name: name.bytes, inode: inode, thread: PosixThread.number)
    // A daemon of an earlier release does not know the request; then the look above has to do.
    _ = try? ControlClient(entry).ask(request)
    return try call(folder)
  }

  /// The directory of an album. Throws `.noEntry` if its path leads to another one.
  func folder(of album: SpaceIndex.Album) throws(Errno) -> Folder {
    let folder = try folder(album.found.path)
    if try folder.status().file.inode != album.found.inode { throw .noEntry }
    return folder
  }

  /// Opens a photo for reading, as `Folder.open` does.
  func open(_ photo: SpaceIndex.Photo) throws -> FolderFile {
    try folder(photo.folder).open(photo.row)
  }
}
