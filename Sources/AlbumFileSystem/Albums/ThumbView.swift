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
//
// Folders of Photo have a twin in Thumb: a real directory, marked implicit, made and moved and
// removed together with the folder.

/// What a name leads to.
struct Resolution {
  var index: InodeIndex
  /// The photo, where the name is shown by the view and is no entry.
  var photo: InodeIndex?
}

extension Catalog {
  /// Where the photos lie that a directory of the Thumb zone shows: Photo's first.
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

  /// The photo whose thumbnail a directory of the Thumb zone shows under this name, whether it has
  /// one already or not.
  func photo(shownAs name: [UInt8], in directory: InodeIndex) -> InodeIndex? {
    if name[0] == UInt8(ascii: ".") { return nil }
    for folder in photoDirectories(shownIn: directory) {
      if let child = child(name, of: folder), state(child).kind == .regular { return child }
    }
    return nil
  }

  /// The thumbnail of what a photo shows now; nil where it has none, and where the one that it has was
  /// made of other content. A made thumbnail carries the content version that it shows as its own.
  func thumbnail(of photo: InodeIndex) -> InodeIndex? {
    let number = state(photo).thumbnail
    guard number.rawValue != 0, let made = index(of: number),
      state(made).contentVersion == state(photo).contentVersion
    else { return nil }
    return made
  }

  /// Removes the thumbnail that a photo has, whatever content it shows.
  mutating func dropThumbnail(of photo: InodeIndex) {
    if state(photo).thumbnail.rawValue != 0 { setThumbnail(nil, of: photo) }
  }

  /// Whether a photo's thumbnail goes before an entry of the user's.
  func supersedesEntry(_ photo: InodeIndex) -> Bool {
    let state = state(photo)
    return state.thumbnailState == .made && state.marks.contains(.thumbnailGoesFirst)
      && thumbnail(of: photo) != nil
  }

  /// What a name in a directory leads to, view included.
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

  /// Drops an entry of the user's that the photo's thumbnail goes before.
  mutating func dropSuperseded(_ name: [UInt8], in directory: InodeIndex) {
    guard let entry = child(name, of: directory), !state(entry).isDirectory,
      let photo = photo(shownAs: name, in: directory), supersedesEntry(photo)
    else { return }
    removeEntry(name, in: directory)
    update(photo) { $0.marks.remove(.thumbnailGoesFirst) }
  }

  /// The user has put an entry of this name into the Thumb zone, or has removed what was there: no
  /// thumbnail is shown or made before the photo changes.
  mutating func giveUpThumbnail(for name: [UInt8], in directory: InodeIndex) {
    guard let photo = photo(shownAs: name, in: directory) else { return }
    dropThumbnail(of: photo)
    update(photo) { state in
      if state.thumbnailState != .none { state.setThumbnail(.removed) }
    }
  }

  /// Makes a thumbnail that the view shows an entry of the user's, in place of the view's.
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

  /// The directory of the Thumb zone that shows a directory of the Photo zone; nil where there is
  /// none.
  func twin(of folder: InodeIndex) -> InodeIndex? {
    switch zone(of: folder) {
    case .album(let album): return thumbDirectory(of: album)
    case .photo(let album, let top):
      guard let thumb = thumbDirectory(of: album) else { return nil }
      return counterpart(of: folder, below: top, in: thumb)
    default: return nil
    }
  }

  /// The same, made with all above it where it is missing; nil where something else has its name, and
  /// where the album's Thumb was removed.
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

  /// A directory of that name, made where there is none; nil where it is no directory.
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

  /// The twins of a folder and of all folders in it.
  mutating func ensureTwins(below folder: InodeIndex, time: Timestamp) {
    var waiting = [folder]
    while let next = waiting.popLast() {
      if ensureTwin(of: next, time: time) == nil { continue }
      for child in subdirectories(of: next).reversed() where child.name[0] != UInt8(ascii: ".") {
        waiting.append(child.index)
      }
    }
  }

  /// A folder has lost its place: its twin goes, or becomes the user's where something of the user's
  /// is in it. Answers whether it went.
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
