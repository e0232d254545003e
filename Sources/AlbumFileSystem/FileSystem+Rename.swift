import AlbumFormat
package import AlbumModel
import AlbumStore

extension FileSystem {
  package func rename(
    _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber,
    mode: RenameMode
  ) throws(FSError) {
    try writable()
    // Replacing by rename leaves the old file or the new one, so content is committed before the name. After
    // an exchange both files have a name.
    try commitContent(of: name, in: parent)
    if mode.exchange { try commitContent(of: newName, in: newParent) }
    let time = clock.now()
    let effects = try space.change { (catalog: inout Catalog) throws(FSError) -> RenameEffects in
      let from = Place(name: name, directory: try catalog.requireDirectory(parent))
      let to = Place(name: newName, directory: try catalog.requireDirectory(newParent))
      return try catalog.rename(from, to: to, mode: mode, time: time)
    }
    created(in: effects.album)
    for photo in effects.due { considerPhoto(photo) }
    for twin in effects.twins { notifier.forget(entry: twin.name, in: twin.directory) }
  }

  private func commitContent(of name: FileName, in parent: InodeNumber) throws(FSError) {
    if let file = entry(name, in: parent) { try contents.find(file)?.commit() }
  }

  /// The inode of an entry in a directory; nil if there is none. Counts no reference.
  package func entry(_ name: FileName, in parent: InodeNumber) -> InodeNumber? {
    space.read { catalog in
      catalog.index(of: parent).flatMap { catalog.child(name.bytes, of: $0) }
        .map { catalog.state($0).number }
    }
  }
}

/// A name in a directory.
struct Place {
  var name: FileName
  var directory: InodeIndex
}

/// The side effects of a rename.
struct RenameEffects {
  /// Files that need a thumbnail now.
  var due: [InodeNumber] = []
  /// Names of the Thumb zone that changed with their folders.
  var twins: [(name: FileName, directory: InodeNumber)] = []
  /// The album that received the entry.
  var album: InodeNumber?
}

extension Catalog {
  /// rename(2), as one step. If it throws, it has changed nothing except entries that the view shows under
  /// these names.
  mutating func rename(_ from: Place, to: Place, mode: RenameMode, time: Timestamp)
    throws(FSError) -> RenameEffects
  {
    for place in [from, to] where zone(of: place.directory).isThumb {
      dropSuperseded(place.name.bytes, in: place.directory)
    }
    guard let source = resolve(from.name.bytes, in: from.directory) else {
      throw FSError(.notFound)
    }
    let target = resolve(to.name.bytes, in: to.directory)
    if mode.exchange && target == nil { throw FSError(.notFound) }
    if mode.noReplace, let target, target.photo == nil { throw FSError(.exists) }
    let replaced = target.flatMap { mode.exchange || $0.photo == nil ? $0.index : nil }
    if replaced == source.index { return RenameEffects() }
    if let replaced { try checkStays(replaced) }
    try checkMove(source.index, to: to, from: from)
    if mode.exchange, let replaced {
      try checkMove(replaced, to: from, from: to)
    } else if let replaced {
      try checkReplacement(of: replaced, by: source.index)
    }
    if source.photo != nil { makeOwn(source.index, from.name.bytes, in: from.directory) }
    if mode.exchange {
      if let target, target.photo != nil {
        makeOwn(target.index, to.name.bytes, in: to.directory)
      }
      return exchange(from, to, time)
    }
    return move(source.index, from, to, replaced: replaced, time)
  }

  /// True if an inode may move from its place to another.
  private func checkMove(_ index: InodeIndex, to: Place, from: Place) throws(FSError) {
    let state = state(index)
    if !state.isDirectory { return }
    try checkStays(index)
    if isBelow(to.directory, index) { throw FSError(.invalid) }
    if !allowsMove(of: index, to: to.name, in: to.directory) { throw FSError(.crossDevice) }
  }

  private func checkStays(_ index: InodeIndex) throws(FSError) {
    if state(index).isAlbumPart { throw FSError(.busy, "an album's Photo and Thumb stay") }
  }

  private func checkReplacement(of target: InodeIndex, by source: InodeIndex) throws(FSError) {
    let state = state(target)
    let isDirectory = self.state(source).isDirectory
    if isDirectory && !state.isDirectory { throw FSError(.notDirectory) }
    if !isDirectory && state.isDirectory { throw FSError(.isDirectory) }
    if state.isDirectory && !isFreeOfUser(target) { throw FSError(.notEmpty) }
  }

