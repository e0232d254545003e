import AlbumFormat
import AlbumModel
import AlbumStore

/// DESIGN section 5, "Cover": the extended attribute `user.albumfs.cover` of an album directory, a
/// photo's name. Where it is not set, or the photo it names is gone, reading it returns the first
/// photo by name. It is listed only when it is set, so that a copy with attributes does not set it.
enum Cover {
  static let attribute = Array("user.albumfs.cover".utf8)

  static func isCover(_ attribute: [UInt8], of index: InodeIndex, _ catalog: borrowing Catalog)
    -> Bool
  {
    attribute == Cover.attribute && catalog.state(index).marks.contains(.album)
  }

  /// The name of the photo that stands for an album; nil where it has none.
  static func name(of album: InodeIndex, _ catalog: borrowing Catalog) -> [UInt8]? {
    if let value = catalog.attribute(Cover.attribute, of: album), let name = try? FileName(value),
      PhotoRules.isPhoto(name, of: album, catalog)
    {
      return value
    }
    return firstPhoto(of: album, catalog)
  }

  /// Throws `.invalid` for what is no photo of the album. An album that has no photo yet takes any
  /// name: a restore sets the attributes of a directory before it fills it.
  static func check(_ value: [UInt8], of album: InodeIndex, _ catalog: borrowing Catalog)
    throws(FSError)
  {
    guard let name = try? FileName(value) else {
      throw FSError(.invalid, "a cover is the name of a photo")
    }
    if !PhotoRules.isPhoto(name, of: album, catalog), firstPhoto(of: album, catalog) != nil {
      throw FSError(.invalid, "the album has no photo of that name")
    }
  }

  private static func firstPhoto(of album: InodeIndex, _ catalog: borrowing Catalog) -> [UInt8]? {
    var first: [UInt8]?
    for folder in [AlbumRules.photoDirectory(of: album, catalog), album] {
      guard let folder else { continue }
      catalog.forEachEntry(of: folder) { name, child, _ in
        if name[0] != UInt8(ascii: "."), catalog.state(child).kind == .regular,
          first.map({ name.lexicographicallyPrecedes($0) }) ?? true
        {
          first = name
        }
        return true
      }
    }
    return first
  }
}
