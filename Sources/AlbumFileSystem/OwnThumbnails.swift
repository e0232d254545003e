import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

extension FileSystem {
  /// Makes an inode the user's own if it is a thumbnail of the view; otherwise does nothing.
  func makeOwn(_ inode: InodeNumber) throws(FSError) {
    let isOfView = space.read { catalog in
      catalog.index(of: inode).map { catalog.state($0).marks.contains(.madeThumbnail) } ?? false
    }
    if !isOfView { return }
    var origin = origins.find(inode) ?? originInView(of: inode)
    // The photo may get another name between the search and this step.
    for triesLeft in (0..<4).reversed() {
      let isOwn = space.change { catalog in
        catalog.index(of: inode).map { ThumbView.makeOwn($0, shownAt: origin, &catalog) } ?? true
      }
      if isOwn { return }
      origin = triesLeft > 1 ? originInView(of: inode) : nil
    }
  }

  /// Searches the whole space, in the rare case that the table has no entry.
  private func originInView(of thumbnail: InodeNumber) -> ThumbnailOrigin? {
    var photo: InodeNumber?
    forEachInode { if $0.thumbnail == thumbnail { photo = $0.number } }
    guard let photo else { return nil }
    for (name, directory) in names(of: photo) {
      let twin = space.read { catalog -> InodeNumber? in
        guard let folder = catalog.index(of: directory), Zone(of: folder, in: catalog).holdsPhotos,
          let twin = Twins.twin(of: folder, catalog),
          let shown = ThumbView.photo(shownAs: name, in: twin, catalog),
          catalog.state(shown).number == photo
        else { return nil }
        return catalog.state(twin).number
      }
      if let twin { return ThumbnailOrigin(name: name, directory: twin) }
    }
    return nil
  }
}
