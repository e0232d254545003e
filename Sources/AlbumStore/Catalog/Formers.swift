package import AlbumFormat
package import AlbumModel

// Deleted files. A file that loses its last name stays for some time, as an inode without a name and with a
// former place: its last name, the directory of that, and the time. Everything that walks inodes and extents
// (compaction, the ledger, checkpoints) sees it as it sees any inode.
//
// 1. An inode with a former place has no name, and lives.
// 2. A file that is overwritten in place leaves its former content to an inode of its own: a former version.
//    The two share the extents, and the version takes the thumbnail.
// 3. A directory lives while it is the directory of a former place, and a file while it has former versions.
//    If it has no name, it has a former place too, so whatever is deleted has a path.
// 4. Expiry and `purge` take former places away, and with them the inodes. A name takes the former place
//    away, too, and the inode lives on: that is how a file comes back.

/// When a name is removed: by the clock that decides how long a deleted file stays, and for the user.
package struct RemovalMoment: Sendable {
  package var used: StoreTime
  package var wall: Timestamp
  package init(used: StoreTime, wall: Timestamp) {
    self.used = used
    self.wall = wall
  }

  /// True if this moment and an earlier one are the same second for both clocks.
  fileprivate func isSecond(of earlier: RemovalMoment) -> Bool {
    used >= earlier.used && used - earlier.used < .seconds(1)
      && wall.seconds == earlier.wall.seconds
  }
}

/// The size and the times of a file before a program began to change it.
package struct FormerState: Sendable {
  package let size: Int64
  fileprivate let modified: Timestamp
  fileprivate let changed: Timestamp

  /// nil for an empty file. A time of modification after `limit` is that of a later change: the content had
  /// its own by then.
  package init?(_ state: InodeState, notAfter limit: Timestamp? = nil) {
    if state.size == 0 { return nil }
    size = state.size
    modified = limit.map { min($0, state.modified) } ?? state.modified
    changed = state.changed
  }
}

extension Catalog {
  /// True if deleted files stay for some time.
  package var keepsDeleted: Bool { properties[.keepsDeleted] ?? 1 != 0 }

  /// The former place of an inode; nil if it has none.
  package func formerPlace(of index: InodeIndex) -> FormerPlace? {
    guard inodes[index].isFormer, let record = formers.find(index) else { return nil }
    return place(of: record)
  }

  private func place(of record: FormerRecord) -> FormerPlace {
    FormerPlace(
      record.reason, formers.name(of: record),
      in: inodes[InodeIndex(rawValue: record.directory)].state.number, ended: record.ended,
      removed: record.removed)
  }

  /// True while an inode lives without a name because it is deleted, or because something deleted needs it.
  package func isKeptDeleted(_ index: InodeIndex) -> Bool {
    inodes[index].isFormer || formerCounts[index] != nil
  }

  /// True while an inode lives without a name: it is kept as deleted, or for a point.
  package func isKept(_ index: InodeIndex) -> Bool {
    isKeptDeleted(index) || inodes[index].isInPast
  }

  /// The file of which an inode is a former version.
  package func fileOfVersion(_ index: InodeIndex) -> InodeIndex? {
    guard inodes[index].isFormer, let record = formers.find(index), record.reason == .overwritten
    else { return nil }
    return InodeIndex(rawValue: record.directory)
  }

  /// The path that a deleted inode had, from the root; nil for a former version of a file that has a name.
  package func formerPath(of index: InodeIndex) -> [FileName]? {
    var names: [FileName] = []
    var at = index
    // A circle is damage, and must not be one here.
    while names.count < Catalog.pathLimit, inodes[at].isFormer, let record = formers.find(at) {
      if let name = formers.name(of: record) { names.append(name) }
      at = InodeIndex(rawValue: record.directory)
    }
    if names.isEmpty { return nil }
    if let root = self.index(of: .root) { names += self.names(from: root, to: at).reversed() }
    return names.reversed()
  }

  /// The greatest number of names in a path that is looked up.
  static let pathLimit = 4096

