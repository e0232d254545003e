internal import AlbumFileSystem
internal import AlbumModel

extension Driver {
  /// Opens a directory and tells whether the kernel may keep what it lists: not while what is in it
  /// may appear and yield by itself.
  func openDirectory(_ inode: InodeNumber, for caller: Caller) throws(FSError)
    -> (OpenDirectory, mayBeCached: Bool)
  {
    let directory = try fileSystem.openDirectory(inode, for: caller)
    let lifetime = (try? fileSystem.attributes(of: inode).lifetime) ?? 0
    return (directory, mayBeCached: lifetime > 0)
  }

  func synchronizeDirectory(_ inode: InodeNumber) throws(FSError) {
    try fileSystem.synchronize(inode)
  }
}
