internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3
internal import Glibc

@c func albumfs_opendir(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  // df opens what it is given, and reads nothing of it.
  let request = unsafe Request(raw, isUse: InodeNumber(inode) != .root)
  let info = unsafe info!
  do throws(FSError) {
    try request.requireUnlocked()
    let directory = try request.driver.openDirectory(
      InodeNumber(inode), for: request.caller)
    // A notification arrives a moment late, and a user who waits for a thumbnail looks at once.
    let mayBeCached = !directory.changesByItself && !request.driver.fileSystem.follows
    let handle = unsafe Handle(retaining: directory)
    unsafe info.pointee.fh = handle.number
    unsafe info.pointee.cache_readdir = mayBeCached ? 1 : 0
    unsafe info.pointee.keep_cache = mayBeCached ? 1 : 0
    if unsafe !request.reply(opened: info) { unsafe _ = handle.take() }
  } catch {
    request.reply(error)
  }
}

@c func albumfs_readdir(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ size: Int, _ offset: off_t,
  _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  var entries = unsafe request.makeEntries(size: size)
  do throws(FSError) {
    try request.requireUnlocked()
    try unsafe Handle<OpenDirectory>(info).object.list(from: Int64(offset)) {
      unsafe entries.add($0)
    }
    unsafe _ = request.reply(entries.bytes)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_readdirplus(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ size: Int, _ offset: off_t,
  _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  let driver = request.driver
  let changes = driver.thumbnailNames.changeCount
  var entries = unsafe request.makeEntries(size: size)
  do throws(FSError) {
    try request.requireUnlocked()
    try unsafe Handle<OpenDirectory>(info).object.listWithAttributes(from: Int64(offset)) {
      guard let entry = $1 else { return unsafe entries.add($0, nil) }
      if unsafe entries.add($0, driver.handOut(entry, since: changes)) { return true }
      driver.inodes.forget(entry.attributes.inode, count: 1)
      return false
    }
    if unsafe request.reply(entries.bytes) { return }
    for inode in unsafe DirectoryEntries.references(in: entries.bytes) {
      driver.inodes.forget(inode, count: 1)
    }
  } catch {
    request.reply(error)
  }
}

@c func albumfs_releasedir(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw, isUse: InodeNumber(inode) != .root)
  unsafe _ = Handle<OpenDirectory>(info).take()
  request.replyDone()
}

@c func albumfs_fsyncdir(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ dataOnly: CInt,
  _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.fileSystem.synchronize(InodeNumber(inode))
    request.replyDone()
  } catch {
    request.reply(error)
  }
}
