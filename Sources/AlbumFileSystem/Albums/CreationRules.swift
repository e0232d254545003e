import AlbumFormat
import AlbumModel
import AlbumStore

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
