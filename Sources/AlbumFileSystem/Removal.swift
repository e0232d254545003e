import AlbumFormat
package import AlbumModel
import AlbumStore

extension FileSystem {
  package func unlink(_ name: FileName, in parent: InodeNumber, for caller: Caller = .daemon)
    throws(FSError)
  {
    try writable()
    let time = clock.now()
    let album = try space.change { (catalog: inout Catalog) throws(FSError) -> InodeNumber? in
      let directory = try catalog.requireDirectory(parent)
      let zone = catalog.zone(of: directory)
      if zone.isThumb { catalog.dropSuperseded(name.bytes, in: directory) }
      guard let found = catalog.resolve(name.bytes, in: directory) else {
        throw FSError(.notFound)
      }
      if catalog.state(found.index).isDirectory { throw FSError(.isDirectory) }
      catalog.update(found.index) { $0.changed = time }
      if found.photo == nil { catalog.removeEntry(name.bytes, in: directory) }
      if zone.isThumb { catalog.giveUpThumbnail(for: name.bytes, in: directory) }
      catalog.touch(directory, time)
      return zone.album.map { catalog.state($0).number }
    }
    observers.tell(.name(name, in: parent, album: album, isThere: false), askedBy: caller)
  }

  package func removeDirectory(
    _ name: FileName, in parent: InodeNumber, for caller: Caller = .daemon
  ) throws(FSError) {
    try writable()
    let time = clock.now()
    let (twin, album) = try space.change {
      (catalog: inout Catalog) throws(FSError) -> (InodeNumber?, InodeNumber?) in
      let directory = try catalog.requireDirectory(parent)
      guard let child = catalog.resolve(name.bytes, in: directory)?.index else {
        throw FSError(.notFound)
      }
      if !catalog.state(child).isDirectory { throw FSError(.notDirectory) }
      if !catalog.isFreeOfUser(child) { throw FSError(.notEmpty) }
      catalog.removeTree(name.bytes, in: directory)
      catalog.touch(directory, time)
      let album = catalog.zone(of: directory).album.map { catalog.state($0).number }
      return (catalog.dropTwin(of: name.bytes, in: directory), album)
    }
    observers.tell(.name(name, in: parent, album: album, isThere: false), askedBy: caller)
    if let twin { observers.tell(.name(name, in: twin, album: album, isThere: false)) }
  }
}

extension Catalog {
  /// A folder of this name has gone from a directory of the Photo zone: so does its twin. Answers
  /// the directory of the Thumb zone that had it.
  mutating func dropTwin(of name: [UInt8], in directory: InodeIndex) -> InodeNumber? {
    guard case .photo = zone(of: directory), let twin = twin(of: directory) else { return nil }
    return dropTwin(name, in: twin) ? state(twin).number : nil
  }
}

// DESIGN section 5: "rmdir of an album succeeds when nothing of the user's is in it"; for rmdir and
// for renaming over it, what albumfs made does not count.

extension Catalog {
  /// Whether a directory holds nothing of the user's: an empty Photo or Thumb is not, nor are
  /// implicit folders and entries that a newer thumbnail goes before.
  func isFreeOfUser(_ directory: InodeIndex) -> Bool {
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard let folders = foldersIfFreeOfUser(next) else { return false }
      waiting += folders
    }
    return true
  }

  /// The directories in a directory where all that is in it may be albumfs' own; nil where it is not.
  private func foldersIfFreeOfUser(_ directory: InodeIndex) -> [InodeIndex]? {
    var folders: [InodeIndex] = []
    var isFree = true
    forEachEntry(of: directory) { name, child, _ in
      let state = state(child)
      if state.isDirectory {
        isFree = state.isAlbumPart || state.marks.contains(.implicit)
        folders.append(child)
      } else {
        // Not `map`: the compiler (6.3.1) crashes on a method of a noncopyable type as a value.
        guard let photo = photo(shownAs: name, in: directory) else {
          isFree = false
          return false
        }
        isFree = supersedesEntry(photo)
      }
      return isFree
    }
    return isFree ? folders : nil
  }

  /// Removes a directory that is free of the user's with all that is in it.
  mutating func removeTree(_ name: [UInt8], in parent: InodeIndex) {
    if let directory = child(name, of: parent) { emptyTree(directory) }
    removeEntry(name, in: parent)
  }

  /// Removes all that is in a directory that is free of the user's.
  mutating func emptyTree(_ directory: InodeIndex) {
    var found: [(name: [UInt8], directory: InodeIndex)] = []
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard state(next).isDirectory else { continue }
      forEachEntry(of: next) { name, child, _ in
        found.append((name, next))
        waiting.append(child)
        return true
      }
    }
    // What is in a directory was found after it.
    for entry in found.reversed() { removeEntry(entry.name, in: entry.directory) }
  }
}
