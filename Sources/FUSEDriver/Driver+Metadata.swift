internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3
internal import Glibc

extension Driver {
  func attributes(of inode: InodeNumber) throws(FSError) -> (Attributes, lifetime: Double) {
    try fileSystem.attributes(of: inode)
  }

  /// `fields` tells with FUSE_SET_ATTR_ bits which members of `status` are meant.
  func change(_ inode: InodeNumber, to status: stat, fields: CInt, for caller: Caller)
    throws(FSError) -> (Attributes, lifetime: Double)
  {
    try fileSystem.change(AttributeChange(status, fields: fields), of: inode, for: caller)
  }

  /// `flags` as in setxattr(2).
  func setExtendedAttribute(
    _ name: [UInt8], to value: [UInt8], of inode: InodeNumber, flags: CInt, for caller: Caller
  ) throws(FSError) {
    let mode = AttributeMode(create: flags & 1 != 0, replace: flags & 2 != 0)
    if value.count > ExtendedAttributeLimit.byteCount { throw FSError(.attributeTooBig) }
    try fileSystem.setExtendedAttribute(name, to: value, of: inode, mode: mode, for: caller)
  }

  func extendedAttribute(_ name: [UInt8], of inode: InodeNumber) throws(FSError) -> [UInt8] {
    try fileSystem.extendedAttribute(name, of: inode)
  }

  /// All names, each with a NUL behind it, as listxattr(2) gives them.
  func extendedAttributeList(of inode: InodeNumber) throws(FSError) -> [UInt8] {
    let list = try fileSystem.extendedAttributeNames(of: inode).flatMap { (name) -> [UInt8] in
      name + [0]
    }
    if list.count > ExtendedAttributeLimit.byteCount { throw FSError(.attributeTooBig) }
    return list
  }

  func removeExtendedAttribute(_ name: [UInt8], of inode: InodeNumber, for caller: Caller)
    throws(FSError)
  {
    try fileSystem.removeExtendedAttribute(name, of: inode, for: caller)
  }
}

/// XATTR_SIZE_MAX and XATTR_LIST_MAX of the kernel.
enum ExtendedAttributeLimit {
  static let byteCount = 64 << 10
}

extension AttributeChange {
  init(_ status: stat, fields: CInt) {
    self.init()
    func has(_ field: CInt) -> Bool { fields & field != 0 }
    if has(FUSE_SET_ATTR_MODE) { permissions = UInt16(status.st_mode & 0o7777) }
    if has(FUSE_SET_ATTR_UID) { owner = status.st_uid }
    if has(FUSE_SET_ATTR_GID) { group = status.st_gid }
    if has(FUSE_SET_ATTR_SIZE) { size = Int64(status.st_size) }
    if has(FUSE_SET_ATTR_ATIME) { accessed = .at(Timestamp(status.st_atim)) }
    if has(FUSE_SET_ATTR_ATIME_NOW) { accessed = .now }
    if has(FUSE_SET_ATTR_MTIME) { modified = .at(Timestamp(status.st_mtim)) }
    if has(FUSE_SET_ATTR_MTIME_NOW) { modified = .now }
    if has(FUSE_SET_ATTR_CTIME) { changed = Timestamp(status.st_ctim) }
    killsSetID = has(FUSE_SET_ATTR_KILL_SUID) || has(FUSE_SET_ATTR_KILL_SGID)
  }
}
