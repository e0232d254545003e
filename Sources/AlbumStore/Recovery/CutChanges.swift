import AlbumFormat
import AlbumModel

/// The files and names that frames describe which replay does not believe. A mount and a check name them.
struct CutChanges {
  /// The newest state of each file.
  private var states: [InodeNumber: InodeState] = [:]
  /// The newest place of each inode that was made or renamed.
  private var places: [InodeNumber: EntryPlace] = [:]
  /// Names that were added or removed.
  private var names: Set<EntryPlace> = []
  /// The names that the frames leave, each with what it leads to.
  private var left: [EntryPlace: InodeNumber] = [:]

  /// When the first of them was recorded.
  private(set) var since = StoreTime.none
  /// If another copy wrote the frames: the time of the last frame that this copy has too, `.none` if that one
  /// is lost.
  private var sharedUntil: StoreTime?

  init() {}

  /// For the frames of another copy of the store. `shared` is the time of the frame before them.
  init(_ frames: [JournalScan.Frame], behind shared: StoreTime) {
    sharedUntil = shared
    add(frames)
  }

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
      states[state.number] = state
    case .entry(let directory, let name, let inode):
      let place = EntryPlace(directory: directory, name: name)
      names.insert(place)
      left[place] = inode
      if let inode { places[inode] = place }
    default: break
    }
  }

  /// The files that the frames state.
  var inodes: Set<InodeNumber> { Set(states.keys) }

  /// A name that the frames leave to each file that they name.
  var namesLeft: [InodeNumber: EntryPlace] {
    Dictionary(left.map { ($0.value, $0.key) }) { first, _ in first }
  }

  /// The sorted paths that lead from the root, through directories that the catalog shows or that these
  /// frames made.
  func paths(_ catalog: borrowing Catalog) -> [String] {
    if states.isEmpty && names.isEmpty { return [] }
    let shown = catalog.names(of: Set(states.keys))
    var all = names
    for (inode, state) in states {
      // The number of a file that another copy made may be another file's in the catalog.
      if let sharedUntil,
        places[inode] != nil || wasOnlyMoved(state, behind: sharedUntil, catalog)
      {
        continue
      }
      all.formUnion(shown[inode] ?? [])
    }
    return Set(all.compactMap { path(of: $0, catalog) }).sorted()
  }

  /// True if the other copy did not change a file: its compaction states the state of what it moves, too.
  /// The time of change shows it, even if this copy has changed the file since.
  private func wasOnlyMoved(
    _ state: InodeState, behind sharedUntil: StoreTime, _ catalog: borrowing Catalog
  ) -> Bool {
    guard let index = catalog.index(of: state.number) else { return false }
    let own = catalog.state(index)
    if state.contentVersion > own.contentVersion { return false }
    if state.contentVersion == own.contentVersion, state.changed == own.changed { return true }
    return state.changed < own.changed && StoreTime(state.changed) < sharedUntil
  }

  func path(of place: EntryPlace, _ catalog: borrowing Catalog) -> String? {
    var steps: [FileName] = []
    var at = place
    // The limit ends a circle of directories, which damage can leave.
    while steps.count < 4096 {
      // First where these frames put the directory: its number may be another directory's in the catalog.
      if let parent = places[at.directory] {
        steps.append(at.name)
        at = parent
        continue
      }
      guard let directory = catalog.index(of: at.directory), catalog.isListed(directory) else {
        return nil
      }
      return catalog.path(of: [at.name] + steps.reversed(), in: directory)
    }
    return nil
  }
}
