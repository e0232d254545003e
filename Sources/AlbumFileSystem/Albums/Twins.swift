import AlbumFormat
import AlbumModel
import AlbumStore

/// Folders of Photo have a twin in Thumb: a real directory, marked implicit, made and moved and removed
/// together with the folder.
enum Twins {
  /// The directory of the Thumb zone that shows a directory of the Photo zone; nil if there is none.
  static func twin(of folder: InodeIndex, _ catalog: borrowing Catalog) -> InodeIndex? {
    switch Zone(of: folder, in: catalog) {
    case .album(let album): return AlbumRules.thumbDirectory(of: album, catalog)
    case .photo(let album, let top):
      guard let thumb = AlbumRules.thumbDirectory(of: album, catalog) else { return nil }
      return counterpart(of: folder, below: top, in: thumb, catalog)
    default: return nil
    }
  }

  /// Does the same, and creates a missing twin with all directories above it. nil if something else has its
  /// name, or if the album's Thumb was removed.
  @discardableResult
  static func ensure(of folder: InodeIndex, time: Timestamp, _ catalog: inout Catalog)
    -> InodeIndex?
  {
    let album: InodeIndex
    let photo: InodeIndex?
    switch Zone(of: folder, in: catalog) {
    case .album(let index): (album, photo) = (index, nil)
    case .photo(let index, let top): (album, photo) = (index, top)
    default: return nil
    }
    guard let thumb = AlbumRules.thumbDirectory(of: album, catalog) else { return nil }
    var (missing, at) = knownCounterpart(of: folder, below: photo ?? folder, in: thumb, catalog)
    while let next = missing.popLast() {
      guard let name = catalog.name(of: next),
        let twin = Creation.ensureDirectory(
          name, in: at, like: folder, marks: .implicit, time: time, &catalog)
      else { return nil }
      catalog.memo.remember(counterparts: catalog.state(next).number, catalog.state(twin).number)
      at = twin
    }
    return at
  }

  /// Gives the twin of a directory of the Photo zone that directory's owner, permissions and ACL: nobody sees
  /// thumbnails of photos that they cannot reach. Returns the twin; nil if there is none.
  static func resemble(_ folder: InodeIndex, time: Timestamp, _ catalog: inout Catalog)
    -> InodeNumber?
  {
    let state = catalog.state(folder)
    guard state.isDirectory, case .photo = Zone(of: folder, in: catalog),
      let twin = twin(of: folder, catalog)
    else { return nil }
    catalog.update(twin) { twin in
      twin.permissions = state.permissions
      twin.owner = state.owner
      twin.group = state.group
      twin.changed = time
    }
    AccessControl.copy(from: folder, to: twin, &catalog)
    return catalog.state(twin).number
  }

  /// Creates the twins of a folder and of all folders in it.
  static func ensureAll(below folder: InodeIndex, time: Timestamp, _ catalog: inout Catalog) {
    var waiting = [folder]
    while let next = waiting.popLast() {
      if ensure(of: next, time: time, &catalog) == nil { continue }
      for child in catalog.subdirectories(of: next).reversed() where !child.name.isHidden {
        waiting.append(child.index)
      }
    }
  }

  /// A folder has moved away: removes its twin, or gives it to the user if something of the user's is in it.
  /// Returns true if it was removed.
  @discardableResult
  static func drop(_ name: FileName, in directory: InodeIndex, _ catalog: inout Catalog) -> Bool {
    guard let twin = catalog.child(name, of: directory),
      catalog.state(twin).marks.contains(.implicit)
    else {
      return false
    }
    if AlbumRemoval.isFreeOfUser(twin, catalog) {
      AlbumRemoval.removeTree(name, in: directory, &catalog)
      return true
    }
    catalog.update(twin) { $0.marks.remove(.implicit) }
    return false
  }

  /// Removes the twin of a folder that is gone from a directory of the Photo zone. Returns the directory of
  /// the Thumb zone that had the twin.
  static func drop(of name: FileName, in directory: InodeIndex, _ catalog: inout Catalog)
    -> InodeNumber?
  {
    guard case .photo = Zone(of: directory, in: catalog), let twin = twin(of: directory, catalog)
    else { return nil }
    return drop(name, in: twin, &catalog) ? catalog.state(twin).number : nil
  }

  /// The directory below `otherTop` with the same path as `directory` below `top`; nil if there is none.
  /// Climbs only as far as no earlier call did.
  static func counterpart(
    of directory: InodeIndex, below top: InodeIndex, in otherTop: InodeIndex,
    _ catalog: borrowing Catalog
  ) -> InodeIndex? {
    var (missing, at) = knownCounterpart(of: directory, below: top, in: otherTop, catalog)
    while let folder = missing.popLast() {
      guard let name = catalog.name(of: folder), let next = catalog.child(name, of: at),
        catalog.state(next).isDirectory
      else { return nil }
      catalog.memo.remember(counterparts: catalog.state(folder).number, catalog.state(next).number)
      at = next
    }
    return at
  }

  /// The known counterpart of the nearest directory at or above this one. `missing` has the directories
  /// below it, the highest last.
  static func knownCounterpart(
    of directory: InodeIndex, below top: InodeIndex, in otherTop: InodeIndex,
    _ catalog: borrowing Catalog
  ) -> (missing: [InodeIndex], counterpart: InodeIndex) {
    var missing: [InodeIndex] = []
    var at = directory
    while at != top {
      if let known = catalog.memo.counterpart(of: catalog.state(at).number),
        let index = catalog.index(of: known),
        catalog.state(index).links > 0
      {
        return (missing, index)
      }
      missing.append(at)
      guard let parent = catalog.index(of: catalog.parent(of: at)) else { break }
      at = parent
    }
    return (missing, otherTop)
  }
}
