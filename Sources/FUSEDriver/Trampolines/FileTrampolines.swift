internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3
internal import Glibc
internal import Posix

@c func albumfs_create(
  _ raw: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ mode: mode_t,
  _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  let driver = request.driver
  let info = unsafe info!
  do throws(FSError) {
    let flags = unsafe info.pointee.flags
    let (entry, file) =
      OpenMode.isNameless(flags)
      ? try driver.createNameless(
        in: InodeNumber(parent), mode: mode, flags: flags, for: request.caller)
      : try unsafe driver.create(
        FileName(kernel: name), in: InodeNumber(parent), mode: mode, flags: flags,
        for: request.caller)
    let handle = unsafe Handle(retaining: file)
    unsafe info.keepPages(handle.number, writesThrough: file.writesThrough)
    if unsafe request.reply(entry, opened: info) { return }
    unsafe driver.close(handle.take())
    driver.inodes.forget(entry.attributes.inode, count: 1)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_open(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  let driver = request.driver
  let info = unsafe info!
  do throws(FSError) {
    let file = try unsafe driver.open(
      InodeNumber(inode), flags: info.pointee.flags, for: request.caller)
    let handle = unsafe Handle(retaining: file)
    unsafe info.keepPages(handle.number, writesThrough: file.writesThrough)
    if unsafe request.reply(opened: info) { return }
    unsafe driver.close(handle.take())
  } catch {
    request.reply(error)
  }
}

@c func albumfs_read(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ size: Int, _ offset: off_t,
  _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  let buffer = unsafe ReplyBuffer.forThisThread(size)
  do throws(FSError) {
    let count = try unsafe Handle<OpenFile>(info).object.read(into: buffer, at: Int64(offset))
    unsafe _ = request.reply(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  } catch {
    request.reply(error, reading: InodeNumber(inode))
  }
}

@c func albumfs_write(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ bytes: UnsafePointer<CChar>?, _ size: Int,
  _ offset: off_t, _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    // A page that the kernel wrote back has no author, and the file had no set-id bits when it was written.
    if unsafe info!.pointee.writepage == 0 {
      try request.driver.dropSetID(of: InodeNumber(inode), for: request.caller)
    }
    try unsafe Handle<OpenFile>(info).object.write(
      UnsafeRawBufferPointer(start: bytes, count: size), at: Int64(offset))
    request.reply(written: size)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_flush(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try unsafe Handle<OpenFile>(info).object.flush()
    request.replyDone()
  } catch {
    request.reply(error)
  }
}

@c func albumfs_fsync(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ dataOnly: CInt,
  _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    let file = unsafe info == nil ? nil : Handle<OpenFile>(info).object
    try request.driver.synchronize(InodeNumber(inode), file)
    request.replyDone()
  } catch {
    request.reply(error)
  }
}

@c func albumfs_release(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  unsafe request.driver.close(Handle(info).take())
  request.replyDone()
}

@c func albumfs_fallocate(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ mode: CInt, _ offset: off_t, _ length: off_t,
  _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try unsafe request.driver.allocate(
      Handle(info).object, at: Int64(offset), length: Int64(length), mode: mode,
      for: request.caller)
    request.replyDone()
  } catch {
    request.reply(error)
  }
}

@c func albumfs_lseek(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ offset: off_t, _ whence: CInt,
  _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  let driver = request.driver
  // The handle stays open until the reply.
  let file: OpenFile = unsafe Handle(info).object
  let waiting = WaitingRequest(request)
  driver.withPages(of: [file.inode], from: Int64(offset)) { isWritten in
    let request = waiting.take()
    if !isWritten { return request.reply(.interrupted) }
    do throws(FSError) {
      let found = try driver.seek(file, from: Int64(offset), whence: whence)
      request.reply(offset: found)
    } catch {
      request.reply(error)
    }
  }
}

@c func albumfs_copy_file_range(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ offset: off_t,
  _ info: UnsafeMutablePointer<fuse_file_info>?, _ newInode: fuse_ino_t, _ newOffset: off_t,
  _ newInfo: UnsafeMutablePointer<fuse_file_info>?, _ length: Int, _ flags: CInt
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    let copied = try unsafe request.driver.copyRange(
      of: Handle(info).object, at: Int64(offset), to: Handle(newInfo).object,
      at: Int64(newOffset), length: length, flags: flags, for: request.caller)
    request.reply(written: Int(copied))
  } catch {
    request.reply(error)
  }
}

extension UnsafeMutablePointer<fuse_file_info> {
  /// Keeps the kernel's pages of an opened file, because no content changes behind its back that
  /// the times of the file do not show. With
  /// write-through no pages wait, and write(2) itself returns errors.
  fileprivate func keepPages(_ handle: UInt64, writesThrough: Bool) {
    unsafe pointee.fh = handle
    unsafe pointee.keep_cache = 1
    unsafe pointee.direct_io = writesThrough ? 1 : 0
  }
}
