import AlbumFormat
import AlbumModel
import AlbumStore

// The rules of albums: what a directory is, and which names may go where. An album, and an album's Photo or
// Thumb, has a mark on its inode. For directories below, the rules climb to the next mark, so that a rename
// changes nothing below it.

/// The role of a directory.
enum Zone: Equatable {
  case root
  case album(InodeIndex)
  /// An album's Photo, or a folder in it.
  case photo(album: InodeIndex, top: InodeIndex)
  /// An album's Thumb, or a folder in it.
  case thumb(album: InodeIndex, top: InodeIndex)
  /// A directory whose name begins with a dot, and everything below it.
  case plain

  /// True if a picture here is a photo and gets a thumbnail.
  var holdsPhotos: Bool {
    switch self {
    case .album, .photo: true
    default: false
    }
  }

  var isThumb: Bool { if case .thumb = self { true } else { false } }

  var album: InodeIndex? {
    switch self {
    case .album(let album), .photo(let album, _), .thumb(let album, _): album
    case .root, .plain: nil
    }
  }
}

extension InodeState {
  /// True for an album's Photo or Thumb itself.
  var isAlbumPart: Bool {
    !marks.isDisjoint(with: [.photoDirectory, .thumbDirectory])
  }

  var isDirectory: Bool { kind == .directory }
}

extension Catalog {
  func zone(of directory: InodeIndex) -> Zone {
    let own = state(directory)
    if own.number == .root { return .root }
    if own.marks.contains(.album) { return .album(directory) }
    guard let top = albumPart(of: directory), let album = index(of: parent(of: top)) else {
      return .plain
    }
    let isPhoto = state(top).marks.contains(.photoDirectory)
    return isPhoto ? .photo(album: album, top: top) : .thumb(album: album, top: top)
  }

  /// The Photo or Thumb that a directory is or lies in, without a hidden directory between them. Climbs only
  /// as far as no earlier call did.
  private func albumPart(of directory: InodeIndex) -> InodeIndex? {
    var at = directory
    var climbed: [InodeNumber] = []
    var part: InodeIndex?
    while true {
      let state = state(at)
      if state.number == .root || state.marks.contains(.album) { break }
      guard let name = name(of: at), let parent = index(of: parent(of: at)) else { break }
      if state.isAlbumPart {
        part = at
        break
      }
      if name[0] == UInt8(ascii: ".") { break }
      if let known = memo.part(of: state.number) {
        part = known.flatMap { index(of: $0) }
        break
      }
      climbed.append(state.number)
      at = parent
    }
    if !climbed.isEmpty { memo.remember(part: part.map { state($0).number }, of: climbed) }
    return part
  }

  /// The names from a directory down to one below it; empty if they are the same.
  func names(from top: InodeIndex, to directory: InodeIndex) -> [[UInt8]] {
    var names: [[UInt8]] = []
    var at = directory
    while at != top {
      guard let name = name(of: at), let parent = index(of: parent(of: at)) else { return names }
      names.append(name)
      at = parent
    }
    return names.reversed()
  }

  /// The directory below `otherTop` with the same path as `directory` below `top`; nil if there is none.
  /// Climbs only as far as no earlier call did.
  func counterpart(of directory: InodeIndex, below top: InodeIndex, in otherTop: InodeIndex)
    -> InodeIndex?
  {
    var (missing, at) = knownCounterpart(of: directory, below: top, in: otherTop)
    while let folder = missing.popLast() {
      guard let name = name(of: folder), let next = child(name, of: at), state(next).isDirectory
      else { return nil }
      memo.remember(counterparts: state(folder).number, state(next).number)
      at = next
    }
    return at
  }

  /// The known counterpart of the nearest directory at or above this one. `missing` has the directories
  /// below it, the highest last.
  func knownCounterpart(of directory: InodeIndex, below top: InodeIndex, in otherTop: InodeIndex)
    -> (missing: [InodeIndex], counterpart: InodeIndex)
  {
    var missing: [InodeIndex] = []
    var at = directory
    while at != top {
      if let known = memo.counterpart(of: state(at).number), let index = index(of: known),
        state(index).links > 0
      {
        return (missing, index)
      }
      missing.append(at)
      guard let parent = index(of: parent(of: at)) else { break }
      at = parent
    }
    return (missing, otherTop)
  }

  /// An album's Photo; nil if it was removed.
  func photoDirectory(of album: InodeIndex) -> InodeIndex? {
    part(.photo, .photoDirectory, of: album)
  }

  func thumbDirectory(of album: InodeIndex) -> InodeIndex? {
    part(.thumb, .thumbDirectory, of: album)
  }

  private func part(_ name: FileName, _ mark: InodeState.Marks, of album: InodeIndex)
    -> InodeIndex?
  {
    child(name.bytes, of: album).flatMap { state($0).marks.contains(mark) ? $0 : nil }
  }

  /// The marks for a new directory. Only this function decides what is an album.
  func marksForNewDirectory(_ name: FileName, in parent: InodeIndex) -> InodeState.Marks {
    switch zone(of: parent) {
    case .album where name == .photo: .photoDirectory
    case .album where name == .thumb: .thumbDirectory
    case .root, .album: name.isHidden ? [] : .album
    default: []
    }
  }

  /// True if a directory may get this name here; otherwise it must be copied. A rename makes no plain
  /// directory an album or an album's part, and moves no album into a Photo or Thumb.
  func allowsMove(of directory: InodeIndex, to name: FileName, in parent: InodeIndex) -> Bool {
    let isAlbum = state(directory).marks.contains(.album)
    switch zone(of: parent) {
    case .root: return isAlbum || name.isHidden
    case .album: return name != .photo && name != .thumb && (isAlbum || name.isHidden)
    case .photo, .thumb: return !isAlbum && !holdsAlbum(directory)
    case .plain: return true
    }
  }

  /// True if an album lies anywhere in a directory, such as a trash.
  private func holdsAlbum(_ directory: InodeIndex) -> Bool {
    var waiting = [directory]
    while let next = waiting.popLast() {
      for child in subdirectories(of: next) {
        if state(child.index).marks.contains(.album) { return true }
        waiting.append(child.index)
      }
    }
    return false
  }

  /// Copies out the subdirectories of a directory.
  func subdirectories(of directory: InodeIndex) -> [(name: [UInt8], index: InodeIndex)] {
    var result: [(name: [UInt8], index: InodeIndex)] = []
    if subdirectoryCount(of: directory) == 0 { return result }
    forEachEntry(of: directory) { name, child, _ in
      if state(child).isDirectory { result.append((name, child)) }
      return true
    }
    return result
  }

  /// True if `directory` is `top` or lies below it.
  func isBelow(_ directory: InodeIndex, _ top: InodeIndex) -> Bool {
    var at = directory
    while at != top {
      if state(at).number == .root { return false }
      guard let parent = index(of: parent(of: at)), parent != at else { return false }
      at = parent
    }
    return true
  }
}
