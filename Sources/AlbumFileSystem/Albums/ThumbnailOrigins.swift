import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

// Writing, renaming or linking a thumbnail makes it the user's own. The kernel then passes an inode, and
// albumfs needs the name under which the view shows it. A change of mode, owner, times or attributes does
// not do that: `chown -R` of an album must not separate thumbnails from their photos.

/// The place at which the view shows a thumbnail.
struct ThumbnailOrigin: Sendable {
  var name: FileName
  var directory: InodeNumber
}

/// The thumbnails that were last looked up through the view. Any thread.
final class ThumbnailOrigins: Sendable {
  static let limit = 4096

  /// A leaf: nothing else is locked under it.
  private let known = Mutex<[InodeNumber: ThumbnailOrigin]>([:], rank: .leaf)

  func remember(_ thumbnail: InodeNumber, name: FileName, directory: InodeNumber) {
    known.withLock { known in
      if known.count >= ThumbnailOrigins.limit { known = [:] }
      known[thumbnail] = ThumbnailOrigin(name: name, directory: directory)
    }
  }

  func find(_ thumbnail: InodeNumber) -> ThumbnailOrigin? { known.withLock { $0[thumbnail] } }
}

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

extension ThumbView {
  /// Makes a thumbnail the user's own, at the place where the view shows it. Returns false, and changes
  /// nothing, if the view does not show it there any more.
  static func makeOwn(
    _ thumbnail: InodeIndex, shownAt origin: ThumbnailOrigin?, _ catalog: inout Catalog
  ) -> Bool {
    guard let origin else {
      catalog.update(thumbnail) { $0.marks.remove(.madeThumbnail) }
      return true
    }
    guard let directory = catalog.index(of: origin.directory),
      let photo = photo(shownAs: origin.name, in: directory, catalog),
      catalog.thumbnail(of: photo) == thumbnail
    else { return false }
    makeOwn(thumbnail, origin.name, in: directory, &catalog)
    return true
  }
}
