import AlbumFormat
package import AlbumModel
import AlbumStore

// Deleted files: a list of them, and their return. `Formers` in AlbumStore keeps them.

/// A file that lost its last name, or the former content of one that was overwritten, which the space keeps
/// for some time.
package struct DeletedFile: Sendable {
  package enum Cause: String, Sendable {
    case removed, replaced, overwritten
  }
  /// Identifies it, now and in later mounts.
  package var inode: InodeNumber
  /// From the root of the space, without a leading slash.
  package var path: [UInt8]
  /// In bytes.
  package var size: Int64
  /// When it was deleted, by the wall clock.
  package var removed: Timestamp
  /// How long ago that was, by the clock that decides how long it stays.
  package var age: Duration
  package var cause: Cause
  /// A name of the file that was overwritten, or its last one.
  fileprivate(set) var place: NamedPlace?

  /// A name in a directory.
  struct NamedPlace {
    var name: FileName
    var directory: InodeNumber

    init(name: FileName, directory: InodeNumber) {
      self.name = name
      self.directory = directory
    }

    init?(_ former: FormerPlace) {
      guard let name = former.name else { return nil }
      self.init(name: name, directory: former.directory)
    }
  }
}

/// A file that has come back.
package struct RestoredFile: Sendable {
  /// From the root of the space, without a leading slash.
  package var path: [UInt8]
  /// True if something had its name, so that it has got another one.
  package var isRenamed: Bool
}

extension FileSystem {
  /// Some deleted files from a place on, in no order, and the next place; nil at the end.
  package func deletedFiles(from place: UInt32) -> (files: [DeletedFile], next: UInt32?) {
    var overwritten: [(place: Int, file: InodeNumber)] = []
    var (files, next) = space.read { catalog in
      var files: [DeletedFile] = []
      let next = catalog.forEachDeleted(from: place, limit: FileSystem.deletedPerCall) {
        index, place in
        let path = catalog.formerPath(of: index)
        if path == nil { overwritten.append((files.count, place.directory)) }
        let file = catalog.fileOfVersion(index).flatMap { catalog.formerPlace(of: $0) }
        files.append(
          DeletedFile(
            inode: catalog.state(index).number, path: FileSystem.text(path ?? []),
            size: catalog.state(index).size, removed: place.removed,
            age: space.age(since: place.ended), cause: place.reason.cause,
            place: file.flatMap(DeletedFile.NamedPlace.init)))
      }
      return (files, next)
    }
    if !overwritten.isEmpty {
      let names = names(of: Set(overwritten.map(\.file)))
      for (place, file) in overwritten {
        guard let name = names[file]?.first else { continue }
        files[place].place = DeletedFile.NamedPlace(name: name.name, directory: name.directory)
        let directory = (try? path(of: name.directory)) ?? []
        files[place].path =
          directory + (directory.isEmpty ? [] : [UInt8(ascii: "/")]) + name.name.bytes
      }
    }
    return (files, next)
  }

  /// So many places are looked at under one hold of the catalog's lock.
  private static let deletedPerCall: UInt32 = 1024

  static func text(_ names: [FileName]) -> [UInt8] {
    Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
  }

  /// The thumbnail that a deleted file has. Throws `.notFound` if it has none.
  package func thumbnail(ofDeleted file: InodeNumber) throws(FSError) -> [UInt8] {
    let extents = space.read { catalog -> [Extent]? in
      guard let index = catalog.index(of: file), catalog.formerPlace(of: index) != nil,
        let thumbnail = catalog.thumbnail(of: index)
      else { return nil }
      return catalog.extents(of: thumbnail, from: 0, to: .max, limit: Catalog.extentsPerSlice)
    }
    guard let extents, !extents.isEmpty else { throw FSError(.notFound) }
    var bytes: [UInt8] = []
    for extent in extents {
      bytes += try storing { () throws(StoreError) in try space.content(of: extent) }
    }
    return bytes
  }

  /// Gives a deleted file a name again: its last one, in its last directory, which comes back with it. If
  /// something has the name, the file gets another. It is the same inode, with its content, times,
  /// attributes and thumbnail. Throws `.notFound` if there is no such deleted file.
  ///
  /// A former version becomes a file beside the one that was overwritten.
  package func restoreDeleted(_ file: DeletedFile) throws(FSError) -> RestoredFile {
    try writable()
    let inode = file.inode
    let time = clock.now()
    let outcome = try space.change { (catalog: inout Catalog) throws(FSError) -> Restoring in
      guard let index = catalog.index(of: inode), let former = catalog.formerPlace(of: index),
        former.reason != .directory, former.reason != .changed
      else { throw FSError(.notFound) }
      let (directory, name) = Restoring.place(of: index, former, file.place, catalog)
      var restoring = Restoring(time: time)
      restoring.restore(index, name, in: directory, &catalog)
      return restoring
    }
    for change in outcome.changes { notifyObservers(change) }
    if let photo = outcome.due { considerPhoto(photo) }
    return RestoredFile(path: outcome.path, isRenamed: outcome.isRenamed)
  }
}

