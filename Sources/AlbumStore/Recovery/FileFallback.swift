import AlbumFormat
package import AlbumModel

/// A file whose newest version is not whole, because content of it is missing from the store.
package struct IncompleteFile: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable {
    /// The mount shows an earlier version.
    case formerContent
    /// The file was made in the last 15 minutes and no version of it is whole, so the mount hides it. A file
    /// that it replaced gets its name back.
    case leftOut
    /// A file that is left out had replaced it, and another file has its name now. A repair puts it into
    /// `Recovered`.
    case withoutName
    /// The mount shows the newest version. Reading the missing content is an error.
    case unreadable
  }

  package var inode: InodeNumber
  /// The path from the space's root; nil if the file has no name.
  package var path: String?
  package var outcome: Outcome
  /// When the newest content was written.
  package var since: StoreTime
  /// True if the store seems to have been copied before the content was written. False if the content was
  /// lost.
  package var isEndOfCopy: Bool
}

/// A thumbnail that is missing from the store. albumfs makes it again.
package struct RemadeThumbnail: Sendable, Equatable {
  package var inode: InodeNumber
  /// The path of its photo from the space's root; nil if the photo has no name.
  package var photo: String?
  package var isEndOfCopy: Bool
}

/// How the catalog shows files whose newest content is missing. No file costs another: each falls back by
/// itself, by at most 15 minutes.
///
/// 1. A file is shown in its newest whole version: content, size and modification time.
/// 2. A file without a whole version in these 15 minutes is shown in its newest version. Reading the missing
///    content is an error.
/// 3. A file that was made in these 15 minutes and has no whole version is left out if the store was copied
///    while the file was written, or if the file replaced other files. Those files come back under the name
///    at which they were replaced, or else under the newest name of the file that replaced them. If other
///    files have these names now, they stay without a name until a repair.
/// 4. Versions that are left out stay in the catalog as files without a name (`InodeState.Marks.leftOut`), so
///    all of their content that is in the store stays too, until a repair brings it back.
struct FileFallback {
  private var shown: [InodeNumber: FileVersion] = [:]
  private var leftOut: Set<InodeNumber> = []
  private var unreadable: Set<InodeNumber> = []
  /// The newest whole versions of files that were replaced and are gone.
  private var replaced: [InodeNumber: FileVersion] = [:]
  private var renamed: [RecentHistory.Replacement] = []
  /// The versions of each file between the shown one and the newest, as far as they hold content of their
  /// own.
  private var kept: [InodeNumber: [FileVersion]] = [:]
  /// Incomplete thumbnails, and true for those that were not written yet when the store was copied.
  private var thumbnails: [InodeNumber: Bool] = [:]
  /// The thumbnails of photos that albumfs makes again.
  private(set) var remadeThumbnails: [RemadeThumbnail] = []
  private var times: [InodeNumber: StoreTime] = [:]
  private var ends: Set<InodeNumber> = []
  /// The values of `InodeState.leftOutPath`.
  private var paths: [InodeNumber: [UInt8]] = [:]
  /// False if the crash harness leaves out this precaution.
  private var keepsVersions = true
  /// The files whose versions the decision depends on.
  private(set) var wanted: Set<InodeNumber> = []

