import AlbumFormat
package import AlbumModel
import AlbumStore

// The tree as it was at a point, read-only. `.snapshots` in the root has a directory for each point. No
// listing shows it, so that nothing that walks the tree enters; a look-up of its name finds it. An entry of
// the user's goes first.

/// A directory as it was at a point.
struct PastDirectory {
  var index: InodeIndex
  var point: InodeNumber
  var photos: PastPhotos?

  /// Looks up a name, including those that Thumb shows. Returns the inode that leads to the state.
  func resolve(_ name: FileName, in catalog: borrowing Catalog) -> InodeIndex? {
    let entry = catalog.child(name, of: index, at: point)
    guard let photo = photo(shownAs: name, in: catalog),
      let shown = catalog.thumbnail(of: photo, at: point)
    else { return entry }
    let state = catalog.state(catalog.version(of: photo, at: point))
    if let entry, !state.marks.contains(.thumbnailGoesFirst) || catalog.state(entry).isDirectory {
      return entry
    }
    return shown
  }

  /// The directories whose photos this one shows.
  func photoDirectories(in catalog: borrowing Catalog) -> [InodeIndex] {
    var found: [InodeIndex] = []
    for number in [photos?.folder, photos?.album] {
      if let number, let index = catalog.index(of: number) { found.append(index) }
    }
    return found
  }

  private func photo(shownAs name: FileName, in catalog: borrowing Catalog) -> InodeIndex? {
    if name.isHidden { return nil }
    for folder in photoDirectories(in: catalog) {
      if let child = catalog.child(name, of: folder, at: point),
        catalog.state(child).kind == .regular
      {
        return child
      }
    }
    return nil
  }

  /// The photos that a directory in this one shows; nil if it is not in the Thumb zone.
  func photos(of child: InodeIndex, _ name: FileName, in catalog: borrowing Catalog) -> PastPhotos?
  {
    if !catalog.state(child).isDirectory { return nil }
    if let photos {
      let folder = photos.folder.flatMap { catalog.index(of: $0) }
        .flatMap { catalog.child(name, of: $0, at: point) }
      return PastPhotos(folder: folder.map { catalog.state($0).number })
    }
    guard marks(of: index, in: catalog).contains(.album),
      marks(of: child, in: catalog).contains(.thumbDirectory)
    else { return nil }
    let photo = catalog.child(.photo, of: index, at: point).flatMap {
      marks(of: $0, in: catalog).contains(.photoDirectory) ? $0 : nil
    }
    return PastPhotos(
      folder: photo.map { catalog.state($0).number }, album: catalog.state(index).number)
  }

  private func marks(of index: InodeIndex, in catalog: borrowing Catalog) -> InodeState.Marks {
    catalog.state(catalog.version(of: index, at: point)).marks
  }
}

extension FileSystem {
  /// The directory of the points, in the root.
  package static let pastName = FileName.snapshots

  /// The number of a node in this file system: where it shows a point, the root is that of the point.
  func node(_ inode: InodeNumber) -> InodeNumber {
    inode == .root && showsPoint ? PastNodes.root : inode
  }

  /// Finds a name in the past; nil if it is a name of the present.
  func lookupInPast(_ name: FileName, in parent: InodeNumber) throws(FSError) -> Entry? {
    let parent = node(parent)
    if parent.isPast { return try pastEntry(name, in: parent) }
    guard parent == .root, name == FileSystem.pastName, entry(name, in: .root) == nil else {
      return nil
    }
    return listEntry(.list)
  }

  func pastEntry(_ name: FileName, in parent: InodeNumber) throws(FSError) -> Entry {
    guard let directory = past.node(parent) else { throw FSError(.stale) }
    switch directory.target {
    case .list: return try pointEntry(name)
    case .link: throw FSError(.notDirectory)
    case .inode(let inode, let point):
      let photos = directory.photos
      return try space.read { (catalog: borrowing Catalog) throws(FSError) -> Entry in
        let index = try InodeIndex(inode, at: point, in: catalog)
        if !catalog.state(index).isDirectory { throw FSError(.notDirectory) }
        let directory = PastDirectory(index: index, point: point, photos: photos)
        guard let found = directory.resolve(name, in: catalog) else { throw FSError(.notFound) }
        return entry(
          found, at: point, photos: directory.photos(of: found, name, in: catalog), catalog)
      }
    }
  }

  private func entry(
    _ index: InodeIndex, at point: InodeNumber, photos: PastPhotos?, _ catalog: borrowing Catalog
  ) -> Entry {
    var attributes = catalog.attributes(index, at: point)
    let reference = InodeReference(
      past, .inode(catalog.state(index).number, at: point), photos: photos)
    attributes.inode = reference.inode
    return Entry(attributes: attributes, reference: reference)
  }

  private func pointEntry(_ name: FileName) throws(FSError) -> Entry {
    let points = space.points
    guard let point = points.find(name) else { throw FSError(.notFound) }
    if point.name != name { return listEntry(.link(to: point.name)) }
    var found = space.read { catalog in
      let root = catalog.index(of: .root)!
      return entry(root, at: point.number, photos: nil, catalog)
    }
    // The point may go.
    found.isShadowed = true
    return found
  }

  private func listEntry(_ target: PastTarget) -> Entry {
    let reference = InodeReference(past, target, photos: nil)
    var entry = Entry(attributes: listAttributes(target, reference.inode), reference: reference)
    entry.isShadowed = true
    return entry
  }

  /// The directory of the points and what is in it belong to the owner of the root.
  private func listAttributes(_ target: PastTarget, _ number: InodeNumber) -> Attributes {
    space.read { catalog in
      var attributes = catalog.attributes(catalog.index(of: .root)!)
      attributes.inode = number
      attributes.links = 1
      attributes.blocks = 0
      attributes.permissions = 0o555
      attributes.size = 0
      if case .link(let name) = target {
        attributes.kind = .symlink
        attributes.size = Int64(name.bytes.count)
      }
      return attributes
    }
  }

  // MARK: Calls on a node

  func pastAttributes(of node: InodeNumber) throws(FSError) -> Attributes {
    guard let target = past.node(node)?.target else { throw FSError(.stale) }
    guard case .inode(let inode, let point) = target else { return listAttributes(target, node) }
    return try space.read { (catalog: borrowing Catalog) throws(FSError) -> Attributes in
      var attributes = catalog.attributes(try InodeIndex(inode, at: point, in: catalog), at: point)
      attributes.inode = node == PastNodes.root ? .root : node
      return attributes
    }
  }

  func pastSymlinkTarget(of node: InodeNumber) throws(FSError) -> [UInt8] {
    if case .link(let name) = past.node(node)?.target { return name.bytes }
    return try space.read { (catalog: borrowing Catalog) throws(FSError) -> [UInt8] in
      let index = try ShownInode(node, in: catalog, of: past).state(in: catalog)
      if catalog.state(index).kind != .symlink { throw FSError(.invalid) }
      return catalog.symlinkTarget(index)
    }
  }

  /// Opens a file as it was.
  func openPast(_ node: InodeNumber, mode: OpenMode) throws(FSError) -> OpenFile {
    if mode.writes || mode.truncates { throw FSError(.readOnly) }
    switch past.node(node)?.target {
    case .inode(let inode, let point):
      let content = try contents.acquire(inode, writes: false)
      return OpenFile(content, of: self, mode: mode, past: PastContent(space, inode, at: point))
    case .list: throw FSError(.isDirectory)
    case .link: throw FSError(.invalid)
    case nil: throw FSError(.stale)
    }
  }
}
