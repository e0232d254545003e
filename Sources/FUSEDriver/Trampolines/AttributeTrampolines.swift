internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3
internal import Glibc
internal import Posix

@c func albumfs_getattr(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  // Programs that show free room ask for the root's attributes, too.
  let request = unsafe Request(raw, isUse: InodeNumber(inode) != .root)
  do throws(FSError) {
    let attributes = try request.driver.attributes(of: InodeNumber(inode))
    request.reply(attributes)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_setattr(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ status: UnsafeMutablePointer<stat>?,
  _ fields: CInt, _ info: UnsafeMutablePointer<fuse_file_info>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    let attributes = try request.driver.change(
      try AttributeChange(unsafe status!.pointee, fields: fields), of: InodeNumber(inode))
    request.reply(attributes)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_setxattr(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ name: UnsafePointer<CChar>?,
  _ value: UnsafePointer<CChar>?, _ size: Int, _ flags: CInt
) {
  let request = unsafe Request(raw)
  let bytes = unsafe Array(UnsafeRawBufferPointer(start: value, count: size))
  do throws(FSError) {
    let (driver, name) = unsafe (request.driver, [UInt8](cString: name))
    try driver.setExtendedAttribute(name, to: bytes, of: InodeNumber(inode), flags: flags)
    if name == AccessControl.accessName {
      try driver.dropSetGroupID(
        of: InodeNumber(inode), for: request.caller, groups: request.callersGroups)
    }
    request.replyDone()
  } catch {
    request.reply(error)
  }
}

@c func albumfs_getxattr(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ size: Int
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    let value = try unsafe request.driver.extendedAttribute(
      [UInt8](cString: name), of: InodeNumber(inode))
    request.reply(attribute: value, room: size)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_listxattr(_ raw: fuse_req_t?, _ inode: fuse_ino_t, _ size: Int) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    let list = try request.driver.extendedAttributeList(of: InodeNumber(inode))
    request.reply(attribute: list, room: size)
  } catch {
    request.reply(error)
  }
}

@c func albumfs_removexattr(
  _ raw: fuse_req_t?, _ inode: fuse_ino_t, _ name: UnsafePointer<CChar>?
) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    try unsafe request.driver.removeExtendedAttribute(
      [UInt8](cString: name), of: InodeNumber(inode))
    request.replyDone()
  } catch {
    request.reply(error)
  }
}

extension Request {
  /// The protocol of getxattr(2): a size of 0 asks for the length; too small a buffer is an error of its own.
  fileprivate consuming func reply(attribute value: [UInt8], room: Int) {
    if room == 0 {
      reply(attributeSize: value.count)
    } else if value.count > room {
      reply(Errno.outOfRange)
    } else {
      reply(value)
    }
  }
}