extension Catalog {
  /// Gives an inode the owner, permissions and attributes of another one.
  mutating func describe(_ index: InodeIndex, as model: InodeIndex) {
    let (names, state) = (attributeNames(of: model), state(model))
    update(index) { own in
      (own.permissions, own.owner, own.group) = (state.permissions, state.owner, state.group)
    }
    for name in Set(attributeNames(of: index)).subtracting(names) {
      setAttribute(name, of: index, to: nil)
    }
    for name in names { setAttribute(name, of: index, to: attribute(name, of: model)) }
  }

  /// True if two inodes have one owner, the same permissions, and what users have said of them.
  func describesAlike(_ one: InodeIndex, _ other: InodeIndex) -> Bool {
    let (a, b) = (state(one), state(other))
    return a.permissions == b.permissions && a.owner == b.owner && a.group == b.group
      && said(of: one) == said(of: other)
  }

  private func said(of index: InodeIndex) -> [[UInt8]: [UInt8]] {
    let names = attributeNames(of: index).filter(PhotoAttributes.isShown)
    return Dictionary(uniqueKeysWithValues: names.map { ($0, attribute($0, of: index) ?? []) })
  }
}

extension FormerPlace.Reason {
  fileprivate var cause: DeletedFile.Cause {
    switch self {
    case .deleted, .directory: .removed
    case .replaced: .replaced
    case .overwritten, .changed: .overwritten
    }
  }
}

/// The return of one deleted file, as one step of history.
struct Restoring {
  let time: Timestamp
  private(set) var changes: [FileSystemChange] = []
  private(set) var path: [UInt8] = []
  private(set) var isRenamed = false
  /// The file, if it needs a thumbnail.
  private(set) var due: InodeNumber?

  init(time: Timestamp) { self.time = time }

  /// The directory and the name of a deleted file. Those of a former version are the file's: the ones that
  /// were seen, if they still lead to it, or those that it lost. The file may have come back, under another
  /// name too, since it was seen.
  static func place(
    of index: InodeIndex, _ former: FormerPlace, _ seen: DeletedFile.NamedPlace?,
    _ catalog: borrowing Catalog
  ) -> (InodeNumber, FileName) {
    if let name = former.name { return (former.directory, name) }
    if let seen, let directory = catalog.index(of: seen.directory),
      catalog.child(seen.name, of: directory) == catalog.fileOfVersion(index)
    {
      return (seen.directory, seen.name)
    }
    if let file = catalog.fileOfVersion(index), let place = catalog.formerPlace(of: file),
      let name = place.name
    {
      return (place.directory, name)
    }
    if let seen { return (seen.directory, seen.name) }
    return (.root, FileName(known: Array("restored \(former.directory.rawValue)".utf8)))
  }

  mutating func restore(
    _ deleted: InodeIndex, _ wanted: FileName, in number: InodeNumber, _ catalog: inout Catalog
  ) {
    let file = catalog.takeToRestore(deleted)
    let directory = home(of: number, &catalog)
    let name = Restoring.freeName(wanted, in: directory, catalog)
    isRenamed = name != wanted
    give(name, in: directory, to: file, &catalog)
    arrive(file, name, in: directory, &catalog)
    let root = catalog.index(of: .root)
    path = FileSystem.text((root.map { catalog.names(from: $0, to: directory) } ?? []) + [name])
  }

  /// A file has come back under a name. A photo gets a thumbnail, also if its last one was removed: whoever
  /// removes an album may remove Thumb first.
  mutating func arrive(
    _ file: InodeIndex, _ name: FileName, in directory: InodeIndex, _ catalog: inout Catalog
  ) {
    catalog.update(file) { state in
      state.changed = time
      if state.thumbnailState == .removed { state.setThumbnail(.none) }
    }
    if Zone(of: directory, in: catalog).isThumb {
      ThumbView.giveUpThumbnail(for: name, in: directory, &catalog)
    }
    if PhotoRules.becomePhoto(file, name, in: directory, time: time, &catalog) {
      due = catalog.state(file).number
    }
  }

