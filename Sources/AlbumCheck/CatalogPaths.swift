import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumStore

/// The paths of some inodes, as the user sees them: from the root of the space, without a leading slash. The
/// path of a thumbnail is where Thumb shows it.
struct CatalogPaths {
  private var paths: [InodeNumber: [String]] = [:]

  init(_ catalog: borrowing Catalog, of wanted: Set<InodeNumber>) {
    if wanted.isEmpty { return }
    // A thumbnail has the names of its photo.
    var photos: [InodeNumber: InodeNumber] = [:]
    catalog.forEachInode { _, state in
      if state.thumbnail.rawValue != 0, wanted.contains(state.thumbnail) {
        photos[state.number] = state.thumbnail
      }
    }
    var directories: [InodeIndex] = []
    catalog.forEachInode { index, state in
      if state.kind == .directory { directories.append(index) }
    }
    for directory in directories {
      catalog.forEachEntry(of: directory) { name, child, _ in
        let number = catalog.state(child).number
        if wanted.contains(number) {
          paths[number, default: []].append(catalog.path(of: name, in: directory))
        }
        if let thumbnail = photos[number] {
          paths[thumbnail, default: []].append(
            ThumbView.thumbnailPath(of: name, in: directory, catalog))
        }
        return true
      }
    }
    for number in wanted {
      guard let index = catalog.index(of: number), let names = catalog.formerPath(of: index) else {
        continue
      }
      paths[number] = [names.map(\.display).joined(separator: "/") + " (deleted)"]
    }
    if wanted.contains(.root) { paths[.root] = ["/"] }
  }

  /// All paths of an inode, sorted; empty if no name leads to it.
  func all(_ number: InodeNumber) -> [String] { (paths[number] ?? []).sorted() }
}
