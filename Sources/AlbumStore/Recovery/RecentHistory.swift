import AlbumFormat
import AlbumModel

/// The state of a file at one instant.
struct FileVersion: Sendable {
  var state: InodeState
  var extents: [Extent]
  var attributes: [[UInt8]: [UInt8]]
  /// The frame that recorded it; nil if the version is older than the examined history.
  var frame: FrameNumber?
}

/// The files that the frames of the last 15 minutes changed. A copy that was made in less than that time,
/// while the store was written to, can lack only content of these frames: older content was there when the
/// copy began. So a file whose newest content is missing may be shown as it was within that time.
///
/// Two passes fill it. The first records which files were written. If content is missing, the second records
/// their versions. All times are `StoreTime`; no file time counts.
struct RecentHistory: Sendable {
  /// Frames of this time or older are ignored.
  let floor: StoreTime
  /// The files whose versions are recorded; nil in the first pass.
  let wanted: Set<InodeNumber>?

  /// Files whose content was recorded, with the time of the last frame.
  private(set) var written: [InodeNumber: StoreTime] = [:]
  /// The births of segments, including those that the catalog has forgotten.
  private(set) var births: [SegmentNumber: SegmentBirth] = [:]
  /// The versions of the files in `wanted`, oldest first, and the last version of each file that is gone.
  private(set) var versions: [InodeNumber: [FileVersion]] = [:]
  /// Names that led to one file and then to another or to none, in the order of history.
  private(set) var renamed: [Replacement] = []
  /// Files in `wanted` that lost frames made and gave the name of another file.
  private(set) var madeInGap: Set<InodeNumber> = []
  /// The last name of each inode.
  private(set) var names: [InodeNumber: EntryPlace] = [:]
  /// The number of `renamed` that come before the first gap; nil before it.
  private var renamedBeforeGap: Int?

  /// A name that led to one file and then to another or to none.
  struct Replacement: Sendable {
    var place: EntryPlace
    var former: InodeNumber
    var now: InodeNumber?
    /// True if the frame that replaced the file is lost, and `place` is just a name that the file had.
    var isGuess = false
  }

  /// The greatest number of versions of one file. Beyond it the second oldest goes.
  private static let versionLimit = 256

  init(floor: StoreTime, wanted: Set<InodeNumber>? = nil) {
    self.floor = floor
    self.wanted = wanted
  }

  func reaches(_ time: StoreTime) -> Bool { time > floor }

  /// True if the file existed already at `floor`.
  func isOld(_ inode: InodeNumber) -> Bool {
    versions[inode]?.first.map { $0.frame == nil } ?? false
  }

  /// Adds the findings of another replay of the same time, which began at a later frame.
  mutating func add(_ other: RecentHistory) {
    versions.merge(other.versions) { $0 + $1 }
    written.merge(other.written) { max($0, $1) }
    births.merge(other.births) { one, _ in one }
    names.merge(other.names) { _, later in later }
    renamed += other.renamed
    madeInGap.formUnion(other.madeInGap)
  }

  /// Records the files whose content a frame describes that is not replayed.
  mutating func recordWritten(_ items: [UInt8], at time: StoreTime) {
    try? decodeItems(items) { item in
      if case .extents(let number, _, _, _) = item {
        written[number] = max(written[number] ?? .none, time)
      }
    }
  }

  mutating func willApply(_ items: [JournalItem], to catalog: borrowing Catalog) {
    let moved = RecentHistory.named(by: items)
    if wanted != nil, catalog.gap != nil {
      renamedBeforeGap = renamedBeforeGap ?? renamed.count
      recordReplacedBehindGap(items, catalog)
    }
    for item in items {
      switch item {
      case .segment(.data, let number, let birth, _, _): births[number] = birth
      case .inode(let state): recordFormerVersion(state.number, catalog)
      case .extents(let number, _, _, _): recordFormerVersion(number, catalog)
      case .inodeGone(let number), .former(let number, .some):
        recordLastVersion(number, catalog)
      case .entry(let directory, let name, let inode):
        recordName(directory, name, inode, moved, catalog)
      default: break
      }
    }
  }

  mutating func didApply(
    _ items: [JournalItem], by frame: JournalFrame, to catalog: borrowing Catalog
  ) {
    for case .extents(let number, _, _, _) in items {
      written[number] = frame.time
      recordVersion(number, frame.number, catalog)
    }
    for case .inode(let state) in items where wanted?.contains(state.number) ?? false {
      // The content is the same as before: only attributes of the file have changed.
      if let last = versions[state.number]?.indices.last,
        versions[state.number]![last].state.contentStatements == state.contentStatements
      {
        if state.links > 0 { versions[state.number]![last].state = state }
      } else {
        recordVersion(state.number, frame.number, catalog)
      }
    }
  }

  /// The files that a frame gives names.
  private static func named(by items: [JournalItem]) -> Set<InodeNumber> {
    var given: Set<InodeNumber> = []
    for case .entry(_, _, let inode?) in items { given.insert(inode) }
    return given
  }