  private mutating func move(
    _ source: InodeIndex, _ from: Place, _ to: Place, replaced: InodeIndex?, _ time: Timestamp
  ) -> RenameEffects {
    var effects = RenameEffects()
    pin(source)
    defer { unpin(source) }
    let formerTwin = twinPlace(of: source, at: from)
    let replacesPhoto = replaced.map { state($0).kind == .regular && state($0).size > 0 } ?? false
    if let replaced {
      update(replaced) { $0.changed = time }
      emptyTree(replaced)
      removeEntry(from.name.bytes, in: from.directory)
      replaceEntry(to.name.bytes, in: to.directory, child: source)
    } else {
      moveEntry(from.name.bytes, of: from.directory, to: to.name.bytes, in: to.directory)
    }
    update(source) { $0.changed = time }
    touch(from.directory, time)
    if to.directory != from.directory { touch(to.directory, time) }
    if let formerTwin { moveTwin(from: formerTwin, of: source, to: to, time, &effects) }
    arrive(source, at: to, replacesPhoto: replacesPhoto, time, &effects)
    return effects
  }

  private mutating func exchange(_ from: Place, _ to: Place, _ time: Timestamp) -> RenameEffects {
    var effects = RenameEffects()
    guard let first = child(from.name.bytes, of: from.directory),
      let second = child(to.name.bytes, of: to.directory)
    else { return effects }
    let firstTwin = twinPlace(of: first, at: from)
    let secondTwin = twinPlace(of: second, at: to)
    exchangeEntries(
      from.name.bytes, in: from.directory, with: to.name.bytes, in: to.directory)
    for index in [first, second] { update(index) { $0.changed = time } }
    for place in [from, to] { touch(place.directory, time) }
    if let firstTwin, let secondTwin {
      exchangeEntries(
        firstTwin.name.bytes, in: firstTwin.directory, with: secondTwin.name.bytes,
        in: secondTwin.directory)
      for twin in [firstTwin, secondTwin] { note(twin, &effects) }
    } else {
      if let firstTwin { moveTwin(from: firstTwin, of: first, to: to, time, &effects) }
      if let secondTwin { moveTwin(from: secondTwin, of: second, to: from, time, &effects) }
    }
    arrive(first, at: to, replacesPhoto: false, time, &effects)
    arrive(second, at: from, replacesPhoto: false, time, &effects)
    return effects
  }

  /// Applies the consequences of an inode's new place.
  private mutating func arrive(
    _ index: InodeIndex, at place: Place, replacesPhoto: Bool, _ time: Timestamp,
    _ effects: inout RenameEffects
  ) {
    let zone = zone(of: place.directory)
    effects.album = zone.album.map { state($0).number }
    if zone.isThumb { giveUpThumbnail(for: place.name.bytes, in: place.directory) }
    if state(index).isDirectory {
      if case .photo = zone, !place.name.isHidden { ensureTwins(below: index, time: time) }
      effects.due += becomePhotos(below: index, time: time)
    } else if becomePhoto(
      index, place.name, in: place.directory, replaces: replacesPhoto, time: time)
    {
      effects.due.append(state(index).number)
    }
  }

  /// The place of a folder's twin in Thumb, before the folder moves.
  private func twinPlace(of folder: InodeIndex, at place: Place) -> Place? {
    guard state(folder).isDirectory, case .photo = zone(of: place.directory),
      let twin = twin(of: place.directory), let child = child(place.name.bytes, of: twin),
      state(child).isDirectory
    else { return nil }
    return Place(name: place.name, directory: twin)
  }

  private mutating func moveTwin(
    from former: Place, of folder: InodeIndex, to place: Place, _ time: Timestamp,
    _ effects: inout RenameEffects
  ) {
    note(former, &effects)
    if case .photo = zone(of: place.directory), !place.name.isHidden,
      let twin = ensureTwin(of: place.directory, time: time),
      child(place.name.bytes, of: twin) == nil
    {
      moveEntry(
        former.name.bytes, of: former.directory, to: place.name.bytes, in: twin)
      note(Place(name: place.name, directory: twin), &effects)
    } else {
      dropTwin(former.name.bytes, in: former.directory)
    }
  }

  private func note(_ place: Place, _ effects: inout RenameEffects) {
    effects.twins.append((place.name, state(place.directory).number))
  }
}
