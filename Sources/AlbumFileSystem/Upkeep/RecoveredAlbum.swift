import AlbumFormat
package import AlbumModel
package import AlbumStore

/// The album `Recovered` in the root, for files and directories without a place. The rules of a rename apply:
/// files become photos, albums stay albums.
package struct RecoveredAlbum {
  private static let name = FileName(literal: "Recovered")
  private let album: InodeIndex
  private let photos: InodeIndex

  /// Finds or makes the album: `Recovered`, or `Recovered (2)` if something else has that name.
  package init(in catalog: inout Catalog, time: Timestamp) {
    let root = catalog.index(of: .root)!
    var name = RecoveredAlbum.name
    var attempt = 1
    while let taken = catalog.child(name, of: root),
      !catalog.state(taken).marks.contains(.album)
    {
      attempt += 1
      name = RecoveredAlbum.name.with(" (\(attempt))")
    }
    album = Creation.ensureDirectory(
      name, in: root, like: root, marks: .album, time: time, &catalog)!
    photos = RecoveredAlbum.part(.photo, .photoDirectory, of: album, &catalog, time)
    _ = RecoveredAlbum.part(.thumb, [.thumbDirectory, .implicit], of: album, &catalog, time)
  }

  /// Returns a part of the album, under another name if a file has the usual one.
  private static func part(
    _ name: FileName, _ marks: InodeState.Marks, of album: InodeIndex, _ catalog: inout Catalog,
    _ time: Timestamp
  ) -> InodeIndex {
    if let part = Creation.ensureDirectory(
      name, in: album, like: album, marks: marks, time: time, &catalog)
    {
      return part
    }
    let other = name.with(" (directory)")
    let free = RecoveredAlbum.freeName(other, in: album, catalog)
    return Creation.ensureDirectory(
      free, in: album, like: album, marks: marks, time: time, &catalog)!
  }

  /// True for the directory in which recovered files lie.
  package func holds(_ directory: InodeNumber, in catalog: borrowing Catalog) -> Bool {
    catalog.state(photos).number == directory
  }

  /// Names an inode in the album and returns the path. An album becomes an album in it, and another directory
  /// that holds albums a hidden directory. Other directories and all files go to its Photo.
  package func place(
    _ index: InodeIndex, named name: FileName, time: Timestamp, in catalog: inout Catalog
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
    } else {
      _ = PhotoRules.becomePhoto(index, free, in: parent, time: time, &catalog)
    }
    return catalog.path(of: free, in: parent)
  }

  private func target(
    _ index: InodeIndex, _ name: FileName, _ catalog: borrowing Catalog
  ) -> (parent: InodeIndex, name: FileName) {
    if !catalog.state(index).isDirectory { return (photos, name) }
    if AlbumRules.allowsMove(of: index, to: name, in: photos, catalog) { return (photos, name) }
    if AlbumRules.allowsMove(of: index, to: name, in: album, catalog) { return (album, name) }
    return (album, name.hidden)
  }

  /// The name, or if it is taken, one with a number before the extension.
  private static func freeName(
    _ name: FileName, in directory: InodeIndex, _ catalog: borrowing Catalog
  ) -> FileName {
    var attempt = 1
    while true {
      let candidate = name.with(attempt == 1 ? "" : " (\(attempt))")
      if catalog.child(candidate, of: directory) == nil { return candidate }
      attempt += 1
    }
  }
}

extension FileName {
  fileprivate var hidden: FileName {
    (try? FileName(cutting: [UInt8(ascii: ".")] + bytes)) ?? self
  }
}
