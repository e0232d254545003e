import AlbumFormat
import AlbumModel
import AlbumStore

// Thumb is a view: for every photo it shows, under the photo's name, the thumbnail of its content, unless
// the user has put an entry of that name there. The photo's inode refers to the thumbnail, so the thumbnail
// follows the photo without an entry in Thumb.
//
// A removed Thumb stays removed, even when photos arrive: a mirror of a folder without one (rsync --delete)
// would remove it at each run. `mkdir Thumb` brings it back, or `mkdir Photo` if that was removed too. Until
// then albumfs makes thumbnails all the same, and shows them nowhere.
//
// Folders of Photo have a twin in Thumb: a real directory, marked implicit, that is made, moved and removed
// together with the folder.

/// The result of a look-up.
struct Resolution {
  var index: InodeIndex
  /// The photo, if the name is shown by the view and is no entry.
  var photo: InodeIndex?
}

extension Catalog {
  /// The directories with the photos that a directory of the Thumb zone shows, Photo's first.
  func photoDirectories(shownIn directory: InodeIndex) -> [InodeIndex] {
    guard case .thumb(let album, let top) = zone(of: directory) else { return [] }
    var result: [InodeIndex] = []
    if let photo = photoDirectory(of: album),
      let folder = counterpart(of: directory, below: top, in: photo)
    {
      result.append(folder)
    }
    if directory == top { result.append(album) }
    return result
  }

  /// The photo whose thumbnail a directory of the Thumb zone shows under this name, even if it has none yet.
  func photo(shownAs name: [UInt8], in directory: InodeIndex) -> InodeIndex? {
    if name[0] == UInt8(ascii: ".") { return nil }
    for folder in photoDirectories(shownIn: directory) {
      if let child = child(name, of: folder), state(child).kind == .regular { return child }
    }
    return nil
  }

  /// The thumbnail of a photo's current content; nil if it has none, or if its thumbnail was made from other
  /// content. A thumbnail's own content version is that of the content that it shows.
  func thumbnail(of photo: InodeIndex) -> InodeIndex? {
    let number = state(photo).thumbnail
    guard number.rawValue != 0, let made = index(of: number),
      state(made).contentVersion == state(photo).contentVersion
    else { return nil }
    return made
  }

  /// Removes a photo's thumbnail, whatever content it shows.
  mutating func dropThumbnail(of photo: InodeIndex) {
    if state(photo).thumbnail.rawValue != 0 { setThumbnail(nil, of: photo) }
  }

  /// True if albumfs shows a photo's thumbnail instead of an entry of the user's.
  func supersedesEntry(_ photo: InodeIndex) -> Bool {
    let state = state(photo)
    return state.thumbnailState == .made && state.marks.contains(.thumbnailGoesFirst)
      && thumbnail(of: photo) != nil
  }

  /// Looks up a name in a directory, including the view.
  func resolve(_ name: [UInt8], in directory: InodeIndex) -> Resolution? {
    let entry = child(name, of: directory)
    guard let photo = photo(shownAs: name, in: directory), let shown = thumbnail(of: photo) else {
      return entry.map { Resolution(index: $0) }
    }
    if let entry, !supersedesEntry(photo) || state(entry).isDirectory {
      return Resolution(index: entry)
    }
    return Resolution(index: shown, photo: photo)
  }

  /// Drops an entry of the user's that the photo's thumbnail supersedes.
  mutating func dropSuperseded(_ name: [UInt8], in directory: InodeIndex) {
    guard let entry = child(name, of: directory), !state(entry).isDirectory,
      let photo = photo(shownAs: name, in: directory), supersedesEntry(photo)
    else { return }
    removeEntry(name, in: directory)
    update(photo) { $0.marks.remove(.thumbnailGoesFirst) }
  }

  /// The user has put an entry of this name into the Thumb zone, or removed it: albumfs shows and makes no
  /// thumbnail before the photo changes.
  mutating func giveUpThumbnail(for name: [UInt8], in directory: InodeIndex) {
    guard let photo = photo(shownAs: name, in: directory) else { return }
    dropThumbnail(of: photo)
    update(photo) { state in
      if state.thumbnailState != .none { state.setThumbnail(.removed) }
    }
  }

  /// Turns a thumbnail of the view into an entry of the user's.
  mutating func makeOwn(_ thumbnail: InodeIndex, _ name: [UInt8], in directory: InodeIndex) {
    pin(thumbnail)
    if child(name, of: directory) == nil {
      insertEntry(name, in: directory, child: thumbnail)
    }
    giveUpThumbnail(for: name, in: directory)
    update(thumbnail) { $0.marks.remove(.madeThumbnail) }
    unpin(thumbnail)
  }

  // MARK: Twins

  /// The directory of the Thumb zone that shows a directory of the Photo zone; nil if there is none.
  func twin(of folder: InodeIndex) -> InodeIndex? {
    switch zone(of: folder) {
    case .album(let album): return thumbDirectory(of: album)
    case .photo(let album, let top):
      guard let thumb = thumbDirectory(of: album) else { return nil }
      return counterpart(of: folder, below: top, in: thumb)
    default: return nil
    }
  }

  /// The same; creates it with all directories above it if it is missing. nil if something else has its
  /// name, or if the album's Thumb was removed.
  @discardableResult
  mutating func ensureTwin(of folder: InodeIndex, time: Timestamp) -> InodeIndex? {
    let album: InodeIndex
    let photo: InodeIndex?
    switch zone(of: folder) {
    case .album(let index): (album, photo) = (index, nil)
    case .photo(let index, let top): (album, photo) = (index, top)
    default: return nil
    }
    guard let thumb = thumbDirectory(of: album) else { return nil }
    var (missing, at) = knownCounterpart(of: folder, below: photo ?? folder, in: thumb)
    while let next = missing.popLast() {
      guard let name = name(of: next),
        let twin = ensureDirectory(name, in: at, like: folder, marks: .implicit, time: time)
      else { return nil }
      memo.remember(counterparts: state(next).number, state(twin).number)
      at = twin
    }
    return at
  }

  /// Returns or creates a directory of that name; nil if the name is no directory.
  mutating func ensureDirectory(
    _ name: [UInt8], in parent: InodeIndex, like model: InodeIndex, marks: InodeState.Marks,
    time: Timestamp
  ) -> InodeIndex? {
    if let found = child(name, of: parent) { return state(found).isDirectory ? found : nil }
    let state = state(model)
    let made = create(
      kind: .directory, permissions: state.permissions, owner: state.owner, group: state.group,
      time: time)
    update(made) { $0.marks = marks }
    insertEntry(name, in: parent, child: made)
    unpin(made)
    return made
  }

  /// Creates the twins of a folder and of all folders in it.
  mutating func ensureTwins(below folder: InodeIndex, time: Timestamp) {
    var waiting = [folder]
    while let next = waiting.popLast() {
      if ensureTwin(of: next, time: time) == nil { continue }
      for child in subdirectories(of: next).reversed() where child.name[0] != UInt8(ascii: ".") {
        waiting.append(child.index)
      }
    }
  }

  /// A folder has moved away: removes its twin, or gives it to the user if something of the user's is in it.
  /// Returns true if it was removed.
  @discardableResult
  mutating func dropTwin(_ name: [UInt8], in directory: InodeIndex) -> Bool {
    guard let twin = child(name, of: directory), state(twin).marks.contains(.implicit) else {
      return false
    }
    if isFreeOfUser(twin) {
      removeTree(name, in: directory)
      return true
    }
    update(twin) { $0.marks.remove(.implicit) }
    return false
  }
}
