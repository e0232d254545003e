import AlbumFormat
package import AlbumModel
import AlbumStore

extension FileSystem {
  /// The limit of names for one file.
  static let linkLimit: UInt32 = 65_000
  /// Bytes.
  static let symlinkTargetLimit = 4095

  /// mknod: regular file, FIFO, socket or device node.
  package func makeNode(
    _ name: FileName, in parent: InodeNumber, kind: FileKind, permissions: UInt16, device: UInt32,
    for caller: Caller
  ) throws(FSError) -> Entry {
    if kind == .directory || kind == .symlink { throw FSError(.invalid) }
    return try make(name, in: parent) { catalog, directory, time in
      let isDevice = kind == .blockDevice || kind == .characterDevice
      return catalog.create(
        kind, permissions, for: caller, in: directory, device: isDevice ? device : 0, time: time)
    }
  }

  package func makeSymlink(
    _ name: FileName, in parent: InodeNumber, target: [UInt8], for caller: Caller
  ) throws(FSError) -> Entry {
    if target.count > FileSystem.symlinkTargetLimit { throw FSError(.nameTooLong) }
    if target.isEmpty { throw FSError(.notFound) }
    return try make(name, in: parent) { catalog, directory, time in
      let index = catalog.create(.symlink, 0o777, for: caller, in: directory, time: time)
      catalog.setSymlinkTarget(index, to: target)
      return index
    }
  }

  /// creat: creates a regular file and opens it. The caller ends with `OpenFile.release`.
  package func create(
    _ name: FileName, in parent: InodeNumber, permissions: UInt16, mode: OpenMode,
    for caller: Caller
  ) throws(FSError) -> (Entry, OpenFile) {
    var entry = try makeNode(
      name, in: parent, kind: .regular, permissions: permissions, device: 0, for: caller)
    // The file is empty: truncating it would set a time that the kernel does not learn.
    var mode = mode
    mode.truncates = false
    do throws(FSError) {
      let file = try open(entry.attributes.inode, mode: mode, isNew: true)
      entry.attributes = current(entry.attributes)
      entry.attributesLifetime = attributesLifetime(entry.attributes)
      return (entry, file)
    } catch {
      forget(entry.attributes.inode, count: 1)
      throw error
    }
  }

  package func link(
    _ inode: InodeNumber, as name: FileName, in parent: InodeNumber
  ) throws(FSError) -> Entry {
    try writable()
    try makeOwn(inode)
    try contents.find(inode)?.commit()
    return try make(name, in: parent) { (catalog, _, time) throws(FSError) in
      let index = try catalog.require(inode)
      let state = catalog.state(index)
      if state.isDirectory { throw FSError(.notPermitted) }
      if state.links == 0 { throw FSError(.notFound) }
      if state.links >= FileSystem.linkLimit { throw FSError(.tooManyLinks) }
      catalog.pin(index)
      catalog.update(index) { $0.changed = time }
      return index
    }
  }

  /// Names the inode that `body` returns, which is pinned once for the reference of the entry.
  private func make(
    _ name: FileName, in parent: InodeNumber,
    _ body: (inout Catalog, InodeIndex, Timestamp) throws(FSError) -> InodeIndex
  ) throws(FSError) -> Entry {
    try writable()
    let time = clock.now()
    var due: InodeNumber?
    let found = try space.change { (catalog: inout Catalog) throws(FSError) -> Found in
      let directory = try catalog.requireDirectory(parent)
      let zone = catalog.zone(of: directory)
      if zone.isThumb { catalog.dropSuperseded(name.bytes, in: directory) }
      if catalog.child(name.bytes, of: directory) != nil { throw FSError(.exists) }
      let index = try body(&catalog, directory, time)
      catalog.insertEntry(name.bytes, in: directory, child: index)
      catalog.touch(directory, time)
      if zone.isThumb { catalog.giveUpThumbnail(for: name.bytes, in: directory) }
      if catalog.becomePhoto(index, name, in: directory, time: time) {
        due = catalog.state(index).number
      }
      var found = catalog.found(Resolution(index: index), name, in: directory)
      found.album = zone.album.map { catalog.state($0).number }
      return found
    }
    created(in: found.album)
    if let due { considerPhoto(due) }
    return entry(found)
  }

