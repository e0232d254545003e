import AlbumFormat
import AlbumModel
import AlbumStore
import FileKinds

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
  /// A directory that is no album by its name (`AlbumRules`), and everything below it.
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
  var isAlbumPart: Bool { !marks.isDisjoint(with: .albumPart) }

  var isDirectory: Bool { kind == .directory }
}

extension Zone {
  init(of directory: InodeIndex, in catalog: borrowing Catalog) {
    let own = catalog.state(directory)
    if own.number == .root {
      self = .root
    } else if own.marks.contains(.album) {
      self = .album(directory)
    } else if let top = Zone.albumPart(of: directory, catalog),
      let album = catalog.index(of: catalog.parent(of: top))
    {
      let isPhoto = catalog.state(top).marks.contains(.photoDirectory)
      self = isPhoto ? .photo(album: album, top: top) : .thumb(album: album, top: top)
    } else {
      self = .plain
    }
  }

  /// The Photo or Thumb that a directory is or lies in, without a hidden directory between them. Climbs only
  /// as far as no earlier call did.
  private static func albumPart(
    of directory: InodeIndex, _ catalog: borrowing Catalog
  ) -> InodeIndex? {
    var at = directory
    var climbed: [InodeNumber] = []
    var part: InodeIndex?
    while true {
      let state = catalog.state(at)
      if state.number == .root || state.marks.contains(.album) { break }
      if let known = catalog.memo.part(of: state.number) {
        part = known.flatMap { catalog.index(of: $0) }
        break
      }
      guard let name = catalog.name(of: at), let parent = catalog.index(of: catalog.parent(of: at))
      else { break }
      if state.isAlbumPart {
        part = at
        break
      }
      climbed.append(state.number)
      if name.isHidden { break }
      at = parent
    }
    if !climbed.isEmpty {
      catalog.memo.remember(part: part.map { catalog.state($0).number }, of: climbed)
    }
    return part
  }
}

/// The parts of an album, and which directory may go where.
enum AlbumRules {
  /// An album's Photo; nil if it was removed.
  static func photoDirectory(of album: InodeIndex, _ catalog: borrowing Catalog) -> InodeIndex? {
    part(.photo, .photoDirectory, of: album, catalog)
  }

  static func thumbDirectory(of album: InodeIndex, _ catalog: borrowing Catalog) -> InodeIndex? {
    part(.thumb, .thumbDirectory, of: album, catalog)
  }

  private static func part(
    _ name: FileName, _ mark: InodeState.Marks, of album: InodeIndex, _ catalog: borrowing Catalog
  ) -> InodeIndex? {
    catalog.child(name, of: album).flatMap {
      catalog.state($0).marks.contains(mark) ? $0 : nil
    }
  }

  /// The marks for a new directory. Only this function decides what is an album.
  static func marksForNewDirectory(
    _ name: FileName, in parent: InodeIndex, _ catalog: borrowing Catalog
  ) -> InodeState.Marks {
    switch Zone(of: parent, in: catalog) {
    case .album where name == .photo: .photoDirectory
    case .album where name == .thumb: .thumbDirectory
    case .root, .album: staysPlain(name) ? [] : .album
    default: []
    }
  }

  /// True for a name whose directory becomes no album: a hidden one, and one that other programs make for
  /// themselves in every folder of photos.
  private static func staysPlain(_ name: FileName) -> Bool {
    name.isHidden || Leftover.isFolder(name.bytes)
  }

  /// True if a directory may get this name here; otherwise it must be copied. A rename makes no plain
  /// directory an album or an album's part, and moves no album into a Photo or Thumb.
  static func allowsMove(
    of directory: InodeIndex, to name: FileName, in parent: InodeIndex, _ catalog: borrowing Catalog
  ) -> Bool {
    let isAlbum = catalog.state(directory).marks.contains(.album)
    switch Zone(of: parent, in: catalog) {
    case .root: return isAlbum || staysPlain(name)
    case .album: return name != .photo && name != .thumb && (isAlbum || staysPlain(name))
    case .photo, .thumb: return !isAlbum && !holdsAlbum(directory, catalog)
    case .plain: return true
    }
  }

  /// True if an album lies anywhere in a directory, such as a trash.
  private static func holdsAlbum(_ directory: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    var waiting = [directory]
    while let next = waiting.popLast() {
      for child in catalog.subdirectories(of: next) {
        if catalog.state(child.index).marks.contains(.album) { return true }
        waiting.append(child.index)
      }
    }
    return false
  }
}
