import AlbumFormat
import AlbumModel

/// What a file was at one instant, as far as a copy may lack it.
struct FileVersion: Sendable {
  var state: InodeState
  var extents: [Extent]
  var attributes: [[UInt8]: [UInt8]]
  /// The frame that stated it; nil: one before the history that is looked at.
  var frame: FrameNumber?
}

/// What the frames of the last 15 minutes stated. Only of these a copy that was made while the store
/// was written, in less than that time, may lack content: whatever was older when the copy was begun is
/// in it. So a file whose newest content is not there may be shown as it was within that time.
///
/// Filled in two passes: the first notes which files were written, the second, where content is
/// missing, what they were. The times are of `StoreTime`; no file time is looked at.
struct RecentHistory: Sendable {
  /// What frames of this time or older stated is not looked at.
  let floor: StoreTime
  /// Files whose versions are noted; nil: only who was written.
  let wanted: Set<InodeNumber>?

  /// Files whose content was stated, and when that was last.
  private(set) var written: [InodeNumber: StoreTime] = [:]
  /// The births of segments, also of those that the catalog has forgotten.
  private(set) var births: [SegmentNumber: SegmentBirth] = [:]
  /// What files in `wanted` were, oldest first, and what files were last that are gone.
  private(set) var versions: [InodeNumber: [FileVersion]] = [:]
  /// Names that led to one file and then to another, or to none, in the order of history.
  private(set) var renamed: [Replacement] = []
  /// The place that each inode was named by last.
  private(set) var names: [InodeNumber: EntryPlace] = [:]

  /// A name that led to one file, and what it led to then.
  struct Replacement: Sendable {
    var place: EntryPlace
    var former: InodeNumber
    var now: InodeNumber?
    /// The frame that says who replaced the file is lost: `place` is a name that it had.
    var isGuess = false
  }

  struct EntryPlace: Hashable, Sendable {
    var directory: InodeNumber
    var name: [UInt8]
  }

  /// How many versions of one file are kept at most; beyond that the second oldest goes.
  private static let versionLimit = 256

  init(floor: StoreTime, wanted: Set<InodeNumber>? = nil) {
    self.floor = floor
    self.wanted = wanted
  }

  func reaches(_ time: StoreTime) -> Bool { time > floor }

  /// Whether a file was there already at the floor.
  func isOld(_ inode: InodeNumber) -> Bool {
    versions[inode]?.first.map { $0.frame == nil } ?? false
  }

  /// Adds what another replay of the same time found, which began later.
  mutating func add(_ other: RecentHistory) {
    versions.merge(other.versions) { $0 + $1 }
    written.merge(other.written) { max($0, $1) }
    births.merge(other.births) { one, _ in one }
    names.merge(other.names) { _, later in later }
    renamed += other.renamed
  }

  /// Notes whose content a frame stated that is not replayed.
  mutating func noteWritten(_ items: [UInt8], at time: StoreTime) {
    try? decodeItems(items) { item in
      if case .extents(let number, _, _, _) = item {
        written[number] = max(written[number] ?? .none, time)
      }
    }
  }

  mutating func willApply(_ items: [JournalItem], to catalog: borrowing Catalog) {
    let moved = RecentHistory.named(by: items)
    if wanted != nil, catalog.gap != nil { noteReplacedBehindGap(items, catalog) }
    for item in items {
      switch item {
      case .segment(.data, let number, let birth, _, _): births[number] = birth
      case .inode(let state): noteOld(state.number, catalog)
      case .extents(let number, _, _, _): noteOld(number, catalog)
      case .inodeGone(let number): noteLast(number, catalog)
      case .entry(let directory, let name, let inode):
        noteName(directory, name, inode, moved, catalog)
      default: break
      }
    }
  }

  mutating func didApply(
    _ items: [JournalItem], by frame: JournalFrame, to catalog: borrowing Catalog
  ) {
    for case .extents(let number, _, _, _) in items {
      written[number] = frame.time
      noteVersion(number, frame.number, catalog)
    }
    for case .inode(let state) in items where wanted?.contains(state.number) ?? false {
      // Of the same content as before: only what else is known of the file has changed.
      if let last = versions[state.number]?.indices.last,
        versions[state.number]![last].state.contentStatements == state.contentStatements
      {
        if state.links > 0 { versions[state.number]![last].state = state }
      } else {
        noteVersion(state.number, frame.number, catalog)
      }
    }
  }

