import AlbumFormat
package import AlbumModel
import AlbumStore

extension FileSystem {
  /// Limits of Linux, in bytes.
  static let attributeNameLimit = 255
  static let attributeValueLimit = 65_536
  /// The limit for all names of one file, each with a NUL after it: a longer list could not be read
  /// (XATTR_LIST_MAX).
  static let attributeListLimit = 65_536

  package func setExtendedAttribute(
    _ name: [UInt8], to value: [UInt8], of inode: InodeNumber, mode: AttributeMode
  ) throws(FSError) {
    try writable()
    try checkAttribute(name)
    if value.count > FileSystem.attributeValueLimit { throw FSError(.attributeTooBig) }
    let time = clock.now()
    let moment = space.removalMoment(time)
    defer { oweCommit(of: inode) }
    let (turned, twin) = try space.change {
      (catalog: inout Catalog) throws(FSError) -> (Bool, InodeNumber?) in
      let index = try InodeIndex(inode, in: catalog)
      let isThere =
        catalog.attribute(name, of: index) != nil
        || PhotoAttributes.derived(
          name, of: index, thumbnail: catalog.thumbnail(of: index), catalog) != nil
      if mode.create && isThere { throw FSError(.exists) }
      if mode.replace && !isThere { throw FSError(.noAttribute) }
      let listed = catalog.attributeNames(of: index).reduce(0) { $0 + $1.count + 1 }
      if !isThere, listed + name.count + 1 > FileSystem.attributeListLimit {
        throw FSError(.noSpace, "no room for another extended attribute")
      }
      if Cover.isCover(name, of: index, catalog) { try Cover.check(value, of: index, catalog) }
      try PhotoAttributes.check(name, value, of: index, catalog)
      if isThere { catalog.beginChange(of: index, at: moment) }
      let former = PhotoAttributes.rotation(of: index, catalog)
      if AccessControl.isName(name) {
        try AccessControl.set(name, to: value, of: index, &catalog)
      } else {
        catalog.setAttribute(name, of: index, to: value)
      }
      catalog.update(index) { $0.changed = time }
      let twin = FileSystem.followAccess(name, of: index, time: time, &catalog)
      return (ThumbnailWork.turn(index, from: former, &catalog), twin)
    }
    if turned { pendingPhotos.add([inode], .wanted) }
    if let twin { notifyObservers(.attributes(of: twin)) }
  }

  /// True if a file has had a POSIX ACL since the space was opened.
  package var hasAccessControl: Bool { space.read { $0.hasAccessControl } }

  package func extendedAttribute(_ name: [UInt8], of inode: InodeNumber) throws(FSError) -> [UInt8]
  {
    try checkAttribute(name)
    let (value, isCover) = try space.read {
      (catalog: borrowing Catalog) throws(FSError) -> ([UInt8]?, Bool) in
      let shown = try ShownInode(node(inode), in: catalog, of: past)
      let state = shown.state(in: catalog)
      if Cover.isCover(name, of: state, catalog) {
        return (Cover.chosen(of: shown, catalog)?.bytes, true)
      }
      let value =
        AccessControl.value(name, of: state, catalog)
        ?? PhotoAttributes.derived(
          name, of: state, thumbnail: shown.thumbnail(in: catalog), catalog)
      if value != nil { return (value, false) }
      // `ls -l` asks for the label of each file until it learns that the file system has no labels.
      let hasNone = name == Catalog.securityLabel && !catalog.hasSecurityLabels
      throw FSError(hasNone ? .notSupported : .noAttribute)
    }
    if let value { return value }
    guard isCover, let first = try firstPhoto(of: node(inode)) else { throw FSError(.noAttribute) }
    return first.bytes
  }

  package func extendedAttributeNames(of inode: InodeNumber) throws(FSError) -> [[UInt8]] {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> [[UInt8]] in
      if node(inode) == PastNodes.list { return [] }
      let index = try ShownInode(node(inode), in: catalog, of: past).state(in: catalog)
      // Not those that come from the picture: rsync would copy them, or remove them, for ever.
      return catalog.attributeNames(of: index).filter(PhotoAttributes.isShown)
    }
  }

  package func removeExtendedAttribute(_ name: [UInt8], of inode: InodeNumber)
    throws(FSError)
  {
    try writable()
    try checkAttribute(name)
    let time = clock.now()
    let moment = space.removalMoment(time)
    defer { oweCommit(of: inode) }
    let (turned, twin) = try space.change {
      (catalog: inout Catalog) throws(FSError) -> (Bool, InodeNumber?) in
      let index = try InodeIndex(inode, in: catalog)
      if catalog.attribute(name, of: index) == nil {
        // Removing an ACL that the inode does not have succeeds, as on other file systems. Removing a value
        // that comes from the picture succeeds too: rsync removes what the source does not have.
        let isDerived =
          PhotoAttributes.derived(
            name, of: index, thumbnail: catalog.thumbnail(of: index), catalog) != nil
        if AccessControl.isName(name) || isDerived { return (false, nil) }
        throw FSError(.noAttribute)
      }
      catalog.beginChange(of: index, at: moment)
      let former = PhotoAttributes.rotation(of: index, catalog)
      catalog.setAttribute(name, of: index, to: nil)
      catalog.update(index) { $0.changed = time }
      let twin = FileSystem.followAccess(name, of: index, time: time, &catalog)
      return (ThumbnailWork.turn(index, from: former, &catalog), twin)
    }
    if turned { pendingPhotos.add([inode], .wanted) }
    if let twin { notifyObservers(.attributes(of: twin)) }
  }

  /// After a change of an attribute: if it is an ACL, what Thumb shows of the inode follows. Returns the
  /// directory of Thumb that has changed.
  private static func followAccess(
    _ name: [UInt8], of index: InodeIndex, time: Timestamp, _ catalog: inout Catalog
  ) -> InodeNumber? {
    if !AccessControl.isName(name) { return nil }
    if name == AccessControl.accessName, let thumbnail = catalog.thumbnail(of: index) {
      ThumbView.resemble(thumbnail, index, &catalog)
    }
    return Twins.resemble(index, time: time, &catalog)
  }

  private static let namespaces = ["user.", "trusted.", "security."].map { Array($0.utf8) }

  private func checkAttribute(_ name: [UInt8]) throws(FSError) {
    if name.count > FileSystem.attributeNameLimit { throw FSError(.nameTooLong) }
    if AccessControl.isName(name) { return }
    guard
      let namespace = FileSystem.namespaces.first(where: { name.starts(with: $0) })
    else { throw FSError(.notSupported) }
    if name.count == namespace.count { throw FSError(.invalid) }
  }
}
