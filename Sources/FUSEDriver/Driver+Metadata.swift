internal import AlbumFileSystem
internal import AlbumModel

extension Driver {
  func change(_ change: AttributeChange, of inode: InodeNumber) throws(FSError)
    -> (Attributes, lifetime: Double)
  {
    var change = change
    if change.isChownOfNothing { change.killsSetID = true }
    return try fileSystem.change(change, of: inode)
  }

  /// Drops set-id bits after a change of content that the kernel does not report as such. Cheap for a file
  /// without set-id bits, as nearly all are.
  func dropSetID(of inode: InodeNumber, for caller: Caller) throws(FSError) {
    if caller.user == 0 { return }
    let (now, _) = try fileSystem.attributes(of: inode)
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
    let mode = AttributeMode(create: flags & 1 != 0, replace: flags & 2 != 0)
    if value.count > ExtendedAttributeLimit.byteCount { throw FSError(.attributeTooBig) }
    try fileSystem.setExtendedAttribute(name, to: value, of: inode, mode: mode)
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
