import AlbumFormat
package import AlbumModel

/// A file that a mount does not show as it was last, since content of it is not in the store.
package struct IncompleteFile: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable {
    /// It is shown as it was before.
    case formerContent
    /// It was made in the last 15 minutes, and no content of it is whole: it is not shown. The file that
    /// it replaced has its name.
    case leftOut
    /// It is shown as it was last; what is missing cannot be read.
    case unreadable
  }

  package var inode: InodeNumber
  /// From the space's root; nil where it has no name.
  package var path: String?
  package var outcome: Outcome
  /// When that was written which is not there, in milliseconds of store time.
  package var since: StoreTime
  /// It was not in the store yet when the store was copied, as far as can be told. False: it was lost.
  package var isEndOfCopy: Bool
}

/// A thumbnail that is not in the store, and is made again.
package struct RemadeThumbnail: Sendable, Equatable {
  package var inode: InodeNumber
  /// Its photo, from the space's root; nil where that has no name.
  package var photo: String?
  package var isEndOfCopy: Bool
}

/// How files are shown of which the newest content is not there. No file costs another: each falls back
/// for itself, by at most 15 minutes.
///
/// 1. A file is shown as it was when it was whole last: content, size and time of modification.
/// 2. One that was whole at no time since then is shown as it was last: what is missing cannot be read.
/// 3. One that was made since is left out where it was being written while the store was copied, and
///    where it has replaced other files. Those come back: under the name at which they were replaced, or
///    under the newest name of what replaced them.
/// 4. What is left out stays in the catalog as a file without a name (`InodeState.Marks.leftOut`), and so
///    all that is in the store of its content, until a repair brings it back.
struct FileFallback {
  private var shown: [InodeNumber: FileVersion] = [:]
  private var leftOut: Set<InodeNumber> = []
  private var unreadable: Set<InodeNumber> = []
  /// Files that were replaced and are gone, as they were when they were whole last.
  private var replaced: [InodeNumber: FileVersion] = [:]
  private var renamed: [RecentHistory.Replacement] = []
  /// What files were between what is shown of them and what they were last, as far as that holds content
  /// of its own.
  private var kept: [InodeNumber: [FileVersion]] = [:]
  /// Thumbnails of which something is missing, and whether the end of a copy.
  private var thumbnails: [InodeNumber: Bool] = [:]
  /// Those that are made again.
  private(set) var remadeThumbnails: [RemadeThumbnail] = []
  private var times: [InodeNumber: StoreTime] = [:]
  private var ends: Set<InodeNumber> = []
  /// Why and where files are left out, see `InodeState.leftOutPath`.
  private var paths: [InodeNumber: [UInt8]] = [:]
  /// The crash harness leaves it out.
  private var keepsVersions = true
  /// Files of which all versions must be known to decide.
  private(set) var wanted: Set<InodeNumber> = []

  /// Nothing is missing.
  init() {}

  init(
    _ missing: MissingContent, _ recent: RecentHistory, _ catalog: borrowing Catalog,
    content: ContentStore, _ omitted: Set<Precaution>
  ) throws(StoreError) {
    keepsVersions = !omitted.contains(.keptVersions)
    wanted = missing.files
    renamed = recent.renamed
    for (number, birth) in recent.births where catalog.segments.accounts[number] == nil {
      content.files.use(SegmentID(kind: .data, number: number), birth)
    }
    var missing = missing
    for inode in missing.files {
      times[inode] = recent.written[inode] ?? recent.floor
      let segments = missing.lacking[inode]!
      let isDamaged = missing.damaged.contains(inode)
      // Whether frames that are missing were lost is the journal's to say.
      let isEnd = segments.allSatisfy { $0 == Extent.lostSegment || missing.isEndOfCopy($0) }
      if !isDamaged, isEnd { ends.insert(inode) }
      let isThumbnail =
        catalog.index(of: inode).map { catalog.state($0).marks.contains(.madeThumbnail) } ?? false
      if isThumbnail {
        // What is known not to be there is made again.
        if !segments.contains(Extent.lostSegment) { thumbnails[inode] = ends.contains(inode) }
        continue
      }
      if isDamaged {
        unreadable.insert(inode)
        continue
      }
      let version = try FileFallback.newestWhole(recent.versions[inode], &missing)
      kept[inode] = FileFallback.between(version, catalog, inode, recent.versions[inode] ?? [])
      if let version {
        shown[inode] = version
      } else if recent.isOld(inode) || recent.versions[inode] == nil {
        unreadable.insert(inode)
      } else {
        leftOut.insert(inode)
      }
    }
    if !omitted.contains(.replacedComesBack) { try addReplaced(recent, catalog, &missing) }
  }

