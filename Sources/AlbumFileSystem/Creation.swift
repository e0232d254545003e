import AlbumFormat
package import AlbumModel
import AlbumStore

extension FileSystem {
  /// The limit of names for one file.
  static let linkLimit: UInt32 = 65_000
  /// In bytes, without the NUL.
  static let symlinkTargetLimit = 4095

  /// mknod: regular file, FIFO, socket or device node.
  package func makeNode(
    _ name: FileName, in parent: InodeNumber, kind: FileKind, permissions: UInt16, device: UInt32,
    for caller: Caller
  ) throws(FSError) -> Entry {
    if kind == .directory || kind == .symlink { throw FSError(.invalid) }
    return try makeNode(
      name, in: parent, kind, permissions, device: device, marks: [], for: caller)
  }

  private func makeNode(
    _ name: FileName, in parent: InodeNumber, _ kind: FileKind, _ permissions: UInt16,
    device: UInt32 = 0, marks: InodeState.Marks, for caller: Caller
  ) throws(FSError) -> Entry {
    try make(name, in: parent, for: caller) { catalog, directory, time in
      let isDevice = kind == .blockDevice || kind == .characterDevice
      let index = Creation.makeInode(
        kind, permissions, for: caller, in: directory, device: isDevice ? device : 0, time: time,
        &catalog)
      if !marks.isEmpty { catalog.update(index) { $0.marks.formUnion(marks) } }
      return index
    }
  }

  package func makeSymlink(
    _ name: FileName, in parent: InodeNumber, target: [UInt8], for caller: Caller
  ) throws(FSError) -> Entry {
    if target.count > FileSystem.symlinkTargetLimit { throw FSError(.nameTooLong) }
    if target.isEmpty { throw FSError(.notFound) }
    return try make(name, in: parent, for: caller) { catalog, directory, time in
      let index = Creation.makeInode(
        .symlink, 0o777, for: caller, in: directory, time: time, &catalog)
      catalog.setSymlinkTarget(index, to: target)
      return index
    }
  }

  /// creat: creates a regular file and opens it. The caller ends with `OpenFile.release`.
  package func create(
    _ name: FileName, in parent: InodeNumber, permissions: UInt16, mode: OpenMode,
    for caller: Caller
  ) throws(FSError) -> (Entry, OpenFile) {
    // The mark comes with the file: no frame may state an empty file that counts as complete.
    let entry = try makeNode(
      name, in: parent, .regular, permissions, marks: mode.writes ? .beingWritten : [],
      for: caller)
    // The file is empty: truncating it would set a time that the kernel does not learn.
    var mode = mode
    mode.truncates = false
    let file = try open(entry.attributes.inode, mode: mode, isNew: true)
    return (current(entry), file)
  }

  /// Creates a regular file without a name and opens it; `link` may name it while it is open. The caller ends
  /// with `OpenFile.release`.
  package func createNameless(
    in parent: InodeNumber, permissions: UInt16, mode: OpenMode, for caller: Caller
  ) throws(FSError) -> (Entry, OpenFile) {
    try writable()
    let time = clock.now()
    let entry = try space.change { (catalog: inout Catalog) throws(FSError) -> Entry in
      let directory = try InodeIndex(directory: parent, in: catalog)
      let index = Creation.makeInode(
        .regular, permissions, for: caller, in: directory, time: time, &catalog)
      catalog.update(index) { $0.marks.insert(.beingWritten) }
      let entry = Entry(
        attributes: catalog.attributes(index),
        reference: InodeReference(index, in: catalog, of: space))
      catalog.unpin(index)
      return entry
    }
    let file = try open(entry.attributes.inode, mode: mode, isNew: true)
    return (current(entry), file)
  }