  /// Finds the directory of a deleted file, and brings it back with all above it that are gone.
  private mutating func home(of number: InodeNumber, _ catalog: inout Catalog) -> InodeIndex {
    var missing: [(directory: InodeIndex, name: FileName)] = []
    var at = catalog.index(of: number)
    // A circle is damage, and must not be one here.
    while let directory = at, missing.count < 4096, catalog.state(directory).links == 0,
      let place = catalog.formerPlace(of: directory), let name = place.name
    {
      missing.append((directory, name))
      at = catalog.index(of: place.directory)
    }
    var found = at.flatMap { catalog.state($0).links > 0 ? $0 : nil } ?? catalog.index(of: .root)!
    var albums: [InodeIndex] = []
    for (directory, name) in missing.reversed() {
      found = bringBack(directory, name, in: found, &catalog)
      if catalog.state(found).marks.contains(.album) { albums.append(found) }
    }
    // Only now: the Photo of an album may have been one of those that came back.
    for album in albums {
      Creation.ensurePart(.photo, .photoDirectory, of: album, time: time, &catalog)
      Creation.ensurePart(.thumb, .thumbDirectory, of: album, time: time, &catalog)
      if let photos = catalog.child(.photo, of: album) {
        _ = Twins.resemble(photos, time: time, &catalog)
      }
    }
    return found
  }

  /// Names a directory again. If there is one of its name, or of the name that it would get, that one takes
  /// its place. A new one does where the rules of albums do not permit it any more, and while the kernel
  /// knows it: for the kernel, a directory that was removed is dead.
  mutating func bringBack(
    _ directory: InodeIndex, _ wanted: FileName, in parent: InodeIndex, _ catalog: inout Catalog
  ) -> InodeIndex {
    if let there = Restoring.directory(wanted, in: parent, catalog) { return there }
    let name = Restoring.freeName(wanted, in: parent, catalog)
    if !catalog.isReferenced(directory), Restoring.allows(directory, name, in: parent, catalog) {
      give(name, in: parent, to: directory, &catalog)
      return directory
    }
    return make(name, like: directory, in: parent, &catalog)
  }

  /// Makes a directory with the owner, mode and attributes of another one.
  mutating func make(
    _ name: FileName, like model: InodeIndex, in parent: InodeIndex, _ catalog: inout Catalog
  ) -> InodeIndex {
    let state = catalog.state(model)
    let made = Creation.makeDirectory(
      name, state.permissions, for: Caller(user: state.owner, group: state.group), in: parent,
      time: time, &catalog)
    catalog.describe(made, as: model)
    recordChange(name, in: parent, catalog)
    return made
  }

  private static func allows(
    _ directory: InodeIndex, _ name: FileName, in parent: InodeIndex, _ catalog: borrowing Catalog
  ) -> Bool {
    let state = catalog.state(directory)
    if !state.isAlbumPart {
      return AlbumRules.allowsMove(of: directory, to: name, in: parent, catalog)
    }
    guard case .album = Zone(of: parent, in: catalog) else { return false }
    return name == (state.marks.contains(.photoDirectory) ? .photo : .thumb)
  }

  mutating func give(
    _ name: FileName, in directory: InodeIndex, to index: InodeIndex, _ catalog: inout Catalog
  ) {
    catalog.insertEntry(name, in: directory, child: index)
    catalog.touch(directory, time)
    recordChange(name, in: directory, catalog)
  }

  mutating func recordChange(
    _ name: FileName, in directory: InodeIndex, _ catalog: borrowing Catalog
  ) {
    let album = Zone(of: directory, in: catalog).album.map { catalog.state($0).number }
    changes.append(
      .name(name, in: catalog.state(directory).number, album: album, isThere: true))
  }

  /// The directory that has a name, or the first one of those that it would get where others are taken.
  static func directory(
    _ name: FileName, in parent: InodeIndex, _ catalog: borrowing Catalog
  ) -> InodeIndex? {
    var attempt = 0
    while let there = catalog.child(candidate(name, attempt), of: parent) {
      if catalog.state(there).isDirectory { return there }
      attempt += 1
    }
    return nil
  }

  /// The name, or if something has it, one with a note before the extension.
  static func freeName(
    _ name: FileName, in directory: InodeIndex, _ catalog: borrowing Catalog
  ) -> FileName {
    var attempt = 0
    while catalog.child(candidate(name, attempt), of: directory) != nil { attempt += 1 }
    return candidate(name, attempt)
  }

  static func candidate(_ name: FileName, _ attempt: Int) -> FileName {
    name.with(attempt == 0 ? "" : attempt == 1 ? " (restored)" : " (restored \(attempt))")
  }
}
