import AlbumFormat
package import AlbumModel
package import AlbumStore

// Thumb is a view: under the name of each photo it shows the thumbnail of the photo's content, unless the
// user has put an entry of that name there. The photo's inode refers to the thumbnail, so the thumbnail
// follows the photo by construction. Thumb has no entry for it.
//
// A Thumb that was removed stays removed, also when photos come: a mirror of a folder that has none
// (rsync --delete) would remove it at each run. It comes back with `mkdir Thumb`, or with `mkdir Photo`
// if that was removed too. Until then albumfs makes thumbnails all the same, and shows them nowhere.

/// The result of a look-up.
struct Resolution {
  var index: InodeIndex
  /// The photo, if the name is shown by the view and is no entry.
  var photo: InodeIndex?
}

/// Looks up names, including those that Thumb shows.
package enum ThumbView {
  /// The directories with the photos that a directory of the Thumb zone shows, Photo's first.
  static func photoDirectories(shownIn directory: InodeIndex, _ catalog: borrowing Catalog)
    -> [InodeIndex]
  {
    guard case .thumb(let album, let top) = Zone(of: directory, in: catalog) else { return [] }
    var result: [InodeIndex] = []
    if let photo = AlbumRules.photoDirectory(of: album, catalog),
      let folder = Twins.counterpart(of: directory, below: top, in: photo, catalog)
    {
      result.append(folder)
    }
    if directory == top { result.append(album) }
    return result
  }

  /// The photo whose thumbnail a directory of the Thumb zone shows under this name, even if it has none yet.
  static func photo(shownAs name: FileName, in directory: InodeIndex, _ catalog: borrowing Catalog)
    -> InodeIndex?
  {
    if name.isHidden { return nil }
    for folder in photoDirectories(shownIn: directory, catalog) {
      if let child = catalog.child(name, of: folder), catalog.state(child).kind == .regular {
        return child
      }
    }
    return nil
  }

  /// The path, from the space's root, at which Thumb shows the thumbnail of the photo of that name. If no
  /// Thumb shows it, as in a trash, the path of the photo.
  package static func thumbnailPath(
    of name: FileName, in directory: InodeIndex, _ catalog: borrowing Catalog
  ) -> String {
    catalog.path(of: name, in: Twins.twin(of: directory, catalog) ?? directory)
  }

  /// True if albumfs shows a photo's thumbnail instead of an entry of the user's.
  static func supersedesEntry(_ photo: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    let state = catalog.state(photo)
    return state.thumbnailState == .made && state.marks.contains(.thumbnailGoesFirst)
      && catalog.thumbnail(of: photo) != nil
  }

  /// Looks up a name in a directory, including the view.
  static func resolve(_ name: FileName, in directory: InodeIndex, _ catalog: borrowing Catalog)
    -> Resolution?
  {
    let entry = catalog.child(name, of: directory)
    guard let photo = photo(shownAs: name, in: directory, catalog),
      let shown = catalog.thumbnail(of: photo)
    else {
      return entry.map { Resolution(index: $0) }
    }
    if let entry, !supersedesEntry(photo, catalog) || catalog.state(entry).isDirectory {
      return Resolution(index: entry)
    }
    return Resolution(index: shown, photo: photo)
  }

  /// Drops an entry of the user's that the photo's thumbnail supersedes.
  static func dropSuperseded(_ name: FileName, in directory: InodeIndex, _ catalog: inout Catalog) {
    guard let entry = catalog.child(name, of: directory), !catalog.state(entry).isDirectory,
      let photo = photo(shownAs: name, in: directory, catalog), supersedesEntry(photo, catalog)
    else { return }
    catalog.removeEntry(name, in: directory)
    catalog.update(photo) { $0.marks.remove(.thumbnailGoesFirst) }
  }

  /// The user has put an entry of this name into the Thumb zone, or removed it: albumfs shows and makes no
  /// thumbnail before the photo changes.
  static func giveUpThumbnail(
    for name: FileName, in directory: InodeIndex, _ catalog: inout Catalog
  ) {
    guard let photo = photo(shownAs: name, in: directory, catalog) else { return }
    catalog.dropThumbnail(of: photo)
    catalog.update(photo) { state in
      if state.thumbnailState != .none { state.setThumbnail(.removed) }
    }
  }

  /// Turns a thumbnail of the view into an entry of the user's.
  static func makeOwn(
    _ thumbnail: InodeIndex, _ name: FileName, in directory: InodeIndex, _ catalog: inout Catalog
  ) {
    catalog.pin(thumbnail)
    if catalog.child(name, of: directory) == nil {
      catalog.insertEntry(name, in: directory, child: thumbnail)
    }
    giveUpThumbnail(for: name, in: directory, &catalog)
    catalog.update(thumbnail) { $0.marks.remove(.madeThumbnail) }
    PhotoAttributes.forgetFacts(in: thumbnail, &catalog)
    catalog.unpin(thumbnail)
  }

  /// Gives a thumbnail its photo's owner, mode, ACL and times.
  static func resemble(_ thumbnail: InodeIndex, _ photo: InodeIndex, _ catalog: inout Catalog) {
    let model = catalog.state(photo)
    catalog.update(thumbnail) { state in
      state.permissions = model.permissions & 0o666
      state.owner = model.owner
      state.group = model.group
      state.accessed = model.accessed
      state.modified = model.modified
      state.changed = model.changed
    }
    AccessControl.copy(from: photo, to: thumbnail, &catalog)
  }
}