  /// What files that are left out have replaced, and what those had.
  private mutating func addReplaced(
    _ recent: RecentHistory, _ catalog: borrowing Catalog, _ missing: inout MissingContent
  ) throws(StoreError) {
    var waiting = Array(leftOut)
    var seen = leftOut
    while let inode = waiting.popLast() {
      for rename in recent.renamed where rename.now == inode && seen.insert(rename.former).inserted
      {
        let former = rename.former
        // One that somebody had open when it lost its name is gone as well.
        if let index = catalog.index(of: former), !catalog.inodes[index].isExpected,
          catalog.state(index).links > 0
        {
          continue
        }
        wanted.insert(former)
        // What was written to it when it had no name any more is not what it was under that.
        let named = recent.versions[former]?.filter { $0.state.links > 0 }
        if let version = try FileFallback.newestWhole(named, &missing) {
          replaced[former] = version
        } else {
          waiting.append(former)
        }
      }
    }
  }

  /// Versions that are newer than `shown`, or all, without the last, which the catalog has: those that refer
  /// to records which no newer one does. What is shown may be moved elsewhere: that it refers to them, too,
  /// does not keep them.
  private static func between(
    _ shown: FileVersion?, _ catalog: borrowing Catalog, _ inode: InodeNumber,
    _ versions: [FileVersion]
  ) -> [FileVersion] {
    guard let index = catalog.index(of: inode) else { return [] }
    func records(_ extents: [Extent]) -> Set<[UInt32]> {
      Set(extents.filter { !$0.isLost }.map { [$0.segment.rawValue, $0.grid] })
    }
    var known = records(catalog.extents(of: index, from: 0, to: .max))
    var kept: [FileVersion] = []
    for version in versions.reversed() {
      if let shown, version.extents == shown.extents { break }
      let own = records(version.extents)
      if own.isSubset(of: known) { continue }
      known.formUnion(own)
      kept.append(version)
    }
    return kept
  }

  private static func newestWhole(_ versions: [FileVersion]?, _ missing: inout MissingContent)
    throws(StoreError) -> FileVersion?
  {
    for version in (versions ?? []).reversed() {
      if version.extents.isEmpty, version.state.marks.contains(.beingWritten) { continue }
      if try missing.isThere(version) { return version }
    }
    return nil
  }

  // MARK: Applying

  /// Changes a catalog whose replay has ended, and notes what the next frame is to state. Answers what
  /// became of each file.
  mutating func apply(to catalog: inout Catalog) -> [IncompleteFile] {
    forgetThumbnails(&catalog)
    if shown.isEmpty && leftOut.isEmpty && unreadable.isEmpty { return [] }
    let names = catalog.names(of: Set(shown.keys).union(leftOut).union(unreadable))
    var files: [IncompleteFile] = []
    for inode in Set(shown.keys).union(leftOut).union(unreadable).sorted() {
      // Only where its content lies has changed since.
      if let index = catalog.index(of: inode), isSameContent(inode, index, catalog) { continue }
      let places = names[inode] ?? []
      let path = places.first.map { catalog.path(of: $0.name, in: $0.directory) }
      let outcome: IncompleteFile.Outcome =
        shown[inode] != nil
        ? .formerContent : isHidden(inode) ? .leftOut : .unreadable
      files.append(
        IncompleteFile(
          inode: inode, path: path, outcome: outcome, since: times[inode] ?? .none,
          isEndOfCopy: ends.contains(inode)))
    }
    for file in files {
      paths[file.inode] = file.path.map { [file.isEndOfCopy ? 0 : 1] + Array($0.utf8) }
    }
    for inode in shown.keys.sorted() { show(inode, shown[inode]!, &catalog) }
    var hidden: [InodeNumber] = []
    for inode in leftOut.sorted() where isHidden(inode) {
      leaveOut(inode, names[inode] ?? [], &catalog)
      hidden.append(inode)
    }
    // A name may have led to another file that is left out, too: only now it is free.
    for inode in hidden { bringBackElsewhere(inode, &catalog) }
    return files.filter { $0.path != nil || $0.outcome != .formerContent }
  }

