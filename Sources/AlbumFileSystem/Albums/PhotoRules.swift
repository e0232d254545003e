import AlbumFormat
import AlbumModel
import AlbumStore

// DESIGN section 5: which files are photos, and when a thumbnail is due. A file becomes a photo
// with a name at a photo's place, and stays one wherever it is moved (into the trash and back):
// `thumbnailState` is `.none` for all that never was one.

/// What makes a file a photo, and what a change does to its thumbnail.
enum PhotoRules {
  /// A file has got this name. At a photo's place it becomes a photo, and what its thumbnail needs
  /// of Thumb is there again. `replaces`: another photo with content had the name until now.
  /// Answers whether a thumbnail is due.
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
      catalog.child(name.bytes, of: $0)
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

  /// The same for all files below a directory that has come to a photo's place. Answers those for
  /// which a thumbnail is due.
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
    var files: [(name: [UInt8], index: InodeIndex)] = []
    catalog.forEachEntry(of: directory) { name, child, _ in
      if catalog.state(child).kind == .regular { files.append((name, child)) }
      return true
    }
    var due: [InodeNumber] = []
    for file in files {
      guard let name = try? FileName(file.name) else { continue }
      if becomePhoto(file.index, name, in: directory, time: time, &catalog) {
        due.append(catalog.state(file.index).number)
      }
    }
    return due
  }

  /// A file's content has changed. `hadContent`: it had some before it was opened. The thumbnail goes in
  /// the same step of history as the content that it shows: what follows may be no picture at all.
  static func contentChanged(
    _ file: InodeIndex, size: Int64, hadContent: Bool, _ catalog: inout Catalog
  ) {
    catalog.dropThumbnail(of: file)
    catalog.update(file) { state in
      state.size = size
      state.contentVersion = NumberLimits.following(state.contentVersion)
      switch state.thumbnailState {
      case .none: return
      // What the user put into Thumb before the photo had content stays.
      case .removed where !hadContent: return
      case .pending: break
      case .removed, .made, .failed: state.setThumbnail(.pending)
      }
      if hadContent { state.marks.insert(.thumbnailGoesFirst) }
    }
  }

  /// Whether this name is a photo of the album: its cover can be it.
  static func isPhoto(_ name: FileName, of album: InodeIndex, _ catalog: borrowing Catalog) -> Bool
  {
    if name.isHidden { return false }
    for folder in [AlbumRules.photoDirectory(of: album, catalog), album] {
      if let folder, let child = catalog.child(name.bytes, of: folder),
        catalog.state(child).kind == .regular
      {
        return true
      }
    }
    return false
  }
}
