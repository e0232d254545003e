import AlbumFormat
import AlbumModel
import AlbumStore

// The cover of an album: the extended attribute `user.albumfs.cover` of its directory, the name of a photo.
// If it is not set, or its photo is gone, reading it returns the first photo by name. Listings show it only
// if it is set, so that a copy with attributes does not set it.

enum Cover {
  static let attribute = Array("user.albumfs.cover".utf8)
}

extension Catalog {
  func isCover(_ attribute: [UInt8], of index: InodeIndex) -> Bool {
    attribute == Cover.attribute && state(index).marks.contains(.album)
  }

  /// The name of the photo that represents an album; nil if it has none.
  func cover(of album: InodeIndex) -> [UInt8]? {
    if let value = attribute(Cover.attribute, of: album), let name = try? FileName(value),
      isPhoto(name, of: album)
    {
      return value
    }
    return firstPhoto(of: album)
  }

  /// Throws `.invalid` if the value is no photo of the album. An album without photos accepts any name,
  /// because a restore sets the attributes of a directory before it fills it.
  func checkCover(_ value: [UInt8], of album: InodeIndex) throws(FSError) {
    guard let name = try? FileName(value) else {
      throw FSError(.invalid, "a cover is the name of a photo")
    }
    if !isPhoto(name, of: album), firstPhoto(of: album) != nil {
      throw FSError(.invalid, "the album has no photo of that name")
    }
  }

  private func firstPhoto(of album: InodeIndex) -> [UInt8]? {
    var first: [UInt8]?
    for folder in [photoDirectory(of: album), album] {
      guard let folder else { continue }
      forEachEntry(of: folder) { name, child, _ in
        if name[0] != UInt8(ascii: "."), state(child).kind == .regular,
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