  private mutating func show(
    _ inode: InodeNumber, _ version: FileVersion, _ catalog: inout Catalog
  ) {
    guard let index = catalog.index(of: inode) else { return }
    let newest = catalog.extents(of: index, from: 0, to: .max)
    if newest == version.extents, catalog.state(index).size == version.state.size { return }
    if isSameContent(inode, index, catalog) {
      for extent in version.extents { catalog.hold(extent) }
      return catalog.replaceExtents(of: index, from: 0, to: .max, with: version.extents)
    }
    if keepsVersions {
      keepVersions(of: inode, index, &catalog)
      catalog.keepLeftOut(
        index, as: newest, size: catalog.state(index).size, path: paths[inode])
    }
    catalog.showFormer(version, of: index)
  }

  private func keepVersions(
    of inode: InodeNumber, _ index: InodeIndex, _ catalog: inout Catalog
  ) {
    for version in kept[inode] ?? [] {
      catalog.keepLeftOut(
        index, as: version.extents, size: version.state.size, path: paths[inode])
    }
  }

  /// Whether the version that is shown has the newest content, from before that was moved.
  private func isSameContent(
    _ inode: InodeNumber, _ index: InodeIndex, _ catalog: borrowing Catalog
  ) -> Bool {
    guard let version = shown[inode] else { return false }
    return version.state.contentVersion == catalog.state(index).contentVersion
      && version.state.size == catalog.state(index).size
  }

  private mutating func leaveOut(
    _ inode: InodeNumber, _ names: [(directory: InodeNumber, name: [UInt8])],
    _ catalog: inout Catalog
  ) {
    let index = catalog.index(of: inode)
    if let index { catalog.pin(index) }
    for place in names {
      guard let directory = catalog.index(of: place.directory) else { continue }
      let entry = RecentHistory.EntryPlace(directory: place.directory, name: place.name)
      if let former = takeReplaced(by: inode, at: entry) {
        let back = catalog.bringBack(former)
        catalog.replaceEntry(place.name, in: directory, child: back)
        catalog.unpin(back)
      } else {
        catalog.removeEntry(place.name, in: directory)
      }
    }
    if let index {
      if keepsVersions {
        keepVersions(of: inode, index, &catalog)
        catalog.keepLeftOut(index, path: paths[inode])
      }
      catalog.unpin(index)
    }
  }

  /// Gives the files that one replaced under other names, or may have replaced, their names back where those
  /// are free.
  private mutating func bringBackElsewhere(_ inode: InodeNumber, _ catalog: inout Catalog) {
    for rename in renamed where rename.now == inode {
      guard let former = replaced[rename.former],
        let directory = catalog.index(of: rename.place.directory),
        catalog.state(directory).kind == .directory,
        catalog.child(rename.place.name, of: directory) == nil
      else { continue }
      replaced[rename.former] = nil
      let back = catalog.bringBack(former)
      catalog.insertEntry(rename.place.name, in: directory, child: back)
      catalog.unpin(back)
    }
  }

  /// The file that one replaced under a name, or under any; of several in a row the newest that is
  /// whole.
  private mutating func takeReplaced(
    by inode: InodeNumber, at place: RecentHistory.EntryPlace
  ) -> FileVersion? {
    var seen: Set<InodeNumber> = [inode]
    var current = inode
    while true {
      let candidates = renamed.filter {
        $0.now == current && !$0.isGuess && !seen.contains($0.former)
      }
      guard let next = candidates.last(where: { $0.place == place }) ?? candidates.last else {
        return nil
      }
      seen.insert(next.former)
      if let version = replaced.removeValue(forKey: next.former) { return version }
      current = next.former
    }
  }

