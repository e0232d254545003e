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