  /// Calls `body` with `limit` deleted files from `start` on, in no order. Returns the next start; nil at
  /// the end.
  package func forEachDeleted(
    from start: UInt32, limit: UInt32, _ body: (InodeIndex, FormerPlace) -> Void
  ) -> UInt32? {
    let stop = min(formers.upperBound, start.addingReportingOverflow(limit).partialValue)
    if start >= stop { return nil }
    extents.steps.count(Int(stop - start))
    for place in start..<stop {
      guard let record = formers.occupant(place), record.reason.isShown else { continue }
      body(InodeIndex(rawValue: record.inode), self.place(of: record))
    }
    return stop < formers.upperBound ? stop : nil
  }

  // MARK: Changes

  /// Removes a name as a user does: if it was the last one of a file with content, the file stays as a
  /// deleted one.
  package mutating func removeEntry(
    _ name: FileName, in directory: InodeIndex, at moment: RemovalMoment
  ) {
    guard let child = child(name, of: directory) else { return }
    beginRemoval(of: name, child, at: moment)
    update(child) { $0.changed = moment.wall }
    keepFormer(child, name, in: directory, .deleted, moment)
    removeEntry(name, in: directory)
  }

  /// The same for the inode that another one replaces, as a part of a change that has begun.
  package mutating func replaceEntry(
    _ name: FileName, in directory: InodeIndex, child: InodeIndex, at moment: RemovalMoment
  ) {
    guard let former = self.child(name, of: directory) else { return }
    update(former) { $0.changed = moment.wall }
    keepFormer(former, name, in: directory, .replaced, moment)
    replaceEntry(name, in: directory, child: child)
  }

  private mutating func keepFormer(
    _ index: InodeIndex, _ name: FileName, in directory: InodeIndex, _ reason: FormerPlace.Reason,
    _ moment: RemovalMoment
  ) {
    let state = inodes[index].state
    if state.kind != .regular || state.links != 1 { return }
    let isWorthKeeping = keepsDeleted && state.size > 0 && !isTemporary(name, state, moment)
    guard isWorthKeeping || formerCounts[index] != nil else { return }
    if isWorthKeeping { beginDestruction(at: moment) }
    let shared = shared(moment)
    setFormer(
      FormerPlace(
        reason, name, in: inodes[directory].state.number, ended: shared.used,
        removed: shared.wall),
      of: index, in: directory)
  }

  /// Returns the moment that a former place states: that of the one before, if both came within one second
  /// and no point is between them. So files that go together share a record.
  private mutating func shared(_ moment: RemovalMoment) -> RemovalMoment {
    if let last = lastRemoval, moment.isSecond(of: last) { return last }
    lastRemoval = moment
    return moment
  }

  /// A directory in which a deleted file was loses its name, or a file with former versions its last one
  /// without a user: keeps it, unless it is pinned for a move.
  mutating func keepHolder(_ index: InodeIndex, _ name: FileName, in directory: InodeIndex) {
    let inode = inodes[index]
    if inode.pins > 0 || inode.isFormer || inode.state.links > 1 || formerCounts[index] == nil {
      return
    }
    setFormer(
      FormerPlace(
        inode.state.kind == .directory ? .directory : .deleted, name,
        in: inodes[directory].state.number, ended: .none, removed: Timestamp(nanoseconds: 0)),
      of: index, in: directory)
  }

  /// Files in more pieces, such as databases, keep no former versions.
  static let versionExtentLimit = 8192

