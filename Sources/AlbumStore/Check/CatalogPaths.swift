import AlbumFormat
import AlbumModel

/// The paths of some inodes, as the user sees them: from the root of the space, without a leading
/// slash; of a thumbnail where Thumb shows it.
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
    for raw in 0..<catalog.inodes.upperBound {
      guard let directory = catalog.inodes.occupant(raw),
        catalog.state(directory).kind == .directory
      else { continue }
      var found: [(InodeNumber, [UInt8])] = []
      catalog.forEachEntry(of: directory) { name, child, _ in
        let number = catalog.state(child).number
        if wanted.contains(number) || photos[number] != nil { found.append((number, name)) }
        return true
      }
      for (number, name) in found {
        let way = catalog.way(to: directory)
        if wanted.contains(number) { paths[number, default: []].append(way.path(of: name)) }
        if let thumbnail = photos[number] {
          paths[thumbnail, default: []].append(way.thumbnailPath(of: name))
        }
      }
    }
    if wanted.contains(.root) { paths[.root] = ["/"] }
  }

  /// All paths of an inode, sorted; none where no name leads to it.
  func all(_ number: InodeNumber) -> [String] { (paths[number] ?? []).sorted() }
}
