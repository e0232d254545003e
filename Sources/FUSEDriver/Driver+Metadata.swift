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
    var change = AttributeChange(status, fields: fields)
    if change.killsSetID || change.isChownOfNothing {
      let (now, _) = try fileSystem.attributes(of: inode)
      change.permissions = change.permissions ?? SetIDBits.permissionsAfterChange(of: now)
    }
    return try fileSystem.change(change, of: inode, for: caller)
  }

  /// A caller changes a file's content in a way that the kernel does not report as such a change.
  /// Cheap where the file has no set-id bits, as nearly all.
  func dropSetID(of inode: InodeNumber, for caller: Caller) throws(FSError) {
    if caller.user == 0 { return }
    let (now, _) = try fileSystem.attributes(of: inode)
    guard let permissions = SetIDBits.permissionsAfterChange(of: now) else { return }
    var change = AttributeChange()
    change.permissions = permissions
    _ = try fileSystem.change(change, of: inode, for: caller)
    // The answer to this request brings no attributes along.
    pages.forgetAttributes(of: inode)
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
  /// chown(2) with neither owner nor group drops set-id bits all the same; what reaches us of it is
  /// a new ctime alone, which nothing else sends.
  fileprivate var isChownOfNothing: Bool {
    changed != nil && modified == nil && accessed == nil && size == nil && permissions == nil
      && owner == nil && group == nil
  }

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
