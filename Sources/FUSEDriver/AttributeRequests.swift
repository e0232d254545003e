internal import AlbumFileSystem
internal import AlbumModel

extension Driver {
  func change(_ change: AttributeChange, of inode: InodeNumber) throws(FSError)
    -> Attributes
  {
    var change = change
    if change.isChownOfNothing { change.killsSetID = true }
    return try fileSystem.change(change, of: inode)
  }

  /// A caller changes a file's content in a way that the kernel does not report as such a change.
  /// Cheap where the file has no set-id bits, as nearly all.
  func dropSetID(of inode: InodeNumber, for caller: KernelCaller) throws(FSError) {
    if caller.user == 0 { return }
    let now = try fileSystem.attributes(of: inode)
    guard let permissions = SetIDBits.permissionsAfterChange(of: now) else { return }
    var change = AttributeChange()
    change.permissions = permissions
    _ = try fileSystem.change(change, of: inode)
    // The answer to this request brings no attributes along.
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

  /// All names, each with a NUL behind it, as listxattr(2) gives them.
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
  /// chown(2) with neither owner nor group drops set-id bits all the same; what reaches us of it is
  /// a new ctime alone, which nothing else sends.
  fileprivate var isChownOfNothing: Bool {
    changed != nil && modified == nil && accessed == nil && size == nil && permissions == nil
      && owner == nil && group == nil
  }
}
