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

  /// The name of the photo that represents an album, as it is or was; nil if it has none.
  static func name(of album: ShownInode, _ catalog: borrowing Catalog) -> FileName? {
    if let value = catalog.attribute(Cover.attribute, of: album.state(in: catalog)),
      let name = try? FileName(value), PhotoRules.isPhoto(name, of: album, catalog)
    {
      return name
    }
    return firstPhoto(of: album, catalog)
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
    if !PhotoRules.isPhoto(name, of: album, catalog), firstPhoto(of: album, catalog) != nil {
      throw FSError(.invalid, "the album has no photo of that name")
    }
  }

  private static func firstPhoto(of album: ShownInode, _ catalog: borrowing Catalog) -> FileName? {
    var first: FileName?
    for folder in [album.photoDirectory(in: catalog), album] {
      folder?.forEachEntry(in: catalog) { name, child in
        if !name.isHidden, catalog.state(child).kind == .regular, first.map({ name < $0 }) ?? true {
          first = name
        }
      }
    }
    return first
  }
}
