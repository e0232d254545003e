import AlbumFormat
import AlbumModel

/// The files and names that frames describe which replay does not believe. A mount and a check name them.
struct CutChanges {
  private var inodes: Set<InodeNumber> = []
  /// The newest place of each inode that was made or renamed.
  private var places: [InodeNumber: EntryPlace] = [:]
  /// Names that were added or removed.
  private var names: Set<EntryPlace> = []

  /// When the first of them was recorded.
  private(set) var since = StoreTime.none

  mutating func add(_ frames: [JournalScan.Frame]) {
    for found in frames {
      let time = found.frame.time
      since = since == .none ? time : min(since, time)
      try? decodeItems(found.frame.items) { add($0) }
    }
  }

  private mutating func add(_ item: JournalItem) {
    switch item {
    // Each new name also changes its directory's state, which is no change to report.
    case .inode(let state) where state.kind != .directory && !state.marks.contains(.madeThumbnail):
      inodes.insert(state.number)
    case .entry(let directory, let name, let inode):
      let place = EntryPlace(directory: directory, name: name)
      names.insert(place)
      if let inode { places[inode] = place }
    default: break
    }
  }

  /// The sorted paths that lead from the root, through directories that the catalog shows or that these
  /// frames made.
  /// `ofOtherCopy`: the number of a file that they made may be another file's in the catalog.
  func paths(_ catalog: borrowing Catalog, ofOtherCopy: Bool = false) -> [String] {
    if inodes.isEmpty && names.isEmpty { return [] }
    let shown = catalog.names(of: inodes)
    var all = names
    for inode in inodes where !ofOtherCopy || places[inode] == nil {
      all.formUnion(shown[inode] ?? [])
    }
    return Set(all.compactMap { path(of: $0, catalog) }).sorted()
  }

  private func path(of place: EntryPlace, _ catalog: borrowing Catalog) -> String? {
    var steps: [FileName] = []
    var at = place
    // The limit ends a circle of directories, which damage can leave.
    while steps.count < 4096 {
      if let directory = catalog.index(of: at.directory), catalog.isListed(directory) {
        return catalog.path(of: [at.name] + steps.reversed(), in: directory)
      }
      guard let parent = places[at.directory] else { return nil }
      steps.append(at.name)
      at = parent
    }
    return nil
  }
}