  package func link(
    _ inode: InodeNumber, as name: FileName, in parent: InodeNumber, for caller: Caller = .daemon
  ) throws(FSError) -> Entry {
    try writable()
    try makeOwn(inode)
    let content = contents.find(inode)
    try content?.publish()
    defer { content?.owed.add() }
    return try make(name, in: parent, for: caller) { (catalog, _, time) throws(FSError) in
      let index = try InodeIndex(inode, in: catalog)
      let state = catalog.state(index)
      if state.isDirectory { throw FSError(.notPermitted) }
      // An open file may get a first name. The kernel permits that only for `createNameless`.
      if state.links == 0 && content == nil { throw FSError(.notFound) }
      if state.links >= FileSystem.linkLimit { throw FSError(.tooManyLinks) }
      catalog.pin(index)
      catalog.update(index) { $0.changed = time }
      return index
    }
  }

  /// Gives a name to the inode that `body` returns, pinned once.
  private func make(
    _ name: FileName, in parent: InodeNumber, for caller: Caller,
    _ body: (inout Catalog, InodeIndex, Timestamp) throws(FSError) -> InodeIndex
  ) throws(FSError) -> Entry {
    try writable()
    let time = clock.now()
    var due: InodeNumber?
    let entry = try space.change { (catalog: inout Catalog) throws(FSError) -> Entry in
      let directory = try InodeIndex(directory: parent, in: catalog)
      let zone = Zone(of: directory, in: catalog)
      if zone.isThumb { ThumbView.dropSuperseded(name, in: directory, &catalog) }
      if catalog.child(name, of: directory) != nil { throw FSError(.exists) }
      let index = try body(&catalog, directory, time)
      catalog.insertEntry(name, in: directory, child: index)
      catalog.touch(directory, time)
      if zone.isThumb { ThumbView.giveUpThumbnail(for: name, in: directory, &catalog) }
      if PhotoRules.becomePhoto(index, name, in: directory, time: time, &catalog) {
        due = catalog.state(index).number
      }
      var entry = Entry(Resolution(index: index), name, in: directory, catalog, of: space)
      entry.album = zone.album.map { catalog.state($0).number }
      catalog.unpin(index)
      return entry
    }
    notifyMade(entry, name, in: parent, for: caller)
    if let due { considerPhoto(due) }
    return current(entry)
  }

  /// mkdir: makes an album in the root or in an album, otherwise a plain directory.
  package func makeDirectory(
    _ name: FileName, in parent: InodeNumber, permissions: UInt16, for caller: Caller
  ) throws(FSError) -> Entry {
    try writable()
    let time = clock.now()
    let entry = try space.change { (catalog: inout Catalog) throws(FSError) -> Entry in
      let directory = try InodeIndex(directory: parent, in: catalog)
      let index: InodeIndex
      if let existing = catalog.child(name, of: directory) {
        guard catalog.state(existing).isDirectory,
          catalog.state(existing).marks.contains(.implicit)
        else { throw FSError(.exists) }
        index = existing
        Creation.adopt(index, permissions, for: caller, in: directory, time: time, &catalog)
      } else {
        index = Creation.makeDirectory(
          name, permissions, for: caller, in: directory, time: time, &catalog)
      }
      var entry = Entry(Resolution(index: index), name, in: directory, catalog, of: space)
      let isAlbum = catalog.state(index).marks.contains(.album)
      entry.album = (isAlbum ? index : Zone(of: directory, in: catalog).album)
        .map { catalog.state($0).number }
      return entry
    }
    notifyMade(entry, name, in: parent, for: caller)
    return entry
  }

  private func notifyMade(
    _ entry: Entry, _ name: FileName, in parent: InodeNumber, for caller: Caller
  ) {
    notifyObservers(
      .name(name, in: parent, album: entry.album, isThere: true), askedBy: caller)
  }
}

/// Makes new inodes in a directory, by the rules of POSIX and of albums.
enum Creation {
  /// Creates an inode without a name, pinned once, with the directory's group.
  static func makeInode(
    _ kind: FileKind, _ permissions: UInt16, for caller: Caller, in directory: InodeIndex,
    device: UInt32 = 0, time: Timestamp, _ catalog: inout Catalog
  ) -> InodeIndex {
    let parent = catalog.state(directory)
    let inherits = parent.permissions & SetIDBits.setGroup != 0
    let extra = inherits && kind == .directory ? SetIDBits.setGroup : 0
    let inheritance = AccessControl.inheritance(
      kind, permissions & 0o7777, umask: caller.umask, in: directory, catalog)
    let index = catalog.create(
      kind: kind, permissions: inheritance.permissions | extra, owner: caller.user,
      group: inherits ? parent.group : caller.group, device: device, time: time)
    AccessControl.apply(inheritance, to: index, &catalog)
    return index
  }

