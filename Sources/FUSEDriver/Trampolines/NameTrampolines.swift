internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3
internal import Glibc
internal import Posix

@c func albumfs_lookup(_ raw: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    let entry = try unsafe request.driver.lookup(
      FileName(kernel: name), in: InodeNumber(parent), for: request.caller)
    request.hand(over: entry)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_forget(_ raw: fuse_req_t?, _ inode: fuse_ino_t, _ count: UInt64) {
  let request = unsafe Request(raw)
  request.driver.inodes.forget(InodeNumber(inode), count: count)
  request.replyNothing()
}

@c func albumfs_forget_multi(
  _ raw: fuse_req_t?, _ count: Int, _ forgets: UnsafeMutablePointer<fuse_forget_data>?
) {
  let request = unsafe Request(raw)
  for index in 0..<count {
    let item = unsafe forgets![index]
    request.driver.inodes.forget(InodeNumber(item.ino), count: item.nlookup)
  }
  request.replyNothing()
}

@c func albumfs_mknod(
  _ raw: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ mode: mode_t,
  _ device: dev_t
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    let entry = try unsafe request.driver.makeNode(
      FileName(kernel: name), in: InodeNumber(parent), mode: mode, device: UInt64(device),
      for: request.caller)
    request.hand(over: entry)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_mkdir(
  _ raw: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ mode: mode_t
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    let entry = try unsafe request.driver.makeDirectory(
      FileName(kernel: name), in: InodeNumber(parent), mode: mode, for: request.caller)
    request.hand(over: entry)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_symlink(
  _ raw: fuse_req_t?, _ target: UnsafePointer<CChar>?, _ parent: fuse_ino_t,
  _ name: UnsafePointer<CChar>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    let entry = try unsafe request.fileSystem.makeSymlink(
      FileName(kernel: name), in: InodeNumber(parent), target: [UInt8](cString: target),
      for: request.asking)
    let known = request.driver.handOut(entry)
    request.hand(over: known)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_link(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    let entry = try unsafe request.fileSystem.link(
      InodeNumber(inode), as: FileName(kernel: name), in: InodeNumber(parent),
      for: request.asking)
    let known = request.driver.handOut(entry)
    request.hand(over: known)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_unlink(_ raw: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    try unsafe request.fileSystem.unlink(
      FileName(kernel: name), in: InodeNumber(parent), for: request.asking)
    request.replyDone()
  } catch {
    request.reply(error)
  }
}

@c func albumfs_rmdir(_ raw: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    try unsafe request.fileSystem.removeDirectory(
      FileName(kernel: name), in: InodeNumber(parent), for: request.asking)
    request.replyDone()
  } catch {
    request.reply(error)
  }
}

@c func albumfs_rename(
  _ raw: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?,
  _ newParent: fuse_ino_t, _ newName: UnsafePointer<CChar>?, _ flags: CUnsignedInt
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    let from = try unsafe DirectoryPlace(name: FileName(kernel: name), parent: InodeNumber(parent))
    let to = try unsafe DirectoryPlace(
      name: FileName(kernel: newName), parent: InodeNumber(newParent))
    let (driver, caller) = (request.driver, request.caller)
    let waiting = WaitingRequest(request)
    driver.withPages(of: driver.filesToRename(from, to, flags: flags)) { isWritten in
      let request = waiting.take()
      if !isWritten { return request.reply(.interrupted) }
      do throws(FSError) {
        try driver.rename(from, to: to, flags: flags, for: caller)
        request.replyDone()
      } catch {
        request.reply(error)
      }
    }
  } catch {
    request.reply(error)
  }
}

@c func albumfs_readlink(_ raw: fuse_req_t?, _ inode: fuse_ino_t) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try request.requireUnlocked()
    let target = try request.fileSystem.symlinkTarget(of: InodeNumber(inode))
    request.reply(target)
  } catch {
    request.reply(error)
  }
}

extension Request {
  /// Replies with an entry. Subtracts its lookup again if the kernel refuses the reply.
  fileprivate consuming func hand(over entry: KernelEntry) {
    let driver = driver
    if !reply(entry) { driver.inodes.forget(entry.attributes.inode, count: 1) }
  }

  fileprivate var asking: Caller { driver.asking(caller) }
}
