internal import AlbumFileSystem
internal import AlbumModel

extension Driver {
  func attributes(of inode: InodeNumber) throws(FSError) -> Attributes {
    owners.shown(try fileSystem.attributes(of: inode))
  }

  func change(_ change: AttributeChange, of inode: InodeNumber) throws(FSError)
    -> Attributes
  {
    var change = try owners.stored(change) { () throws(FSError) in
      try fileSystem.attributes(of: inode).group
    }
    if change.isChownOfNothing { change.killsSetID = true }
    // A thumbnail shows the times, owner and mode of its photo.
    defer { thumbnailNames.changed() }
    let changed = try fileSystem.change(change, of: inode)
    if change.modified != nil { renewThumbnail(of: inode) }
    return owners.shown(changed)
  }

  /// Makes the kernel take a thumbnail for a new inode: with its writeback cache, it keeps the modification
  /// time that it knows of a file. One that is open stays as it is, because its pages belong to the inode.
  private func renewThumbnail(of photo: InodeNumber) {
    if let thumbnail = fileSystem.thumbnail(of: photo), !fileSystem.isOpen(thumbnail) {
      inodes.renew(thumbnail)
    }
  }

  /// Drops set-id bits after a change of content that the kernel does not report as such. Cheap for a file
  /// without set-id bits, as nearly all are.
  func dropSetID(of inode: InodeNumber, for caller: KernelCaller) throws(FSError) {
    if caller.user == 0 { return }
    let now = try fileSystem.attributes(of: inode)
    guard let permissions = SetIDBits.permissionsAfterChange(of: now) else { return }
    var change = AttributeChange()
    change.permissions = permissions
    _ = try fileSystem.change(change, of: inode)
    // The reply to this request carries no attributes.
    pages.forgetAttributes(of: inode)
  }

  /// `flags` as in setxattr(2).
  func setExtendedAttribute(
    _ name: [UInt8], to value: [UInt8], of inode: InodeNumber, flags: CInt
  ) throws(FSError) {
    try requireUsable(name)
    let mode = AttributeMode(create: flags & 1 != 0, replace: flags & 2 != 0)
    if value.count > ExtendedAttributeLimit.byteCount { throw FSError(.attributeTooBig) }
    // An ACL changes the permissions, which the thumbnail shows too.
    defer { thumbnailNames.changed() }
    try fileSystem.setExtendedAttribute(name, to: value, of: inode, mode: mode)
  }

  /// Drops the set-gid bit of a file when a caller who is neither root nor in its group changes its ACL. The
  /// kernel requests that in a field that libfuse does not pass on.
  func dropSetGroupID(of inode: InodeNumber, for caller: KernelCaller, groups: [UInt32])
    throws(FSError)
  {
    let now = try attributes(of: inode)
    let isMember = now.group == caller.group || groups.contains(now.group)
    if caller.user == 0 || isMember || now.permissions & SetIDBits.setGroup == 0 { return }
    var change = AttributeChange()
    change.permissions = now.permissions & ~SetIDBits.setGroup
    _ = try fileSystem.change(change, of: inode)
  }

  func extendedAttribute(_ name: [UInt8], of inode: InodeNumber) throws(FSError) -> [UInt8] {
    try requireUsable(name)
    return try fileSystem.extendedAttribute(name, of: inode)
  }

  func removeExtendedAttribute(_ name: [UInt8], of inode: InodeNumber) throws(FSError) {
    try requireUsable(name)
    defer { thumbnailNames.changed() }
    try fileSystem.removeExtendedAttribute(name, of: inode)
  }

  /// Linux passes ACLs on even to a file system that does not have them enforced.
  private func requireUsable(_ name: [UInt8]) throws(FSError) {
    if !usesAccessControl, AccessControl.isName(name) { throw FSError(.notSupported) }
  }

  /// All names, each with a NUL after it, in the format of listxattr(2).
  func extendedAttributeList(of inode: InodeNumber) throws(FSError) -> [UInt8] {
    let list = try fileSystem.extendedAttributeNames(of: inode).flatMap { (name) -> [UInt8] in
      name + [0]
    }
    if list.count > ExtendedAttributeLimit.byteCount { throw FSError(.attributeTooBig) }
    return list
  }
}

/// XATTR_SIZE_MAX and XATTR_LIST_MAX of the kernel.
enum ExtendedAttributeLimit {
  static let byteCount = 64 << 10
}

extension AttributeChange {
  /// chown(2) with neither owner nor group drops set-id bits too. The driver receives only a new ctime then,
  /// which no other call sends.
  fileprivate var isChownOfNothing: Bool {
    changed != nil && modified == nil && accessed == nil && size == nil && permissions == nil
      && owner == nil && group == nil
  }
}