  /// Makes a directory of the kind that its place asks for, an album with its Photo and Thumb.
  static func makeDirectory(
    _ name: FileName, _ permissions: UInt16, for caller: Caller, in parent: InodeIndex,
    time: Timestamp, _ catalog: inout Catalog
  ) -> InodeIndex {
    let marks = AlbumRules.marksForNewDirectory(name, in: parent, catalog)
    let index = makeInode(.directory, permissions, for: caller, in: parent, time: time, &catalog)
    catalog.update(index) { $0.marks = marks }
    catalog.insertEntry(name, in: parent, child: index)
    catalog.unpin(index)
    catalog.touch(parent, time)
    let zone = Zone(of: parent, in: catalog)
    if zone.isThumb { ThumbView.giveUpThumbnail(for: name, in: parent, &catalog) }
    if marks.contains(.album) {
      ensurePart(.photo, .photoDirectory, of: index, time: time, &catalog)
      ensurePart(.thumb, .thumbDirectory, of: index, time: time, &catalog)
    } else if marks.contains(.photoDirectory) {
      ensurePart(.thumb, .thumbDirectory, of: parent, time: time, &catalog)
    } else if marks.contains(.thumbDirectory) {
      // It shows at once what it would show if it had never been removed.
      if let photo = AlbumRules.photoDirectory(of: parent, catalog) {
        Twins.ensureAll(below: photo, time: time, &catalog)
      }
    } else if case .photo = Zone(of: index, in: catalog), !name.isHidden {
      Twins.ensureAll(below: index, time: time, &catalog)
    }
    return index
  }

  static func ensurePart(
    _ name: FileName, _ mark: InodeState.Marks, of album: InodeIndex, time: Timestamp,
    _ catalog: inout Catalog
  ) {
    _ = Creation.ensureDirectory(
      name, in: album, like: album, marks: [mark, .implicit], time: time, &catalog)
  }

  /// Returns or creates a directory of that name; nil if the name is no directory.
  static func ensureDirectory(
    _ name: FileName, in parent: InodeIndex, like model: InodeIndex, marks: InodeState.Marks,
    time: Timestamp, _ catalog: inout Catalog
  ) -> InodeIndex? {
    if let found = catalog.child(name, of: parent) {
      return catalog.state(found).isDirectory ? found : nil
    }
    let state = catalog.state(model)
    let made = catalog.create(
      kind: .directory, permissions: state.permissions, owner: state.owner, group: state.group,
      time: time)
    catalog.update(made) { $0.marks = marks }
    AccessControl.copy(from: model, to: made, &catalog)
    catalog.insertEntry(name, in: parent, child: made)
    catalog.unpin(made)
    return made
  }

  /// Gives the user a directory that albumfs had made already.
  static func adopt(
    _ directory: InodeIndex, _ permissions: UInt16, for caller: Caller, in parent: InodeIndex,
    time: Timestamp, _ catalog: inout Catalog
  ) {
    let inherited = catalog.state(parent).permissions & SetIDBits.setGroup
    let inheritance = AccessControl.inheritance(
      .directory, permissions & 0o7777, umask: caller.umask, in: parent, catalog)
    AccessControl.apply(inheritance, to: directory, &catalog)
    let group = inherited != 0 ? catalog.state(parent).group : caller.group
    catalog.update(directory) { state in
      state.marks.remove(.implicit)
      state.permissions = inheritance.permissions | inherited
      state.owner = caller.user
      state.group = group
      state.accessed = time
      state.modified = time
      state.changed = time
    }
    catalog.touch(parent, time)
  }
}
