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