  /// The files that a frame gives names.
  private static func named(by items: [JournalItem]) -> Set<InodeNumber> {
    var given: Set<InodeNumber> = []
    for case .entry(_, _, let inode?) in items { given.insert(inode) }
    return given
  }

  /// Behind a gap it may not be known which name a file had that a frame states to be gone. One that
  /// gives names to other files may have replaced it.
  private mutating func noteReplacedBehindGap(
    _ items: [JournalItem], _ catalog: borrowing Catalog
  ) {
    let given = RecentHistory.named(by: items)
    var replaced: Set<InodeNumber> = []
    for case .entry(let directory, let name, _?) in items {
      guard let parent = catalog.index(of: directory), catalog.isListed(parent),
        let child = catalog.child(name, of: parent)
      else { continue }
      replaced.insert(catalog.state(child).number)
    }
    if given.isEmpty { return }
    var gone: Set<InodeNumber> = []
    for case .inodeGone(let number) in items
    where !given.contains(number) && !replaced.contains(number) {
      if let index = catalog.index(of: number),
        !catalog.state(index).marks.contains(.madeThumbnail)
      {
        gone.insert(number)
      }
    }
    if gone.isEmpty { return }
    let names = catalog.names(of: gone)
    for number in gone.sorted() {
      guard let own = names[number]?.first else { continue }
      let place = EntryPlace(directory: own.directory, name: own.name)
      for inode in given.sorted() {
        renamed.append(Replacement(place: place, former: number, now: inode, isGuess: true))
      }
    }
  }

  private mutating func noteOld(_ number: InodeNumber, _ catalog: borrowing Catalog) {
    guard wanted?.contains(number) ?? false, versions[number] == nil else { return }
    if let version = catalog.version(of: number, frame: nil) { versions[number] = [version] }
  }

  private mutating func noteVersion(
    _ number: InodeNumber, _ frame: FrameNumber, _ catalog: borrowing Catalog
  ) {
    guard wanted?.contains(number) ?? false,
      let version = catalog.version(of: number, frame: frame)
    else { return }
    if versions[number]?.last?.frame == frame { versions[number]?.removeLast() }
    versions[number, default: []].append(version)
    if versions[number]!.count > RecentHistory.versionLimit { versions[number]?.remove(at: 1) }
  }

  /// A file that goes: what replaced it may not be there.
  private mutating func noteLast(_ number: InodeNumber, _ catalog: borrowing Catalog) {
    guard wanted != nil, versions[number] == nil else { return }
    if let version = catalog.version(of: number, frame: nil) { versions[number] = [version] }
  }

  /// `moved` are the files that the same frame gives names: one that has lost a name to another file and
  /// got a new one was moved away, not replaced.
  private mutating func noteName(
    _ directory: InodeNumber, _ name: [UInt8], _ inode: InodeNumber?, _ moved: Set<InodeNumber>,
    _ catalog: borrowing Catalog
  ) {
    guard wanted != nil else { return }
    let place = EntryPlace(directory: directory, name: name)
    if let inode { names[inode] = place }
    guard let parent = catalog.index(of: directory), catalog.isListed(parent),
      let child = catalog.child(name, of: parent)
    else { return }
    let former = catalog.state(child).number
    if former != inode, !moved.contains(former) {
      renamed.append(Replacement(place: place, former: former, now: inode))
    }
  }
}

extension Catalog {
  /// A regular file as it is now; nil of what is none, or is not stated whole.
  fileprivate borrowing func version(of number: InodeNumber, frame: FrameNumber?) -> FileVersion? {
    guard let index = index(of: number), !inodes[index].isExpected,
      state(index).kind == .regular
    else { return nil }
    return FileVersion(
      state: state(index), extents: extents(of: index, from: 0, to: .max),
      attributes: extras[index]?.attributes ?? [:], frame: frame)
  }

  /// Whether an inode is known to be a directory, while the journal is replayed.
  borrowing func isListed(_ index: InodeIndex) -> Bool { inodes[index].directory != .max }
}
