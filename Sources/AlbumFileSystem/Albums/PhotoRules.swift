import AlbumFormat
import AlbumModel
import AlbumStore

// Decides which files are photos, and when a thumbnail is due. A file becomes a photo when it gets a name at
// a photo's place, and stays one wherever it is moved (into the trash and back). `thumbnailState` is `.none`
// for files that never were photos.

/// The rules by which a file becomes a photo, and by which a change affects its thumbnail.
enum PhotoRules {
  /// A file has got this name. At a photo's place it becomes a photo, and the parts of Thumb that its
  /// thumbnail needs come back. `replaces` is true if another photo with content had the name until now.
  /// Returns true if a thumbnail is due.
  static func becomePhoto(
    _ file: InodeIndex, _ name: FileName, in directory: InodeIndex, replaces: Bool = false,
    time: Timestamp, _ catalog: inout Catalog
  ) -> Bool {
    guard catalog.state(file).kind == .regular, !name.isHidden,
      Zone(of: directory, in: catalog).holdsPhotos
    else {
      return false
    }
    let entry = Twins.ensure(of: directory, time: time, &catalog).flatMap {
      catalog.child(name, of: $0)
    }
    let isUsersOwn = entry.map { !catalog.state($0).isDirectory } ?? false
    let before = catalog.state(file).thumbnailState
    if before == .none {
      let isKept = isUsersOwn && !replaces
      catalog.update(file) { $0.thumbnailState = isKept ? .removed : .pending }
    }
    if replaces && isUsersOwn { catalog.update(file) { $0.marks.insert(.thumbnailGoesFirst) } }
    return catalog.state(file).thumbnailState == .pending
  }

  /// Does the same for all files below a directory that has moved to a photo's place. Returns the files whose
  /// thumbnail is due.
  static func becomePhotos(below directory: InodeIndex, time: Timestamp, _ catalog: inout Catalog)
    -> [InodeNumber]
  {
    var due: [InodeNumber] = []
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard case .photo = Zone(of: next, in: catalog) else { continue }
      due += becomePhotos(in: next, time: time, &catalog)
      waiting += catalog.subdirectories(of: next).reversed().map(\.index)
    }
    return due
  }

  private static func becomePhotos(
    in directory: InodeIndex, time: Timestamp, _ catalog: inout Catalog
  ) -> [InodeNumber] {
    var files: [(name: FileName, index: InodeIndex)] = []
    catalog.forEachEntry(of: directory) { name, child, _ in
      if catalog.state(child).kind == .regular { files.append((name, child)) }
      return true
    }
    var due: [InodeNumber] = []
    for file in files
    where becomePhoto(file.index, file.name, in: directory, time: time, &catalog) {
      due.append(catalog.state(file.index).number)
    }
    return due
  }

  /// A file's content has changed. `hadContent` is true if it had some before it was opened. The thumbnail
  /// goes in the same step of history as the content that it shows, because the new content may be no
  /// picture.
  static func contentChanged(
    _ file: InodeIndex, size: Int64, hadContent: Bool, _ catalog: inout Catalog
  ) {
    catalog.dropThumbnail(of: file)
    catalog.update(file) { state in
      state.size = size
      state.contentVersion = NumberLimits.following(state.contentVersion)
      switch state.thumbnailState {
      case .none: return
      // A file that the user put into Thumb before the photo had content stays.
      case .removed where !hadContent: return
      case .pending: break
      case .removed, .made, .failed: state.setThumbnail(.pending)
      }
      if hadContent { state.marks.insert(.thumbnailGoesFirst) }
    }
  }

  /// True if this name is a photo of the album, and so a possible cover.
  static func isPhoto(_ name: FileName, of album: ShownInode, _ catalog: borrowing Catalog) -> Bool
  {
    if name.isHidden { return false }
    for folder in [album.photoDirectory(in: catalog), album] {
      if let child = folder?.child(name, in: catalog),
        catalog.state(child).kind == .regular
      {
        return true
      }
    }
    return false
  }
}
