internal import AlbumFileSystem
internal import AlbumModel

extension Driver {
  func openDirectory(_ inode: InodeNumber, for caller: Caller) throws(FSError) -> OpenDirectory {
    try fileSystem.openDirectory(inode, for: caller)
  }

  func synchronizeDirectory(_ inode: InodeNumber) throws(FSError) {
    try fileSystem.synchronize(inode)
  }
}