  /// Keeps the content of a file that is about to lose some of it, a deleted one too: what it was
  /// according to `former`, if that is known. Returns false if it is not kept: the space keeps no deleted
  /// files, or a program has not finished the file.
  package mutating func keepVersion(
    of file: InodeIndex, as former: FormerState? = nil, at moment: RemovalMoment
  ) -> Bool {
    var state = inodes[file].state
    let isReachable = state.links > 0 || inodes[file].isFormer
    let unfinished: InodeState.Marks = [.beingWritten, .leftOut, .madeThumbnail]
    guard keepsDeleted, state.kind == .regular, state.size > 0, isReachable,
      state.marks.isDisjoint(with: unfinished), extentCount(of: file) <= Catalog.versionExtentLimit
    else { return false }
    beginDestruction(at: moment)
    extents.steps.permit(16 * extentCount(of: file))
    let isLonger = former.map { $0.size < state.size } ?? false
    if let former {
      state.size = min(state.size, former.size)
      (state.modified, state.changed) = (former.modified, former.changed)
    }
    let version = insertVersion(of: state, from: file)
    if isLonger { replaceExtents(of: version, from: state.size, to: .max, with: []) }
    if let thumbnail = inodes.find(state.thumbnail) { setMadeThumbnail(thumbnail, of: version) }
    let shared = shared(moment)
    setFormer(
      FormerPlace(
        .overwritten, nil, in: state.number, ended: shared.used, removed: shared.wall),
      of: version, in: file)
    return true
  }

  /// Lets another inode with the same content share a thumbnail.
  package mutating func setMadeThumbnail(_ thumbnail: InodeIndex, of index: InodeIndex) {
    setThumbnail(thumbnail, of: index)
    inodes[index].state.thumbnailState = .made
  }

  /// Adds an inode with a state that another one had, and with its present content and attributes. It has no
  /// thumbnail yet.
  mutating func insertVersion(of state: InodeState, from file: InodeIndex) -> InodeIndex {
    var record = InodeRecord(state: state)
    record.state.number = takeInodeNumber()
    record.state.links = 0
    record.state.thumbnail = InodeNumber(0)
    record.state.contentStatements = 0
    record.state.marks.remove(.beingWritten)
    if state.thumbnailState == .made { record.state.thumbnailState = .pending }
    if state.kind == .directory { record.directory = directories.make() }
    let version = inodes.insert(record)
    markDirty(version, .state)
    let shared = extents(of: file, from: 0, to: .max)
    if !shared.isEmpty { shareExtents(shared, with: version) }
    for (name, value) in extras[file]?.attributes ?? [:] {
      setAttribute(name, of: version, to: value)
    }
    if state.kind == .symlink { setSymlinkTarget(version, to: symlinkTarget(file)) }
    return version
  }

  /// Programs write a new version under a hidden name first, and remove it if that fails.
  private func isTemporary(_ name: FileName, _ state: InodeState, _ moment: RemovalMoment) -> Bool {
    name.isHidden && state.modified > moment.wall - .seconds(60)
  }

  mutating func setFormer(
    _ place: FormerPlace, of index: InodeIndex, in directory: InodeIndex
  ) {
    dropFormer(of: index)
    formers.insert(place, of: index, in: directory)
    if place.reason.isVersion, !isReplaying { link(version: index, of: directory) }
    inodes[index].isFormer = true
    if place.reason == .changed {
      keepInPast(directory)
    } else {
      formerCounts[directory, default: 0] += 1
    }
    enqueueFormer(index)
  }

  private mutating func link(version: InodeIndex, of file: InodeIndex) {
    let number = inodes[version].state.number
    var newer: InodeIndex?
    formers.forEachVersion(of: file) { other in
      if inodes[other].state.number < number { return false }
      newer = other
      return true
    }
    formers.link(version: version, behind: newer)
  }

  /// Takes the former place away from an inode. Directories that it kept go, unless something else keeps
  /// them; the inode itself stays.
  mutating func dropFormer(of first: InodeIndex) {
    var next: InodeIndex? = first
    passThumbnail(of: first)
    while let index = next, let record = formers.take(index) {
      inodes[index].isFormer = false
      enqueueFormer(index)
      next = release(InodeIndex(rawValue: record.directory), record.reason)
      if index != first { freeIfUnused(index) }
    }
  }

  /// Lets the next older version with the same content have the thumbnail of a version that is about to go.
  private mutating func passThumbnail(of version: InodeIndex) {
    guard !isReplaying, let older = formers.olderVersion(than: version),
      let made = thumbnail(of: version), state(older).thumbnail.rawValue == 0,
      state(older).contentVersion == state(version).contentVersion
    else { return }
    setMadeThumbnail(made, of: older)
  }

