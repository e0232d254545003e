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

/// The directories from the root down to one.
struct DirectoryWay {
  fileprivate(set) var steps: [(name: String, marks: InodeState.Marks)] = []

  func path(of name: [UInt8]) -> String {
    (steps.map(\.name) + [String(decoding: name, as: UTF8.self)]).joined(separator: "/")
  }

  /// Where Thumb shows the thumbnail of the photo of that name; the photo's own path where nothing
  /// shows it, as in a trash.
  func thumbnailPath(of name: [UInt8]) -> String {
    var shown = self
    let thumb = FileName.thumb.display
    if let place = steps.lastIndex(where: { $0.marks.contains(.photoDirectory) }) {
      shown.steps[place].name = thumb
    } else if let last = steps.last, last.marks.contains(.album) {
      shown.steps.append((thumb, []))
    }
    return shown.path(of: name)
  }
}

extension Catalog {
  /// The way to a directory; begins anywhere where it is not reached from the root.
  func way(to directory: InodeIndex) -> DirectoryWay {
    var way = DirectoryWay()
    var at = directory
    // A circle is damage, and must not be one here.
    while state(at).number != .root, way.steps.count < 4096 {
      let label = name(of: at).map { String(decoding: $0, as: UTF8.self) }
      // What has no name is shown as nothing, whatever part of an album it was.
      guard let label else {
        way.steps.append(("(inode \(state(at).number.rawValue))", []))
        break
      }
      way.steps.append((label, state(at).marks))
      guard let parent = index(of: parent(of: at)) else { break }
      at = parent
    }
    way.steps.reverse()
    return way
  }
}
