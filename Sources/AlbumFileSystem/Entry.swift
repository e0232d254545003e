import AlbumFormat
package import AlbumModel
import AlbumStore

/// What lookup and the calls that create return: a name, as it was found, and its inode.
package struct Entry: Sendable {
  package var attributes: Attributes
  package let reference: InodeReference
  /// A thumbnail that the view shows under its photo's name.
  package var isThumbnail = false
  /// A directory that albumfs made and nobody has adopted.
  package var isImplicitDirectory = false
  /// A name in a Thumb that a photo has too, or a folder's twin: it may lead elsewhere without anybody's
  /// asking for it.
  package var isShadowed = false
  /// Set for directories and in Thumb: the album that the name lies in, or that it is.
  package var album: InodeNumber?
}

/// Keeps an inode in the space, also when it has lost its last name. Any thread; its end may change the
/// catalog, so it ends without a lock.
package final class InodeReference: Sendable {
  package let inode: InodeNumber
  private let space: Space
  private let references: InodeReferences

  /// `catalog` is the space's, under its lock.
  init(_ index: InodeIndex, in catalog: borrowing Catalog, of space: Space) {
    self.space = space
    inode = catalog.state(index).number
    references = catalog.references
    references.take(inode)
  }

  deinit {
    if references.giveBack(inode) { space.change { $0.removeIfUnused(inode) } }
  }
}

extension Catalog {
  /// What a name leads to, with a reference.
  func entry(
    _ resolution: Resolution, _ name: FileName, in directory: InodeIndex, of space: Space
  ) -> Entry {
    let state = state(resolution.index)
    var entry = Entry(
      attributes: attributes(resolution.index),
      reference: InodeReference(resolution.index, in: self, of: space))
    entry.isThumbnail = resolution.photo != nil
    guard state.isDirectory || zone(of: directory).isThumb else { return entry }
    if state.marks.contains(.implicit) {
      entry.isImplicitDirectory = true
      entry.isShadowed = !state.isAlbumPart
    }
    entry.album = zone(of: directory).album.map { self.state($0).number }
    if !entry.isThumbnail, !state.isDirectory, photo(shownAs: name.bytes, in: directory) != nil {
      entry.isShadowed = true
    }
    return entry
  }
}
