import AlbumFormat
import AlbumModel
import AlbumStore

// DESIGN section 5, "Thumb is a view": for every photo, Thumb shows under the photo's name the
// thumbnail that belongs to its content, unless the user has put an entry of that name there. The
// thumbnail hangs on the photo's inode, so it follows the photo by construction; nothing is
// entered into Thumb for it.
//
// A Thumb that was removed stays removed, also when photos come: a mirror of a folder that has none
// (rsync --delete) would remove it at each run. It comes back with `mkdir Thumb`, or with `mkdir Photo`
// where that was removed, too. Until then thumbnails are made all the same, and show nowhere.

/// What a name leads to.
struct Resolution {
  var index: InodeIndex
  /// The photo, where the name is shown by the view and is no entry.
  var photo: InodeIndex?
}

/// What names in Thumb lead to.
enum ThumbView {
  /// Where the photos lie that a directory of the Thumb zone shows: Photo's first.
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

  /// The photo whose thumbnail a directory of the Thumb zone shows under this name, whether it has
  /// one already or not.
  static func photo(shownAs name: [UInt8], in directory: InodeIndex, _ catalog: borrowing Catalog)
    -> InodeIndex?
  {
    if name[0] == UInt8(ascii: ".") { return nil }
    for folder in photoDirectories(shownIn: directory, catalog) {
      if let child = catalog.child(name, of: folder), catalog.state(child).kind == .regular {
        return child
      }
    }
    return nil
  }

  /// Whether a photo's thumbnail goes before an entry of the user's.
  static func supersedesEntry(_ photo: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    let state = catalog.state(photo)
    return state.thumbnailState == .made && state.marks.contains(.thumbnailGoesFirst)
      && catalog.thumbnail(of: photo) != nil
  }

  /// What a name in a directory leads to, view included.
  static func resolve(_ name: [UInt8], in directory: InodeIndex, _ catalog: borrowing Catalog)
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

  /// Drops an entry of the user's that the photo's thumbnail goes before.
  static func dropSuperseded(_ name: [UInt8], in directory: InodeIndex, _ catalog: inout Catalog) {
    guard let entry = catalog.child(name, of: directory), !catalog.state(entry).isDirectory,
      let photo = photo(shownAs: name, in: directory, catalog), supersedesEntry(photo, catalog)
    else { return }
    catalog.removeEntry(name, in: directory)
    catalog.update(photo) { $0.marks.remove(.thumbnailGoesFirst) }
  }

  /// The user has put an entry of this name into the Thumb zone, or has removed what was there: no
  /// thumbnail is shown or made before the photo changes.
  static func giveUpThumbnail(for name: [UInt8], in directory: InodeIndex, _ catalog: inout Catalog)
  {
    guard let photo = photo(shownAs: name, in: directory, catalog) else { return }
    catalog.dropThumbnail(of: photo)
    catalog.update(photo) { state in
      if state.thumbnailState != .none { state.setThumbnail(.removed) }
    }
  }

  /// Makes a thumbnail that the view shows an entry of the user's, in place of the view's.
  static func makeOwn(
    _ thumbnail: InodeIndex, _ name: [UInt8], in directory: InodeIndex, _ catalog: inout Catalog
  ) {
    catalog.pin(thumbnail)
    if catalog.child(name, of: directory) == nil {
      catalog.insertEntry(name, in: directory, child: thumbnail)
    }
    giveUpThumbnail(for: name, in: directory, &catalog)
    catalog.update(thumbnail) { $0.marks.remove(.madeThumbnail) }
    catalog.unpin(thumbnail)
  }

  /// A thumbnail has its photo's owner, mode and times.
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
  }
}