  /// After a gap the catalog may not know the name of a file that a frame removes. Any file that gets a name
  /// in the same frame may have replaced it.
  private mutating func recordReplacedBehindGap(
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
    for number in items.compactMap(\.inodeWithoutName)
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
      for inode in given.sorted() {
        renamed.append(Replacement(place: own, former: number, now: inode, isGuess: true))
      }
    }
  }

  /// Records the state of the files in `wanted` that only lost frames changed: no remaining frame has left
  /// a version of them. `before` is the state without the lost frames.
  mutating func recordUntouched(_ before: borrowing Catalog) {
    for inode in wanted ?? [] { recordFormerVersion(inode, before) }
  }

  /// Records what lost frames show by their result. `before` is the state without them, `start` that of the
  /// newest checkpoint without later frames, and `now` the state at the end.
  ///
  /// A file that was there before and is in neither of the other two has gone in the gap. Where one of
  /// `wanted` has its name in the checkpoint, that one has replaced it. Otherwise each of `wanted` that has
  /// got a name in the gap may have.
  mutating func recordReplacements(
    between before: borrowing Catalog, and start: borrowing Catalog, upTo now: borrowing Catalog
  ) {
    guard let wanted else { return }
    var gone = RecentHistory.goneFiles(between: before, and: start, upTo: now)
    if gone.isEmpty { return }
    let names = start.names(of: wanted)
    var moved: [InodeNumber] = []
    for inode in wanted.sorted() {
      for place in names[inode] ?? [] {
        let former = formerFile(at: place, before)
        if former == inode { continue }
        if moved.last != inode { moved.append(inode) }
        guard let former, gone.remove(former) != nil else { continue }
        recordReplacement(of: former, by: inode, at: place, before)
      }
    }
    if moved.isEmpty { return }
    let own = before.names(of: gone)
    for former in gone.sorted() {
      let later = renamed.dropFirst(renamedBeforeGap ?? renamed.count).first { $0.former == former }
      guard let place = own[former]?.first ?? later?.place else { continue }
      for inode in moved {
        recordReplacement(of: former, by: inode, at: place, before, isGuess: true)
      }
    }
  }

  private mutating func recordReplacement(
    of former: InodeNumber, by inode: InodeNumber, at place: EntryPlace,
    _ before: borrowing Catalog, isGuess: Bool = false
  ) {
    if before.index(of: inode).map({ before.inodes[$0].isExpected }) ?? true {
      madeInGap.insert(inode)
    }
    recordLastVersion(former, before)
    renamed.append(Replacement(place: place, former: former, now: inode, isGuess: isGuess))
  }

  /// The files of `before` that neither `start` nor `now` has.
  private static func goneFiles(
    between before: borrowing Catalog, and start: borrowing Catalog, upTo now: borrowing Catalog
  ) -> Set<InodeNumber> {
    var gone: Set<InodeNumber> = []
    before.forEachInode { index, state in
      if state.kind != .regular || state.links == 0 || before.inodes[index].isExpected { return }
      if state.marks.contains(.madeThumbnail) || state.marks.contains(.leftOut) { return }
      if now.hasFile(state.number) || start.hasFile(state.number) { return }
      gone.insert(state.number)
    }
    return gone
  }

  /// Returns the file that had a name before the gap. `now` is the state after all frames that remain.
  private func formerFile(at place: EntryPlace, _ now: borrowing Catalog) -> InodeNumber? {
    if let later = renamed.dropFirst(renamedBeforeGap ?? renamed.count).first(where: {
      $0.place == place
    }) {
      return later.former
    }
    guard let parent = now.index(of: place.directory), now.isListed(parent) else { return nil }
    return now.child(place.name, of: parent).map { now.state($0).number }
  }

  private mutating func recordFormerVersion(_ number: InodeNumber, _ catalog: borrowing Catalog) {
    guard wanted?.contains(number) ?? false, versions[number] == nil else { return }
    if let version = catalog.version(of: number, frame: nil) { versions[number] = [version] }
  }

  private mutating func recordVersion(
    _ number: InodeNumber, _ frame: FrameNumber, _ catalog: borrowing Catalog
  ) {
    guard wanted?.contains(number) ?? false,
      let version = catalog.version(of: number, frame: frame)
    else { return }
    if versions[number]?.last?.frame == frame { versions[number]?.removeLast() }
    versions[number, default: []].append(version)
    if versions[number]!.count > RecentHistory.versionLimit { versions[number]?.remove(at: 1) }
  }

  /// Records the last version of a file that goes, because the file that replaced it may be incomplete.
  private mutating func recordLastVersion(_ number: InodeNumber, _ catalog: borrowing Catalog) {
    guard wanted != nil, versions[number] == nil else { return }
    if let version = catalog.version(of: number, frame: nil) { versions[number] = [version] }
  }

  /// `moved` are the files that get names in the same frame. A file that lost its name to another one and got
  /// a new name was moved away, not replaced.
  private mutating func recordName(
    _ directory: InodeNumber, _ name: FileName, _ inode: InodeNumber?, _ moved: Set<InodeNumber>,
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

extension JournalItem {
  /// The inode that lost its last name.
  fileprivate var inodeWithoutName: InodeNumber? {
    switch self {
    case .inodeGone(let number), .former(let number, .some): number
    default: nil
    }
  }
}

extension Catalog {
  /// The current version of a regular file; nil for other inodes, and for one that frames describe only in
  /// part.
  fileprivate borrowing func version(of number: InodeNumber, frame: FrameNumber?) -> FileVersion? {
    guard let index = index(of: number), !inodes[index].isExpected,
      state(index).kind == .regular
    else { return nil }
    return FileVersion(
      state: state(index), extents: extents(of: index, from: 0, to: .max),
      attributes: extras[index]?.attributes ?? [:], frame: frame)
  }

  /// True if an inode exists, stated and not gone, during replay.
  borrowing func hasFile(_ number: InodeNumber) -> Bool {
    index(of: number).map { !inodes[$0].isExpected && state($0).links > 0 } ?? false
  }

  /// True if an inode is known to be a directory, during replay.
  borrowing func isListed(_ index: InodeIndex) -> Bool { inodes[index].directory != .max }
}