  /// mkdir: makes an album in the root or in an album, otherwise a plain directory.
  package func makeDirectory(
    _ name: FileName, in parent: InodeNumber, permissions: UInt16, for caller: Caller
  ) throws(FSError) -> Entry {
    try writable()
    let time = clock.now()
    var isAlbum = false
    let found = try space.change { (catalog: inout Catalog) throws(FSError) -> Found in
      let directory = try catalog.requireDirectory(parent)
      let index: InodeIndex
      if let existing = catalog.child(name.bytes, of: directory) {
        guard catalog.state(existing).isDirectory,
          catalog.state(existing).marks.contains(.implicit)
        else { throw FSError(.exists) }
        index = existing
        catalog.adopt(index, permissions, for: caller, in: directory, time: time)
        catalog.pin(index)
      } else {
        index = catalog.makeDirectory(name, permissions, for: caller, in: directory, time: time)
        isAlbum = catalog.state(index).marks.contains(.album)
      }
      var found = catalog.found(Resolution(index: index), name, in: directory)
      found.album = (isAlbum ? index : catalog.zone(of: directory).album)
        .map { catalog.state($0).number }
      return found
    }
    created(in: found.album)
    if isAlbum { implicit.albumMade(found.attributes.inode, by: caller) }
    return entry(found)
  }
}

extension Catalog {
  /// Creates an inode without a name, pinned once, with the directory's group.
  mutating func create(
    _ kind: FileKind, _ permissions: UInt16, for caller: Caller, in directory: InodeIndex,
    device: UInt32 = 0, time: Timestamp
  ) -> InodeIndex {
    let parent = state(directory)
    let setGroupID: UInt16 = 0o2000
    let inherits = parent.permissions & setGroupID != 0
    let extra = inherits && kind == .directory ? setGroupID : 0
    return create(
      kind: kind, permissions: permissions & 0o7777 | extra, owner: caller.user,
      group: inherits ? parent.group : caller.group, device: device, time: time)
  }

  /// Updates a directory whose entries have changed.
  mutating func touch(_ directory: InodeIndex, _ time: Timestamp) {
    update(directory) {
      $0.modified = time
      $0.changed = time
    }
  }

  /// Makes a directory of the kind that fits its place, an album with its Photo and Thumb; pinned once.
  fileprivate mutating func makeDirectory(
    _ name: FileName, _ permissions: UInt16, for caller: Caller, in parent: InodeIndex,
    time: Timestamp
  ) -> InodeIndex {
    let marks = marksForNewDirectory(name, in: parent)
    let index = create(.directory, permissions, for: caller, in: parent, time: time)
    update(index) { $0.marks = marks }
    insertEntry(name.bytes, in: parent, child: index)
    touch(parent, time)
    let zone = zone(of: parent)
    if zone.isThumb { giveUpThumbnail(for: name.bytes, in: parent) }
    if marks.contains(.album) {
      ensurePart(.photo, .photoDirectory, of: index, time: time)
      ensurePart(.thumb, .thumbDirectory, of: index, time: time)
    } else if marks.contains(.photoDirectory) {
      ensurePart(.thumb, .thumbDirectory, of: parent, time: time)
    } else if marks.contains(.thumbDirectory) {
      // It shows at once what it would show if it had never been removed.
      if let photo = photoDirectory(of: parent) { ensureTwins(below: photo, time: time) }
    } else if case .photo = self.zone(of: index), !name.isHidden {
      ensureTwins(below: index, time: time)
    }
    return index
  }

  private mutating func ensurePart(
    _ name: FileName, _ mark: InodeState.Marks, of album: InodeIndex, time: Timestamp
  ) {
    _ = ensureDirectory(name.bytes, in: album, like: album, marks: [mark, .implicit], time: time)
  }

  /// Gives the user a directory that albumfs had made already.
  fileprivate mutating func adopt(
    _ directory: InodeIndex, _ permissions: UInt16, for caller: Caller, in parent: InodeIndex,
    time: Timestamp
  ) {
    let inherited = state(parent).permissions & 0o2000
    let group = inherited != 0 ? state(parent).group : caller.group
    update(directory) { state in
      state.marks.remove(.implicit)
      state.permissions = permissions & 0o7777 | inherited
      state.owner = caller.user
      state.group = group
      state.accessed = time
      state.modified = time
      state.changed = time
    }
    touch(parent, time)
  }
}
