import AlbumFormat
import AlbumModel
import AlbumStore

/// The inode that a node shows, and the point at which it shows it: a past one or the present.
struct ShownInode {
  var index: InodeIndex
  var point = InodeNumber.present

  init(_ index: InodeIndex) { self.index = index }

  init(_ inode: InodeNumber, in catalog: borrowing Catalog, of nodes: PastNodes) throws(FSError) {
    if !inode.isPast {
      self.init(try InodeIndex(inode, in: catalog))
      return
    }
    guard case .inode(let number, let point) = nodes.node(inode)?.target else {
      throw FSError(.noAttribute)
    }
    self.init(try InodeIndex(number, at: point, in: catalog))
    self.point = point
  }

  /// The inode that holds the state and the content.
  func state(in catalog: borrowing Catalog) -> InodeIndex { catalog.version(of: index, at: point) }

  func thumbnail(in catalog: borrowing Catalog) -> InodeIndex? {
    point == .present ? catalog.thumbnail(of: index) : catalog.thumbnail(of: index, at: point)
  }

  /// Finds the entry with this name, if this inode is a directory.
  func child(_ name: FileName, in catalog: borrowing Catalog) -> InodeIndex? {
    catalog.child(name, of: index, at: point)
  }

  /// Finds the directory `Photo`, if this inode is an album.
  func photoDirectory(in catalog: borrowing Catalog) -> ShownInode? {
    guard let child = child(.photo, in: catalog) else { return nil }
    var folder = self
    folder.index = child
    return catalog.state(folder.state(in: catalog)).marks.contains(.photoDirectory) ? folder : nil
  }

  /// Calls `body` with some entries, in no order, if this inode is a directory. An entry may come twice.
  func forEachEntry(
    in catalog: borrowing Catalog, _ cursor: inout ShownEntryCursor,
    _ body: (_ name: FileName, _ child: InodeIndex) -> Void
  ) {
    if cursor.isAtPresent {
      var (count, reached) = (0, UInt32(0))
      catalog.forEachEntry(of: index, after: cursor.reached) { name, child, cookie in
        let former = point == .present ? child : catalog.child(name, of: index, at: point)
        if let former { body(name, former) }
        (count, reached) = (count + 1, cookie)
        return count < ShownEntryCursor.limit
      }
      cursor.reached = reached
      cursor.isAtPresent = count == ShownEntryCursor.limit
      return
    }
    for (name, child) in catalog.changedNames(of: index, since: point, &cursor.past) {
      body(name, child)
    }
    cursor.isAtEnd = cursor.past.isAtEnd
  }
}

/// The position of a walk over what a directory shows: first the names that it has, then those that have
/// changed.
struct ShownEntryCursor {
  static let limit = 1024
  var isAtPresent = true
  var reached: UInt32 = 0
  var past = PastNameCursor()
  var isAtEnd = false
}

extension InodeIndex {
  /// Finds an inode that was there at a point. Throws `.stale` if that is gone.
  init(_ inode: InodeNumber, at point: InodeNumber, in catalog: borrowing Catalog) throws(FSError) {
    guard catalog.point(point) != nil || point == .present, let index = catalog.index(of: inode)
    else {
      throw FSError(.stale, "the snapshot is gone")
    }
    self = index
  }
}

extension InodeNumber {
  /// In the place of a point: later than all that is recorded of the past.
  static let present = InodeNumber(NumberLimits.inode)
}

extension InodeIndex {
  /// Finds the inode with a number. Throws `.stale` if there is none, and `.readOnly` for a node of the
  /// past, which only calls that read find.
  init(_ inode: InodeNumber, in catalog: borrowing Catalog) throws(FSError) {
    if inode.isPast { throw FSError(.readOnly) }
    guard let index = catalog.index(of: inode) else {
      throw FSError(.stale, "no inode \(inode.rawValue)")
    }
    self = index
  }

  /// Finds a directory that still has a name. Throws `.notDirectory` or `.notFound` otherwise.
  init(directory inode: InodeNumber, in catalog: borrowing Catalog) throws(FSError) {
    self = try InodeIndex(inode, in: catalog)
    let state = catalog.state(self)
    if !state.isDirectory { throw FSError(.notDirectory) }
    if state.links == 0 { throw FSError(.notFound, "the directory was removed") }
  }
}
