import AlbumFormat
package import AlbumModel
import AlbumStore

extension FileSystem {
  package func rename(
    _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber,
    mode: RenameMode, for caller: Caller = .daemon
  ) throws(FSError) {
    try writable()
    let meant = self.meant.take(name, by: caller)
    // Replacing by rename leaves the old file or the new one, so content is published before the name. After
    // an exchange both files have a name.
    try publishContent(of: name, in: parent)
    if mode.exchange { try publishContent(of: newName, in: newParent) }
    let moment = space.removalMoment(clock.now())
    let effects = try space.change { (catalog: inout Catalog) throws(FSError) -> RenameEffects in
      let from = Place(name: name, directory: try InodeIndex(directory: parent, in: catalog))
      let to = Place(name: newName, directory: try InodeIndex(directory: newParent, in: catalog))
      if let meant, catalog.index(of: meant) != catalog.child(name, of: from.directory) {
        throw FSError(.notFound)
      }
      var effects = try Renaming.rename(from, to: to, mode: mode, at: moment, &catalog)
      effects.formerAlbum = Zone(of: from.directory, in: catalog).album.map {
        catalog.state($0).number
      }
      effects.album = Zone(of: to.directory, in: catalog).album.map { catalog.state($0).number }
      return effects
    }
    if !effects.isDone { return }
    notifyObservers(
      .name(name, in: parent, album: effects.formerAlbum, isThere: mode.exchange), askedBy: caller)
    notifyObservers(
      .name(newName, in: newParent, album: effects.album, isThere: true), askedBy: caller)
    for twin in effects.twins { notifyObservers(twin) }
    for photo in effects.due { considerPhoto(photo) }
    try commitName()
  }

  /// Frames a name that was just given. Programs that replace or move files, such as rsync, rename a file
  /// after they have closed it, and may remove the original next. On a full disk the name goes into the frame
  /// that comes with the next room, as all other changes of names do.
  private func commitName() throws(FSError) {
    do throws(StoreError) { try space.commit(waitsForRoom: false) } catch {
      if error.code != .noSpace && error.code != .quotaExceeded { throw FSError(error) }
    }
  }

  private func publishContent(of name: FileName, in parent: InodeNumber) throws(FSError) {
    if let file = entry(name, in: parent) { try contents.find(file)?.publish() }
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
  var twins: [FileSystemChange] = []
  /// The albums of the old and the new place.
  var formerAlbum: InodeNumber?
  var album: InodeNumber?
  /// False if both names lead to the same inode, so that nothing happens.
  var isDone = true
}

/// rename(2) in the catalog: which moves are allowed, and their effects on photos and twins.
enum Renaming {
  /// rename(2), as one step. If it throws, it has changed nothing except entries that the view shows under
  /// these names.
  static func rename(
    _ from: Place, to: Place, mode: RenameMode, at moment: RemovalMoment,
    _ catalog: inout Catalog
  ) throws(FSError) -> RenameEffects {
    for place in [from, to] where Zone(of: place.directory, in: catalog).isThumb {
      ThumbView.dropSuperseded(place.name, in: place.directory, &catalog)
    }
    guard let source = ThumbView.resolve(from.name, in: from.directory, catalog) else {
      throw FSError(.notFound)
    }
    let target = ThumbView.resolve(to.name, in: to.directory, catalog)
    if mode.exchange && target == nil { throw FSError(.notFound) }
    if mode.noReplace, let target, target.photo == nil { throw FSError(.exists) }
    let replaced = target.flatMap { mode.exchange || $0.photo == nil ? $0.index : nil }
    if replaced == source.index { return RenameEffects(isDone: false) }
    if let replaced { try checkStays(replaced, catalog) }
    try checkMove(source.index, to: to, from: from, catalog)
    if mode.exchange, let replaced {
      try checkMove(replaced, to: from, from: to, catalog)
    } else if let replaced {
      try checkReplacement(of: replaced, by: source.index, catalog)
    }
    if !from.name.isHidden || replaced != nil && !to.name.isHidden {
      catalog.beginDestruction(at: moment)
    }
    for index in [source.index, replaced].compactMap(\.self) {
      catalog.beginChange(of: index, at: moment)
    }
    if source.photo != nil {
      ThumbView.makeOwn(source.index, from.name, in: from.directory, &catalog)
    }
    if mode.exchange {
      if let target, target.photo != nil {
        ThumbView.makeOwn(target.index, to.name, in: to.directory, &catalog)
      }
      return exchange(from, to, moment.wall, &catalog)
    }
    return move(source.index, from, to, replaced: replaced, moment, &catalog)
  }

  /// True if an inode may move from its place to another.
  private static func checkMove(
    _ index: InodeIndex, to: Place, from: Place, _ catalog: borrowing Catalog
  ) throws(FSError) {
    let state = catalog.state(index)
    if !state.isDirectory { return }
    try checkStays(index, catalog)
    if catalog.isBelow(to.directory, index) { throw FSError(.invalid) }
    if !AlbumRules.allowsMove(of: index, to: to.name, in: to.directory, catalog) {
      throw FSError(.crossDevice)
    }
  }

  private static func checkStays(_ index: InodeIndex, _ catalog: borrowing Catalog) throws(FSError)
  {
    if catalog.state(index).isAlbumPart { throw FSError(.busy, "an album's Photo and Thumb stay") }
  }

