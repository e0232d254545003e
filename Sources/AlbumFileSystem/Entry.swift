import AlbumFormat
package import AlbumModel
import AlbumStore

/// The result of a look-up or of a call that creates: a name and its inode.
package struct Entry: Sendable {
  package var attributes: Attributes
  package let reference: InodeReference
  /// A thumbnail that the view shows under its photo's name.
  package var isThumbnail = false
  /// A directory that albumfs made and nobody has adopted.
  package var isImplicitDirectory = false
  /// True for a name in Thumb that a photo has too, and for the twin of a folder: it may lead elsewhere
  /// without a request.
  package var isShadowed = false
  /// Set for directories and in Thumb: the album that the name lies in, or that it is.
  package var album: InodeNumber?
}

extension Entry {
  /// Takes a reference. `catalog` is the space's, under its lock.
  init(
    _ resolution: Resolution, _ name: FileName, in directory: InodeIndex,
    _ catalog: borrowing Catalog, of space: Space
  ) {
    let state = catalog.state(resolution.index)
    attributes = catalog.attributes(resolution.index)
    reference = InodeReference(resolution.index, in: catalog, of: space)
    isThumbnail = resolution.photo != nil
    let zone = Zone(of: directory, in: catalog)
    guard state.isDirectory || zone.isThumb else { return }
    if state.marks.contains(.implicit) {
      isImplicitDirectory = true
      isShadowed = !state.isAlbumPart
    }
    album = zone.album.map { catalog.state($0).number }
    if !isThumbnail, !state.isDirectory,
      ThumbView.photo(shownAs: name, in: directory, catalog) != nil
    {
      isShadowed = true
    }
  }
}
