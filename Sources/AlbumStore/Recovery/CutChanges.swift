import AlbumFormat
import AlbumModel

/// What frames state that are not believed: which files and names are not shown as they were last. A
/// mount and a check name them.
struct CutChanges {
  private var inodes: Set<InodeNumber> = []
  /// What was made or renamed, by its newest name.
  private var places: [InodeNumber: EntryPlace] = [:]
  /// Names that were given or taken away.
  private var names: Set<EntryPlace> = []

  typealias EntryPlace = RecentHistory.EntryPlace

  mutating func note(_ frames: [JournalScan.Frame]) {
    for found in frames { try? decodeItems(found.frame.items) { note($0) } }
  }

  private mutating func note(_ item: JournalItem) {
    switch item {
    // A directory is stated anew with each name in it.
    case .inode(let state) where state.kind != .directory && !state.marks.contains(.madeThumbnail):
      inodes.insert(state.number)
    case .entry(let directory, let name, let inode):
      let place = EntryPlace(directory: directory, name: name)
      names.insert(place)
      if let inode { places[inode] = place }
    default: break
    }
  }

  /// The paths, sorted, as far as they lead from the root: in what the catalog shows, and in directories
  /// that only these frames made.
  func paths(_ catalog: borrowing Catalog) -> [String] {
    if inodes.isEmpty && names.isEmpty { return [] }
    let shown = catalog.names(of: inodes)
    var all = names
    for inode in inodes {
      for place in shown[inode] ?? [] {
        all.insert(EntryPlace(directory: place.directory, name: place.name))
      }
    }
    return Set(all.compactMap { path(of: $0, catalog) }).sorted()
  }

  private func path(of place: EntryPlace, _ catalog: borrowing Catalog) -> String? {
    var steps: [[UInt8]] = []
    var at = place
    // A circle is damage, and must not be one here.
    while steps.count < 4096 {
      if let directory = catalog.index(of: at.directory), catalog.isListed(directory) {
        let below = ([at.name] + steps.reversed()).joined(separator: [UInt8(ascii: "/")])
        return catalog.path(of: Array(below), in: directory)
      }
      guard let parent = places[at.directory] else { return nil }
      steps.append(at.name)
      at = parent
    }
    return nil
  }
}
