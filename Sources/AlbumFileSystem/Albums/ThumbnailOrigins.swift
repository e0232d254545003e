import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

// DESIGN section 5: "writing, renaming or linking one makes it the user's own". The kernel names an
// inode then, and what is wanted is the name under which the view shows it. A change of mode, owner,
// times or attributes does not: `chown -R` of an album must not part thumbnails from their photos.

/// Where a thumbnail of the view is shown.
struct ThumbnailOrigin: Sendable {
  var name: FileName
  var directory: InodeNumber
  var photo: InodeNumber
}

/// The last thumbnails that were looked up through the view. Any thread.
final class ThumbnailOrigins: Sendable {
  static let limit = 4096

  /// A leaf: nothing else is locked under it.
  private let known = Mutex<[InodeNumber: ThumbnailOrigin]>([:])

  func remember(
    _ thumbnail: InodeNumber, name: FileName, directory: InodeNumber, photo: InodeNumber
  ) {
    known.withLock { known in
      if known.count >= ThumbnailOrigins.limit { known = [:] }
      known[thumbnail] = ThumbnailOrigin(name: name, directory: directory, photo: photo)
    }
  }

  func find(_ thumbnail: InodeNumber) -> ThumbnailOrigin? { known.withLock { $0[thumbnail] } }
}

extension FileSystem {
  /// Makes an inode the user's own if it is a thumbnail of the view's; else does nothing.
  func makeOwn(_ inode: InodeNumber) throws(FSError) {
    let origin = origins.find(inode)
    space.change { catalog in
      guard let index = catalog.index(of: inode),
        catalog.state(index).marks.contains(.madeThumbnail)
      else { return }
      catalog.makeOwn(index, remembered: origin)
    }
  }
}

extension Catalog {
  mutating func makeOwn(_ thumbnail: InodeIndex, remembered: ThumbnailOrigin?) {
    if let origin = remembered, let directory = index(of: origin.directory),
      let photo = photo(shownAs: origin.name.bytes, in: directory),
      self.thumbnail(of: photo) == thumbnail
    {
      makeOwn(thumbnail, origin.name.bytes, in: directory)
      return
    }
    if let place = placeInView(of: thumbnail) {
      makeOwn(thumbnail, place.name, in: place.directory)
    } else {
      update(thumbnail) { $0.marks.remove(.madeThumbnail) }
    }
  }

  /// Looks through the whole space; for the rare case that nobody remembers.
  private func placeInView(of thumbnail: InodeIndex) -> (name: [UInt8], directory: InodeIndex)? {
    let number = state(thumbnail).number
    var photo: InodeIndex?
    var directories: [InodeIndex] = []
    forEachInode { index, state in
      if state.thumbnail == number { photo = index }
      if state.isDirectory { directories.append(index) }
    }
    guard let photo else { return nil }
    for directory in directories where zone(of: directory).holdsPhotos {
      var name: [UInt8]?
      forEachEntry(of: directory) { entry, child, _ in
        if child == photo { name = entry }
        return name == nil
      }
      if let name, let twin = twin(of: directory), self.photo(shownAs: name, in: twin) == photo {
        return (name, twin)
      }
    }
    return nil
  }
}
