import AlbumFormat
import AlbumModel
import AlbumStore

/// The cover of an album: the extended attribute `user.albumfs.cover` of its directory, a photo's name. If
/// the attribute is not set or the photo is gone, reading it returns the first photo by name. Only an
/// attribute that is set is listed, so that a copy with attributes does not set it.
enum Cover {
  static let attribute = Array("user.albumfs.cover".utf8)

  static func isCover(_ attribute: [UInt8], of index: InodeIndex, _ catalog: borrowing Catalog)
    -> Bool
  {
    attribute == Cover.attribute && catalog.state(index).marks.contains(.album)
  }

  /// The photo that the attribute of an album names, as it is or was; nil if it has none of that name.
  static func chosen(of album: ShownInode, _ catalog: borrowing Catalog) -> FileName? {
    guard let value = catalog.attribute(Cover.attribute, of: album.state(in: catalog)),
      let name = try? FileName(value), PhotoRules.isPhoto(name, of: album, catalog)
    else { return nil }
    return name
  }

  /// Throws `.invalid` if the value is no photo of the album. An album without photos accepts any name,
  /// because a restore sets the attributes of a directory before it fills it.
  static func check(_ value: [UInt8], of album: InodeIndex, _ catalog: borrowing Catalog)
    throws(FSError)
  {
    guard let name = try? FileName(value) else {
      throw FSError(.invalid, "a cover is the name of a photo")
    }
    let album = ShownInode(album)
    if !PhotoRules.isPhoto(name, of: album, catalog), hasPhoto(album, catalog) {
      throw FSError(.invalid, "the album has no photo of that name")
    }
  }

  private static func hasPhoto(_ album: ShownInode, _ catalog: borrowing Catalog) -> Bool {
    var found = false
    for folder in [album.photoDirectory(in: catalog), album] {
      guard let folder else { continue }
      catalog.forEachEntry(of: folder.index) { name, child, _ in
        found = found || isPhoto(name, child, catalog)
        return !found
      }
    }
    return found
  }

  fileprivate static func isPhoto(
    _ name: FileName, _ child: InodeIndex, _ catalog: borrowing Catalog
  ) -> Bool { !name.isHidden && catalog.state(child).kind == .regular }
}

extension FileSystem {
  /// The first photo of an album by its name, as it is or was. Takes the catalog's lock for some entries at a
  /// time.
  func firstPhoto(of album: InodeNumber) throws(FSError) -> FileName? {
    var first: FileName?
    for isInFolder in [true, false] {
      var cursor = ShownEntryCursor()
      while !cursor.isAtEnd {
        try space.read { (catalog: borrowing Catalog) throws(FSError) in
          let album = try ShownInode(album, in: catalog, of: past)
          let folder = isInFolder ? album.photoDirectory(in: catalog) : album
          guard let folder else { return cursor.isAtEnd = true }
          folder.forEachEntry(in: catalog, &cursor) { name, child in
            if Cover.isPhoto(name, child, catalog), first.map({ name < $0 }) ?? true {
              first = name
            }
          }
        }
      }
    }
    return first
  }
}
