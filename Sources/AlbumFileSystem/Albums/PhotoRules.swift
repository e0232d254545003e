import AlbumFormat
import AlbumModel
import AlbumStore

// Which files are photos, and when a thumbnail is due. A file becomes a photo when it gets a name at a
// photo's place, and stays one wherever it is moved (into the trash and back). `thumbnailState` is `.none`
// for files that never were photos.

extension Catalog {
  /// A file has got this name. At a photo's place it becomes a photo, and the parts of Thumb that its
  /// thumbnail needs come back. `replaces`: another photo with content had the name until now. Returns true
  /// if a thumbnail is due.
  mutating func becomePhoto(
    _ file: InodeIndex, _ name: FileName, in directory: InodeIndex, replaces: Bool = false,
    time: Timestamp
  ) -> Bool {
    guard state(file).kind == .regular, !name.isHidden, zone(of: directory).holdsPhotos else {
      return false
    }
    let entry = ensureTwin(of: directory, time: time).flatMap { child(name.bytes, of: $0) }
    let isUsersOwn = entry.map { !state($0).isDirectory } ?? false
    let before = state(file).thumbnailState
    if before == .none {
      let isKept = isUsersOwn && !replaces
      update(file) { $0.thumbnailState = isKept ? .removed : .pending }
    }
    if replaces && isUsersOwn { update(file) { $0.marks.insert(.thumbnailGoesFirst) } }
    return state(file).thumbnailState == .pending
  }

  /// The same for all files below a directory that has moved to a photo's place. Returns those whose
  /// thumbnail is due.
  mutating func becomePhotos(below directory: InodeIndex, time: Timestamp) -> [InodeNumber] {
    var due: [InodeNumber] = []
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard case .photo = zone(of: next) else { continue }
      due += becomePhotos(in: next, time: time)
      waiting += subdirectories(of: next).reversed().map(\.index)
    }
    return due
  }

  private mutating func becomePhotos(in directory: InodeIndex, time: Timestamp) -> [InodeNumber] {
    var files: [(name: [UInt8], index: InodeIndex)] = []
    forEachEntry(of: directory) { name, child, _ in
      if state(child).kind == .regular { files.append((name, child)) }
      return true
    }
    var due: [InodeNumber] = []
    for file in files {
      guard let name = try? FileName(file.name) else { continue }
      if becomePhoto(file.index, name, in: directory, time: time) {
        due.append(state(file.index).number)
      }
    }
    return due
  }

  /// A file's content has changed. `hadContent`: it had some before it was opened. The thumbnail goes in the
  /// same step of history as the content that it shows, because the new content may be no picture.
  mutating func contentChanged(_ file: InodeIndex, size: Int64, hadContent: Bool) {
    dropThumbnail(of: file)
    update(file) { state in
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
  func isPhoto(_ name: FileName, of album: InodeIndex) -> Bool {
    if name.isHidden { return false }
    for folder in [photoDirectory(of: album), album] {
      if let folder, let child = child(name.bytes, of: folder), state(child).kind == .regular {
        return true
      }
    }
    return false
  }
}