  private static func checkReplacement(
    of target: InodeIndex, by source: InodeIndex, _ catalog: borrowing Catalog
  ) throws(FSError) {
    let state = catalog.state(target)
    let isDirectory = catalog.state(source).isDirectory
    if isDirectory && !state.isDirectory { throw FSError(.notDirectory) }
    if !isDirectory && state.isDirectory { throw FSError(.isDirectory) }
    if state.isDirectory && !AlbumRemoval.isFreeOfUser(target, catalog) { throw FSError(.notEmpty) }
  }

  private static func move(
    _ source: InodeIndex, _ from: Place, _ to: Place, replaced: InodeIndex?,
    _ moment: RemovalMoment, _ catalog: inout Catalog
  ) -> RenameEffects {
    let time = moment.wall
    var effects = RenameEffects()
    catalog.pin(source)
    defer { catalog.unpin(source) }
    let formerTwin = twinPlace(of: source, at: from, catalog)
    let replacesPhoto =
      replaced.map { catalog.state($0).kind == .regular && catalog.state($0).size > 0 } ?? false
    if let replaced {
      AlbumRemoval.emptyTree(replaced, &catalog)
      catalog.removeEntry(from.name, in: from.directory)
      catalog.replaceEntry(to.name, in: to.directory, child: source, at: moment)
    } else {
      catalog.moveEntry(from.name, of: from.directory, to: to.name, in: to.directory)
    }
    catalog.update(source) { $0.changed = time }
    catalog.touch(from.directory, time)
    if to.directory != from.directory { catalog.touch(to.directory, time) }
    if let formerTwin { moveTwin(from: formerTwin, of: source, to: to, time, &effects, &catalog) }
    arrive(source, at: to, replacesPhoto: replacesPhoto, time, &effects, &catalog)
    return effects
  }

  private static func exchange(
    _ from: Place, _ to: Place, _ time: Timestamp, _ catalog: inout Catalog
  ) -> RenameEffects {
    var effects = RenameEffects()
    guard let first = catalog.child(from.name, of: from.directory),
      let second = catalog.child(to.name, of: to.directory)
    else { return effects }
    let firstTwin = twinPlace(of: first, at: from, catalog)
    let secondTwin = twinPlace(of: second, at: to, catalog)
    catalog.exchangeEntries(
      from.name, in: from.directory, with: to.name, in: to.directory)
    for index in [first, second] { catalog.update(index) { $0.changed = time } }
    for place in [from, to] { catalog.touch(place.directory, time) }
    if let firstTwin, let secondTwin {
      catalog.exchangeEntries(
        firstTwin.name, in: firstTwin.directory, with: secondTwin.name,
        in: secondTwin.directory)
      for twin in [firstTwin, secondTwin] { addTwinEffect(twin, isThere: true, &effects, catalog) }
    } else {
      if let firstTwin { moveTwin(from: firstTwin, of: first, to: to, time, &effects, &catalog) }
      if let secondTwin {
        moveTwin(from: secondTwin, of: second, to: from, time, &effects, &catalog)
      }
    }
    arrive(first, at: to, replacesPhoto: false, time, &effects, &catalog)
    arrive(second, at: from, replacesPhoto: false, time, &effects, &catalog)
    return effects
  }

  /// Applies the consequences of an inode's new place.
  private static func arrive(
    _ index: InodeIndex, at place: Place, replacesPhoto: Bool, _ time: Timestamp,
    _ effects: inout RenameEffects, _ catalog: inout Catalog
  ) {
    let zone = Zone(of: place.directory, in: catalog)
    if zone.isThumb {
      ThumbView.giveUpThumbnail(for: place.name, in: place.directory, &catalog)
    }
    if catalog.state(index).isDirectory {
      if case .photo = zone, !place.name.isHidden {
        Twins.ensureAll(below: index, time: time, &catalog)
      }
      effects.due += PhotoRules.becomePhotos(below: index, time: time, &catalog)
    } else if PhotoRules.becomePhoto(
      index, place.name, in: place.directory, replaces: replacesPhoto, time: time, &catalog)
    {
      effects.due.append(catalog.state(index).number)
    }
  }

  /// The place of a folder's twin in Thumb, before the folder moves.
  private static func twinPlace(
    of folder: InodeIndex, at place: Place, _ catalog: borrowing Catalog
  ) -> Place? {
    guard catalog.state(folder).isDirectory, case .photo = Zone(of: place.directory, in: catalog),
      let twin = Twins.twin(of: place.directory, catalog),
      let child = catalog.child(place.name, of: twin),
      catalog.state(child).isDirectory
    else { return nil }
    return Place(name: place.name, directory: twin)
  }

  private static func moveTwin(
    from former: Place, of folder: InodeIndex, to place: Place, _ time: Timestamp,
    _ effects: inout RenameEffects, _ catalog: inout Catalog
  ) {
    addTwinEffect(former, isThere: false, &effects, catalog)
    if case .photo = Zone(of: place.directory, in: catalog), !place.name.isHidden,
      let twin = Twins.ensure(of: place.directory, time: time, &catalog),
      catalog.child(place.name, of: twin) == nil
    {
      catalog.moveEntry(
        former.name, of: former.directory, to: place.name, in: twin)
      addTwinEffect(Place(name: place.name, directory: twin), isThere: true, &effects, catalog)
    } else {
      Twins.drop(former.name, in: former.directory, &catalog)
    }
  }

  private static func addTwinEffect(
    _ place: Place, isThere: Bool, _ effects: inout RenameEffects, _ catalog: borrowing Catalog
  ) {
    let album = Zone(of: place.directory, in: catalog).album.map { catalog.state($0).number }
    effects.twins.append(
      .name(place.name, in: catalog.state(place.directory).number, album: album, isThere: isThere))
  }
}