  private mutating func release(_ directory: InodeIndex, _ reason: FormerPlace.Reason)
    -> InodeIndex?
  {
    if reason != .changed { return releaseDirectory(directory) }
    releaseFromPast(directory)
    if !isReplaying { freeIfUnused(directory) }
    return nil
  }

  /// Returns the directory if it is to lose its own former place now.
  private mutating func releaseDirectory(_ directory: InodeIndex) -> InodeIndex? {
    let count = (formerCounts[directory] ?? 1) - 1
    formerCounts[directory] = count == 0 ? nil : count
    if count > 0 || isReplaying { return nil }
    if inodes[directory].isFormer {
      return inodes[directory].state.kind == .directory ? directory : nil
    }
    freeIfUnused(directory)
    return nil
  }

  private mutating func enqueueFormer(_ index: InodeIndex) {
    if !isReplaying { changes.formers.append(inodes[index].state.number) }
  }

  /// Ends the keeping of a deleted file: it goes, unless something has it open. Returns false if it has
  /// former versions, which go first.
  package mutating func discardDeleted(_ index: InodeIndex) -> Bool {
    if !inodes[index].isFormer || formerCounts[index] != nil { return false }
    if keepForPoint(index) { return true }
    pin(index)
    dropFormer(of: index)
    unpin(index)
    return true
  }

  /// Keeps a former version that a point shows for that alone. Returns false for anything else.
  private mutating func keepForPoint(_ version: InodeIndex) -> Bool {
    guard let file = fileOfVersion(version), isNeededInPast(version) else { return false }
    pin(file)
    setFormer(
      FormerPlace(
        .changed, nil, in: inodes[file].state.number, ended: .none,
        removed: Timestamp(nanoseconds: 0)),
      of: version, in: file)
    unpin(file)
    return true
  }

  /// The inode that gets a name when a former version comes back: the version, or a copy of it, if a point
  /// shows the version. The caller names it under the same hold of the lock.
  package mutating func takeToRestore(_ version: InodeIndex) -> InodeIndex {
    if !keepForPoint(version) { return version }
    let copy = insertVersion(of: inodes[version].state, from: version)
    if let thumbnail = inodes.find(inodes[version].state.thumbnail) {
      setMadeThumbnail(thumbnail, of: copy)
    }
    return copy
  }

  /// A new inode that shares the state, content and attributes of another one. The caller names it under the
  /// same hold of the lock.
  package mutating func copy(of index: InodeIndex) -> InodeIndex {
    extents.steps.permit(16 * extentCount(of: index))
    var state = inodes[index].state
    state.marks.remove(.leftOut)
    return insertVersion(of: state, from: index)
  }

  /// Ends the keeping of a deleted file of which a copy lacks content. Its former versions take its place. A
  /// point that needs it shows an empty file.
  mutating func discardUnwritten(_ index: InodeIndex) {
    let number = inodes[index].state.number
    if let place = formerPlace(of: index), let directory = self.index(of: place.directory) {
      for version in versions(of: index) { setFormer(place, of: version, in: directory) }
    }
    _ = discardDeleted(index)
    if let left = self.index(of: number), inodes[left].state.links == 0 { emptyVersion(left) }
  }

  private func versions(of file: InodeIndex) -> [InodeIndex] {
    if formerCounts[file] == nil { return [] }
    var found: [InodeIndex] = []
    for place in 0..<formers.upperBound {
      guard let record = formers.occupant(place), record.reason == .overwritten,
        record.directory == file.rawValue
      else { continue }
      found.append(InodeIndex(rawValue: record.inode))
    }
    return found
  }

  // MARK: Frames and replay

  func encodeFormer(of number: InodeNumber, into writer: inout ByteWriter) {
    guard let index = inodes.find(number) else { return }
    JournalItem.former(number, formerPlace(of: index)).encode(into: &writer)
  }

  /// Encodes the former places of the next `count` places of the table, for a checkpoint. Returns nil at the
  /// end.
  func encodeFormers(_ start: inout UInt32, count: UInt32) -> [UInt8]? {
    let stop = min(formers.upperBound, start.addingReportingOverflow(count).partialValue)
    if start >= stop { return nil }
    var writer = ByteWriter()
    for place in start..<stop {
      guard let record = formers.occupant(place) else { continue }
      let number = inodes[InodeIndex(rawValue: record.inode)].state.number
      JournalItem.former(number, self.place(of: record)).encode(into: &writer)
    }
    start = stop
    return writer.bytes
  }

