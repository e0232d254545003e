import AlbumFormat
import AlbumModel

/// The album `Recovered` in the root, where a repair puts what has no place any more.
struct RecoveredAlbum {
  static let name = "Recovered"
  private let album: InodeIndex
  private let photos: InodeIndex
  private let displayName: String

  /// Finds the album, or makes it; `Recovered (2)` where something else has the name.
  init(in catalog: inout Catalog, time: Timestamp) {
    let root = catalog.index(of: .root)!
    var name = RecoveredAlbum.name
    var attempt = 1
    while let taken = catalog.child(Array(name.utf8), of: root),
      !catalog.state(taken).marks.contains(.album)
    {
      attempt += 1
      name = "\(RecoveredAlbum.name) (\(attempt))"
    }
    displayName = name
    album = RecoveredAlbum.directory(Array(name.utf8), in: root, .album, &catalog, time)
    photos = RecoveredAlbum.directory(
      FileName.photo.bytes, in: album, .photoDirectory, &catalog, time)
    _ = RecoveredAlbum.directory(
      FileName.thumb.bytes, in: album, [.thumbDirectory, .implicit], &catalog, time)
  }

  private static func directory(
    _ name: [UInt8], in parent: InodeIndex, _ marks: InodeState.Marks, _ catalog: inout Catalog,
    _ time: Timestamp
  ) -> InodeIndex {
    if let found = catalog.child(name, of: parent), catalog.state(found).kind == .directory {
      return found
    }
    let model = catalog.state(parent)
    let made = catalog.create(
      kind: .directory, permissions: model.permissions, owner: model.owner, group: model.group,
      time: time)
    catalog.update(made) { $0.marks = marks }
    var free = name
    if catalog.child(name, of: parent) != nil { free += Array(" (directory)".utf8) }
    catalog.insertEntry(free, in: parent, child: made)
    catalog.unpin(made)
    return made
  }

  /// Whether something of that name lies there already.
  func holds(_ directory: InodeNumber, in catalog: borrowing Catalog) -> Bool {
    catalog.state(photos).number == directory
  }

  /// Gives what has no name one in the album; answers its path. Albums become albums in it, other
  /// directories and all files go to its Photo.
  func place(_ index: InodeIndex, named name: [UInt8], in catalog: inout Catalog) -> String {
    let state = catalog.state(index)
    var parent = photos
    var name = name
    if state.kind == .directory {
      if state.marks.contains(.album) {
        parent = album
      } else if catalog.holdsAlbum(index) {
        // No album may lie in a Photo; in an album only hidden directories are none.
        parent = album
        name = [UInt8(ascii: ".")] + name
      }
      catalog.update(index) { $0.marks.formIntersection(.album) }
    } else {
      catalog.update(index) { state in
        state.marks.remove(.madeThumbnail)
        if state.kind == .regular, state.thumbnailState == .none { state.thumbnailState = .pending }
      }
    }
    let free = RecoveredAlbum.freeName(name, in: parent, catalog)
    catalog.insertEntry(free, in: parent, child: index)
    return catalog.way(to: parent).path(of: free)
  }

  /// The name, or one with a number before its extension where it is taken.
  private static func freeName(
    _ name: [UInt8], in directory: InodeIndex, _ catalog: borrowing Catalog
  ) -> [UInt8] {
    let dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 ? $0 : nil } ?? name.count
    let ending = Array(name[dot...].prefix(32))
    var attempt = 1
    while true {
      let number = attempt == 1 ? [] : Array(" (\(attempt))".utf8)
      let room = FileName.maximumLength - ending.count - number.count
      let candidate = Array(name[..<dot].prefix(room)) + number + ending
      if catalog.child(candidate, of: directory) == nil { return candidate }
      attempt += 1
    }
  }
}

extension Catalog {
  /// Whether an album lies anywhere in a directory.
  fileprivate func holdsAlbum(_ top: InodeIndex) -> Bool {
    var waiting = [top]
    var seen: Set<InodeIndex> = []
    var found = false
    while let next = waiting.popLast(), !found {
      forEachEntry(of: next) { _, child, _ in
        guard state(child).kind == .directory, seen.insert(child).inserted else { return true }
        if state(child).marks.contains(.album) { found = true }
        waiting.append(child)
        return !found
      }
    }
    return found
  }
}