  /// For a space in which nothing is missing.
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
      // Content that lost frames described does not count here: the journal shows whether a copy lacks them.
      let isEnd = segments.allSatisfy { $0 == Extent.lostSegment || missing.isEndOfCopy($0) }
      if !isDamaged, isEnd { ends.insert(inode) }
      let isThumbnail =
        catalog.index(of: inode).map { catalog.state($0).marks.contains(.madeThumbnail) } ?? false
      if isThumbnail {
        // albumfs makes a thumbnail again only if its frames are known.
        if !segments.contains(Extent.lostSegment) { thumbnails[inode] = ends.contains(inode) }
        continue
      }
      if isDamaged {
        unreadable.insert(inode)
        continue
      }
      // A checkpoint alone knows the file. Its content is known, and is not there.
      let isNewInCheckpoint =
        recent.madeInGap.contains(inode) && !segments.contains(Extent.lostSegment)
      let version = try FileFallback.newestWhole(recent.versions[inode], &missing)
      kept[inode] = FileFallback.between(version, catalog, inode, recent.versions[inode] ?? [])
      if let version {
        shown[inode] = version
      } else if missing.unstated.contains(inode) {
        leftOut.insert(inode)
      } else if recent.isOld(inode) || recent.versions[inode] == nil && !isNewInCheckpoint {
        unreadable.insert(inode)
      } else {
        leftOut.insert(inode)
      }
    }
    if !omitted.contains(.replacedComesBack) { try addReplaced(recent, catalog, &missing) }
  }

  /// Adds the files that left-out files replaced, and the files that those had replaced.
  private mutating func addReplaced(
    _ recent: RecentHistory, _ catalog: borrowing Catalog, _ missing: inout MissingContent
  ) throws(StoreError) {
    var waiting = Array(leftOut)
    var seen = leftOut
    while let inode = waiting.popLast() {
      for rename in recent.renamed where rename.now == inode && seen.insert(rename.former).inserted
      {
        let former = rename.former
        // A file without links was open when it lost its name, and is gone too.
        if catalog.hasFile(former) { continue }
        wanted.insert(former)
        // Only versions from before the file lost its last name count.
        let named = recent.versions[former]?.filter { $0.state.links > 0 }
        if let version = try FileFallback.newestWhole(named, &missing) {
          replaced[former] = version
        } else {
          waiting.append(former)
        }
      }
    }
  }

  /// Returns the versions that are newer than `shown`, or all if it is nil, without the newest, which the
  /// catalog has. Leaves out a version if newer ones refer to all of its records. References of `shown` do
  /// not count, because compaction may move what is shown.
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

  /// Changes a catalog whose replay has ended, and queues the changes for the next frame. Returns the outcome
  /// for each file.
  mutating func apply(to catalog: inout Catalog) -> [IncompleteFile] {
    forgetThumbnails(&catalog)
    if shown.isEmpty && leftOut.isEmpty && unreadable.isEmpty { return [] }
    let names = catalog.names(of: Set(shown.keys).union(leftOut).union(unreadable))
    var files: [IncompleteFile] = []
    for inode in Set(shown.keys).union(leftOut).union(unreadable).sorted() {
      // Lost frames made it, and nothing of it is left.
      guard catalog.index(of: inode) != nil else { continue }
      // Compaction moved its content; nothing else has changed.
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
      paths[file.inode] = file.path.map {
        LeftOutNote(isDamage: !file.isEndOfCopy, since: file.since, path: $0).encoded
      }
    }
    for inode in shown.keys.sorted() { show(inode, shown[inode]!, &catalog) }
    files += leaveOut(leftOut.sorted().filter(isHidden), names, &catalog)
    return files.filter { $0.path != nil || $0.outcome != .formerContent }
  }

  private mutating func show(
    _ inode: InodeNumber, _ version: FileVersion, _ catalog: inout Catalog
  ) {
    guard let index = catalog.index(of: inode) else { return }
    let newest = catalog.extents(of: index, from: 0, to: .max)
    if newest == version.extents, catalog.state(index).size == version.state.size { return }
    if isSameContent(inode, index, catalog) {
      return catalog.shareExtents(version.extents, with: index)
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

  /// True if the shown version has the newest content, at the place from which compaction moved it.
  private func isSameContent(
    _ inode: InodeNumber, _ index: InodeIndex, _ catalog: borrowing Catalog
  ) -> Bool {
    guard let version = shown[inode] else { return false }
    return version.state.contentVersion == catalog.state(index).contentVersion
      && version.state.size == catalog.state(index).size
  }

  /// Hides files and shows what they replaced. Returns those of the latter that the user sees again at names
  /// that led to nothing, or that have no name.
  private mutating func leaveOut(
    _ hidden: [InodeNumber], _ names: [InodeNumber: [EntryPlace]], _ catalog: inout Catalog
  ) -> [IncompleteFile] {
    let there = hidden.compactMap { inode in catalog.index(of: inode).map { (inode, $0) } }
    let chains = hidden.map { replacers(endingWith: $0, catalog) }
    for (inode, index) in there {
      catalog.pin(index)
      catalog.countLinks(of: index, atLeast: names[inode]?.count ?? 0)
    }
    var places = hidden.flatMap { inode in
      (names[inode] ?? []).map { (inode: inode, place: $0) }
    }
    places = places.filter { !showReplaced(by: $0.inode, at: $0.place, anywhere: false, &catalog) }
    var files = chains.flatMap { bringBack(replacedBy: $0, onlyToTheirNames: true, &catalog) }
    places = places.filter { !showReplaced(by: $0.inode, at: $0.place, anywhere: true, &catalog) }
    for (_, place) in places {
      guard let directory = catalog.index(of: place.directory) else { continue }
      catalog.removeEntry(place.name, in: directory)
    }
    // Only now are all names of hidden files free.
    files += chains.flatMap { bringBack(replacedBy: $0, onlyToTheirNames: false, &catalog) }
    for (inode, index) in there {
      if keepsVersions {
        keepVersions(of: inode, index, &catalog)
        catalog.keepLeftOut(index, path: paths[inode])
      }
      catalog.unpin(index)
    }
    return files
  }

  /// Gives a name of `inode` to the file that it replaced there, or with `anywhere` else to the last that it
  /// replaced. Returns false if there is none.
  private mutating func showReplaced(
    by inode: InodeNumber, at place: EntryPlace, anywhere: Bool, _ catalog: inout Catalog
  ) -> Bool {
    guard let directory = catalog.index(of: place.directory),
      let former = takeReplaced(by: inode, at: place, anywhere: anywhere)
    else { return false }
    let back = catalog.bringBack(former)
    catalog.replaceEntry(place.name, in: directory, child: back)
    catalog.unpin(back)
    return true
  }

  /// A hidden file, and those that it replaced and that are gone without a whole version, directly or through
  /// one another: what these had replaced comes back as well. The hidden file is the first.
  private func replacers(endingWith inode: InodeNumber, _ catalog: borrowing Catalog)
    -> [InodeNumber]
  {
    var found = [inode]
    var next = 0
    while next < found.count {
      let current = found[next]
      next += 1
      for rename in renamed
      where rename.now == current && replaced[rename.former] == nil
        && !found.contains(rename.former)
      {
        if !catalog.hasFile(rename.former) { found.append(rename.former) }
      }
    }
    return found
  }

  /// Restores the files that these replaced, or may have replaced, at their names. Where such a name is
  /// taken, the file stays without a name; with `onlyToTheirNames` it waits, as all do that are guesses.
  private mutating func bringBack(
    replacedBy replacers: [InodeNumber], onlyToTheirNames: Bool, _ catalog: inout Catalog
  ) -> [IncompleteFile] {
    let inode = replacers[0]
    var files: [IncompleteFile] = []
    for rename in renamed where rename.now.map(replacers.contains) ?? false {
      let directory = catalog.index(of: rename.place.directory).flatMap {
        catalog.state($0).kind == .directory ? $0 : nil
      }
      let isFree = directory.map { catalog.child(rename.place.name, of: $0) == nil } ?? false
      if onlyToTheirNames, !isFree || rename.isGuess { continue }
      guard let former = replaced.removeValue(forKey: rename.former) else { continue }
      let back = catalog.bringBack(former)
      var file = IncompleteFile(
        inode: rename.former, path: nil, outcome: .withoutName, since: times[inode] ?? .none,
        isEndOfCopy: ends.contains(inode))
      if let directory, isFree {
        catalog.insertEntry(rename.place.name, in: directory, child: back)
        file.path = catalog.path(of: rename.place.name, in: rename.place.directory)
        file.outcome = .formerContent
      } else {
        catalog.keepNameless(back)
      }
      catalog.unpin(back)
      files.append(file)
    }
    return files
  }

  /// Takes the file that `inode` replaced at `place`, or with `anywhere` else the last that it replaced. If
  /// that file has no whole version, takes the one that it had replaced, and so on.
  private mutating func takeReplaced(
    by inode: InodeNumber, at place: EntryPlace, anywhere: Bool
  ) -> FileVersion? {
    var seen: Set<InodeNumber> = [inode]
    var current = inode
    while true {
      let candidates = renamed.filter {
        $0.now == current && !$0.isGuess && !seen.contains($0.former)
      }
      let here = candidates.last { $0.place == place }
      guard let next = here ?? (anywhere ? candidates.last : nil) else { return nil }
      seen.insert(next.former)
      if let version = replaced.removeValue(forKey: next.former) { return version }
      current = next.former
    }
  }

  /// Removes incomplete thumbnails from their photos, so that albumfs makes them again.
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

  /// True if a new, incomplete file is hidden: it was being written when the store was copied, or a file that
  /// it replaced gets the name back.
  private func isHidden(_ inode: InodeNumber) -> Bool {
    leftOut.contains(inode) && (ends.contains(inode) || hasReplaced(inode))
  }

  /// True if a left-out file replaced a file with a whole version, directly or through other left-out files.
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
  /// Shows an earlier version of a file. Its names, owner and mode stay. The thumbnail of its newest content
  /// goes.
  fileprivate mutating func showFormer(_ version: FileVersion, of index: InodeIndex) {
    shareExtents(version.extents, with: index)
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

  /// Raises a link count that is less than the number of names, which frames of a mixed store can leave
  /// behind.
  fileprivate mutating func countLinks(of index: InodeIndex, atLeast count: Int) {
    inodes[index].state.links = max(inodes[index].state.links, UInt32(clamping: count))
  }

  /// Keeps a file that no name leads to any more.
  fileprivate mutating func keepLeftOut(_ index: InodeIndex, path: [UInt8]?) {
    update(index) { $0.marks.insert(.leftOut) }
    inodes[index].state.links = 1
    recordLeftOutPath(index, path)
  }

  /// Records the path of a left-out file for later mounts and for a repair.
  private mutating func recordLeftOutPath(_ index: InodeIndex, _ path: [UInt8]?) {
    guard let path else { return }
    setAttribute(InodeState.leftOutPath, of: index, to: path)
  }

  /// Keeps one version of a file under an inode number of its own.
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
    markDirty(copy, .state)
    shareExtents(extents, with: copy)
    recordLeftOutPath(copy, path)
  }

  /// Keeps a file that was brought back and has no name, until a repair.
  fileprivate mutating func keepNameless(_ index: InodeIndex) {
    dropFormer(of: index)
    inodes[index].state.links = 1
    markDirty(index, .state)
  }

  /// Restores a file that is gone, without a name and pinned once. A replaced file that the space keeps as
  /// deleted is there already. Its content may have been moved since the version.
  fileprivate mutating func bringBack(_ version: FileVersion) -> InodeIndex {
    if let index = index(of: version.state.number) {
      pin(index)
      if state(index).contentVersion != version.state.contentVersion {
        showFormer(version, of: index)
      } else if extents(of: index, from: 0, to: .max) != version.extents {
        shareExtents(version.extents, with: index)
      }
      return index
    }
    var state = version.state
    state.links = 0
    state.thumbnail = InodeNumber(0)
    if state.thumbnailState == .made || state.thumbnailState == .failed {
      state.thumbnailState = .pending
    }
    var record = InodeRecord(state: state)
    record.pins = 1
    let index = inodes.insert(record)
    markDirty(index, .state)
    for (name, value) in version.attributes { setAttribute(name, of: index, to: value) }
    shareExtents(version.extents, with: index)
    return index
  }
}