  mutating func applyFormer(_ number: InodeNumber, _ place: FormerPlace?) {
    guard let place else {
      if let index = inodes.find(number) { dropFormer(of: index) }
      return
    }
    let index = expect(number, place.reason == .directory ? .directory : .regular)
    let holder = expect(place.directory, place.reason.isVersion ? .regular : .directory)
    setFormer(place, of: index, in: holder)
  }

  /// Ends replay for former places: drops those of inodes that have a name, or that are not completely known.
  /// Returns false if that cost a state that a point shows.
  mutating func finishFormers() -> Bool {
    var isWholePast = true
    if formers.count == 0 { return isWholePast }
    for place in 0..<formers.upperBound {
      guard let record = formers.occupant(place) else { continue }
      let index = InodeIndex(rawValue: record.inode)
      if isWhole(index, record) { continue }
      if record.reason.isVersion { isWholePast = false }
      dropFormer(of: index)
    }
    for place in 0..<formers.upperBound {
      guard let record = formers.occupant(place) else { continue }
      settleDirectory(of: InodeIndex(rawValue: record.inode), record)
    }
    // A directory stays only for the sake of others.
    var isStable = false
    while !isStable {
      isStable = true
      for place in 0..<formers.upperBound {
        guard let record = formers.occupant(place), record.reason == .directory else { continue }
        let index = InodeIndex(rawValue: record.inode)
        if formerCounts[index] != nil { continue }
        dropFormer(of: index)
        isStable = false
      }
    }
    linkVersions()
    return isWholePast
  }

  private mutating func linkVersions() {
    var found: [(number: InodeNumber, version: InodeIndex)] = []
    for place in 0..<formers.upperBound {
      guard let record = formers.occupant(place), record.reason.isVersion else { continue }
      let version = InodeIndex(rawValue: record.inode)
      found.append((inodes[version].state.number, version))
    }
    found.sort { $0.number < $1.number }
    for (_, version) in found { formers.link(version: version, behind: nil) }
  }

  /// True if a former place fits its inode, and all content of the inode is in segments that the space has.
  /// A session of a release without deleted files may have removed some.
  private func isWhole(_ index: InodeIndex, _ record: FormerRecord) -> Bool {
    let inode = inodes[index]
    if inode.isExpected || inode.state.links > 0 || inode.state.number == .root { return false }
    if record.reason == .directory { return inode.state.kind == .directory }
    if record.reason == .changed {
      return !inodes[InodeIndex(rawValue: record.directory)].isExpected && hasKnownSegments(index)
    }
    return inode.state.kind == .regular && hasKnownSegments(index)
  }

  /// Keeps the segments of its content. Lets a file be one of the root if its directory is not known, and
  /// drops a version of which the file is not.
  private mutating func settleDirectory(of index: InodeIndex, _ record: FormerRecord) {
    keepSegments(of: index)
    if record.reason == .changed { return }
    let directory = InodeIndex(rawValue: record.directory)
    let known = inodes[directory]
    let isLiving = !known.isExpected && (known.state.links > 0 || known.isFormer)
    if record.reason == .overwritten {
      return isLiving && known.state.kind == .regular && directory != index
        ? () : dropFormer(of: index)
    }
    if isLiving, known.state.kind == .directory, known.directory != .max { return }
    guard let root = inodes.find(.root), root != directory else { return dropFormer(of: index) }
    _ = releaseDirectory(directory)
    formers.setDirectory(of: index, to: root)
    formerCounts[root, default: 0] += 1
  }
}

extension InodeState {
  /// False for an empty file, such as a temporary one whose name goes at once.
  var isWorthPoint: Bool { kind != .regular || size > 0 }
}

extension FormerPlace.Reason {
  /// True for what the user sees among the deleted files.
  var isShown: Bool { self != .directory && self != .changed }
}