  /// Thumbnails that are not there are made again.
  private mutating func forgetThumbnails(_ catalog: inout Catalog) {
    if thumbnails.isEmpty { return }
    var photos: [(index: InodeIndex, photo: InodeNumber, thumbnail: InodeNumber)] = []
    catalog.forEachInode { index, state in
      if thumbnails[state.thumbnail] != nil {
        photos.append((index, state.number, state.thumbnail))
      }
    }
    let names = catalog.names(of: Set(photos.map(\.photo)))
    for (index, photo, thumbnail) in photos {
      let path = names[photo]?.first.map { catalog.path(of: $0.name, in: $0.directory) }
      remadeThumbnails.append(
        RemadeThumbnail(
          inode: thumbnail, photo: path, isEndOfCopy: thumbnails[thumbnail] ?? false))
      catalog.forgetThumbnail(of: index)
    }
  }

  /// Whether a new file of which something is missing is not shown: another takes its name back, or it
  /// was being written when the store was copied.
  private func isHidden(_ inode: InodeNumber) -> Bool {
    leftOut.contains(inode) && (ends.contains(inode) || hasReplaced(inode))
  }

  /// Whether a file that is left out took the name of one that is whole.
  private func hasReplaced(_ inode: InodeNumber) -> Bool {
    guard leftOut.contains(inode) else { return false }
    var seen: Set<InodeNumber> = [inode]
    var waiting = [inode]
    while let current = waiting.popLast() {
      for rename in renamed where rename.now == current && seen.insert(rename.former).inserted {
        if replaced[rename.former] != nil { return true }
        waiting.append(rename.former)
      }
    }
    return false
  }
}

extension Catalog {
  /// Shows a file as it was: its names, owner and mode stay. What was made of its newest content goes.
  fileprivate mutating func showFormer(_ version: FileVersion, of index: InodeIndex) {
    for extent in version.extents { hold(extent) }
    replaceExtents(of: index, from: 0, to: .max, with: version.extents)
    setThumbnail(nil, of: index)
    update(index) { state in
      state.size = version.state.size
      state.modified = version.state.modified
      state.contentVersion = NumberLimits.following(state.contentVersion)
      if state.thumbnailState == .made || state.thumbnailState == .failed {
        state.thumbnailState = .pending
      }
    }
  }

  /// Keeps a file that has lost its names.
  fileprivate mutating func keepLeftOut(_ index: InodeIndex, path: [UInt8]?) {
    update(index) { $0.marks.insert(.leftOut) }
    inodes[index].state.links = 1
    noteLeftOut(index, path)
  }

  /// Notes where a file was that is left out, for whoever asks later, and for a repair.
  private mutating func noteLeftOut(_ index: InodeIndex, _ path: [UInt8]?) {
    guard let path else { return }
    setAttribute(InodeState.leftOutPath, of: index, to: path)
  }

  /// Keeps what a file was at one time, under a number of its own.
  fileprivate mutating func keepLeftOut(
    _ index: InodeIndex, as extents: [Extent], size: Int64, path: [UInt8]?
  ) {
    var record = InodeRecord(state: state(index))
    record.state.number = takeInodeNumber()
    record.state.size = size
    record.state.thumbnail = InodeNumber(0)
    record.state.thumbnailState = .none
    record.state.contentStatements = 0
    record.state.marks.insert(.leftOut)
    record.state.links = 1
    let copy = inodes.insert(record)
    note(copy, .state)
    for extent in extents { hold(extent) }
    replaceExtents(of: copy, from: 0, to: .max, with: extents)
    noteLeftOut(copy, path)
  }

  /// Brings a file back that is gone, without a name and pinned once.
  fileprivate mutating func bringBack(_ version: FileVersion) -> InodeIndex {
    var state = version.state
    state.links = 0
    state.thumbnail = InodeNumber(0)
    if state.thumbnailState == .made || state.thumbnailState == .failed {
      state.thumbnailState = .pending
    }
    var record = InodeRecord(state: state)
    record.pins = 1
    let index = inodes.insert(record)
    note(index, .state)
    for (name, value) in version.attributes { setAttribute(name, of: index, to: value) }
    for extent in version.extents { hold(extent) }
    replaceExtents(of: index, from: 0, to: .max, with: version.extents)
    return index
  }
}
