import AlbumFormat
package import AlbumModel
package import AlbumStore

/// The album `Recovered` in the root, where a repair puts what has no place any more. What comes into it
/// follows the rules of any rename: files become photos, albums stay albums.
package struct RecoveredAlbum {
  package static let name = "Recovered"
  private let album: InodeIndex
  private let photos: InodeIndex

  /// Finds the album, or makes it; `Recovered (2)` where something else has the name.
  package init(in catalog: inout Catalog, time: Timestamp) {
    let root = catalog.index(of: .root)!
    var name = RecoveredAlbum.name
    var attempt = 1
    while let taken = catalog.child(Array(name.utf8), of: root),
      !catalog.state(taken).marks.contains(.album)
    {
      attempt += 1
      name = "\(RecoveredAlbum.name) (\(attempt))"
    }
    album = Creation.ensureDirectory(
      Array(name.utf8), in: root, like: root, marks: .album, time: time, &catalog)!
    photos = RecoveredAlbum.part(.photo, .photoDirectory, of: album, &catalog, time)
    _ = RecoveredAlbum.part(.thumb, [.thumbDirectory, .implicit], of: album, &catalog, time)
  }

  /// A part that has another name where a file has its own.
  private static func part(
    _ name: FileName, _ marks: InodeState.Marks, of album: InodeIndex, _ catalog: inout Catalog,
    _ time: Timestamp
  ) -> InodeIndex {
    let other = name.bytes + Array(" (directory)".utf8)
    if let part = Creation.ensureDirectory(
      name.bytes, in: album, like: album, marks: marks, time: time, &catalog)
    {
      return part
    }
    let free = RecoveredAlbum.freeName(other, in: album, catalog)
    return Creation.ensureDirectory(
      free, in: album, like: album, marks: marks, time: time, &catalog)!
  }

  /// True for the directory in which recovered files lie.
  package func holds(_ directory: InodeNumber, in catalog: borrowing Catalog) -> Bool {
    catalog.state(photos).number == directory
  }

  /// Gives what has no name one in the album; returns its path. Albums become albums in it, a directory
  /// that holds albums a hidden one, other directories and all files go to its Photo.
  package func place(
    _ index: InodeIndex, named name: [UInt8], time: Timestamp, in catalog: inout Catalog
  ) -> String {
    catalog.update(index) { state in
      state.marks.remove(.madeThumbnail)
      if state.isDirectory { state.marks.formIntersection(.album) }
    }
    let (parent, wanted) = target(index, name, catalog)
    let free = RecoveredAlbum.freeName(wanted, in: parent, catalog)
    catalog.insertEntry(free, in: parent, child: index)
    if catalog.state(index).isDirectory {
      _ = PhotoRules.becomePhotos(below: index, time: time, &catalog)
    } else if let name = try? FileName(free) {
      _ = PhotoRules.becomePhoto(index, name, in: parent, time: time, &catalog)
    }
    return catalog.path(of: free, in: parent)
  }

  private func target(
    _ index: InodeIndex, _ name: [UInt8], _ catalog: borrowing Catalog
  ) -> (parent: InodeIndex, name: [UInt8]) {
    guard catalog.state(index).isDirectory, let wanted = try? FileName(name) else {
      return (photos, name)
    }
    if AlbumRules.allowsMove(of: index, to: wanted, in: photos, catalog) { return (photos, name) }
    if AlbumRules.allowsMove(of: index, to: wanted, in: album, catalog) { return (album, name) }
    return (album, [UInt8(ascii: ".")] + name)
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
  /// Where Thumb shows the thumbnail of the photo of that name, from the space's root; the photo's own path
  /// where nothing shows it, as in a trash.
  package func thumbnailPath(of name: [UInt8], in directory: InodeIndex) -> String {
    path(of: name, in: Twins.twin(of: directory, self) ?? directory)
  }
}
