package import AlbumFormat
package import AlbumModel

// The past: the whole tree as it was at some points in time. A point is a number from the counter of inode
// numbers, and every thing that is recorded for it has a number from the same counter. So numbers say what
// came first, and nothing records how long something was so.
//
// 1. The first change that destroys something makes a point before it, at most one a minute. The user makes
//    points with a label.
// 2. An inode was there at a point if its number is lower.
// 3. When a name changes for the first time since the newest point, a past name takes a number and records
//    what it led to. At a point, a name led to what its oldest past name behind the point records; without
//    one, to what it leads to now. If that was not there yet, it led to nothing. So a name that a new inode
//    gets needs no record.
// 4. When an inode that was there at the newest point changes for the first time since, a version keeps its
//    state (`Formers`). At a point, an inode had the state of its oldest version behind the point.
// 5. What a past name or a version refers to stays in the catalog (`InodeRecord.isInPast`). So compaction
//    and the ledger see it as they see everything.
// 6. A past name or version is needed while a point lies between it and the one before it (`PastUpkeep`).

/// The position of a walk over the past names of a directory.
package struct PastNameCursor {
  fileprivate var place: UInt32?
  package fileprivate(set) var isAtEnd = false
  package init() {}
}

extension Catalog {
  /// The time between two points that albumfs makes.
  static let pointInterval = Duration.seconds(60)

  /// Begins a change that destroys something: makes a point before it, if the newest is old enough.
  package mutating func beginDestruction(at moment: RemovalMoment) {
    guard keepsDeleted,
      points.last.map({ moment.used - $0.used >= Catalog.pointInterval }) ?? true
    else { return }
    makePoint(at: moment)
  }

  /// The same for a change of what an inode is besides its content: a name, times, permissions, attributes.
  /// Makes no point for an inode that was changed within the interval: a program that copies a file sets its
  /// attributes last, and a program that saves a file renames a hidden one. A time ahead of the clock says
  /// that the clock was wrong then, and nothing about how long ago the inode was changed.
  package mutating func beginChange(of index: InodeIndex, at moment: RemovalMoment) {
    let young = (moment.wall - Catalog.pointInterval)...moment.wall
    if young.contains(inodes[index].state.changed) { return }
    beginDestruction(at: moment)
  }

  /// The same for a name that goes.
  package mutating func beginRemoval(
    of name: FileName, _ index: InodeIndex, at moment: RemovalMoment
  ) {
    if !name.isHidden, inodes[index].state.isWorthPoint {
      beginDestruction(at: moment)
    } else {
      beginChange(of: index, at: moment)
    }
  }

  @discardableResult
  package mutating func makePoint(at moment: RemovalMoment, label: FileName? = nil)
    -> HistoryPoint
  {
    let point = HistoryPoint(
      number: takeInodeNumber(), used: moment.used, wall: moment.wall, label: label)
    points.append(point)
    lastRemoval = nil
    changes.points.append(.there(point))
    return point
  }

  // MARK: Before a change

  /// Records what a name leads to before that becomes `child`, if the newest point shows it.
  mutating func keepPastName(
    _ name: FileName, in directory: InodeIndex, before child: InodeIndex?
  ) {
    guard let point = points.last?.number, !isReplaying, was(directory, at: point) else { return }
    if let place = formers.names.newest(name, in: directory), formers.names[place].number > point {
      return
    }
    let former = self.child(name, of: directory).flatMap { was($0, at: point) ? $0 : nil }
    if former == nil, child.map({ was($0, at: point) }) != true { return }
    let number = takeInodeNumber()
    formers.names.insert(name, in: directory, child: former, number: number)
    keepInPast(directory)
    if let former { keepInPast(former) }
    changes.pastNames.append(PastNameKey(self, name, in: directory, number))
  }

  /// Keeps the state that an inode has before it changes, if the newest point shows it and no version has
  /// it. `former` is that state.
  mutating func keepState(of index: InodeIndex, as former: InodeState) {
    guard let point = points.last?.number, !isReplaying, was(index, at: point),
      former.marks.isDisjoint(with: [.leftOut, .madeThumbnail]),
      formers.newestVersion(of: index).map({ inodes[$0].state.number < point }) ?? true,
      extentCount(of: index) <= Catalog.versionExtentLimit
    else { return }
    extents.steps.permit(16 * extentCount(of: index))
    let version = insertVersion(of: former, from: index)
    setFormer(
      FormerPlace(
        .changed, nil, in: former.number, ended: .none, removed: Timestamp(nanoseconds: 0)),
      of: version, in: index)
  }

  /// The same for the content that is about to change.
  package mutating func keepState(of index: InodeIndex) {
    if points.isEmpty || isReplaying { return }
    keepState(of: index, as: inodes[index].state)
  }

  /// Drops what a program wrote into a file after it lost its name, when nothing uses the file any more: each
  /// point shows a version of it.
  mutating func dropUnseenContent(of index: InodeIndex) {
    guard let point = points.last?.number, extentCount(of: index) > 0,
      let version = formers.newestVersion(of: index), !was(version, at: point)
    else { return }
    dropThumbnail(of: index)
    dropExtents(of: index)
    enqueueExtents(index, 0, .max, count: 0)
    update(index) { $0.size = 0 }
  }

  // MARK: At a point

  /// True if an inode was there at a point.
  package func was(_ index: InodeIndex, at point: InodeNumber) -> Bool {
    inodes[index].state.number < point
  }

  /// The point with this number; nil if it is gone.
  package func point(_ number: InodeNumber) -> HistoryPoint? {
    let place = points.partition { $0.number >= number }
    return place < points.count && points[place].number == number ? points[place] : nil
  }

  /// What a name in a directory led to at a point.
  package func child(_ name: FileName, of directory: InodeIndex, at point: InodeNumber)
    -> InodeIndex?
  {
    var child = child(name, of: directory)
    if let place = formers.names.first(name, in: directory, after: point) {
      let record = formers.names[place]
      child = record.child == .max ? nil : InodeIndex(rawValue: record.child)
    }
    return child.flatMap { was($0, at: point) ? $0 : nil }
  }

  /// Which of the names that a directory has now led to something at a point, as in `forEachEntry`.
  package func forEachEntry(
    of directory: InodeIndex, at point: InodeNumber, after cookie: UInt32,
    _ body: (_ name: FileName, _ child: InodeIndex?, _ cookie: UInt32) -> Bool
  ) {
    forEachEntry(of: directory, after: cookie) { name, _, cookie in
      body(name, child(name, of: directory, at: point), cookie)
    }
  }

  /// Some of the names in a directory that have changed since a point, and what they led to. A name may come
  /// twice, also in another call. The last call sets `cursor.isAtEnd`.
  package func changedNames(
    of directory: InodeIndex, since point: InodeNumber, _ cursor: inout PastNameCursor
  ) -> [(name: FileName, child: InodeIndex)] {
    var found: [(name: FileName, child: InodeIndex)] = []
    let limit = Catalog.pastNamesPerHold
    cursor.place = formers.names.forEach(in: directory, from: cursor.place, limit: limit) { place in
      if formers.names[place].number < point || formers.names[place].child == .max { return }
      let name = formers.names.name(of: place)
      if let child = child(name, of: directory, at: point) { found.append((name, child)) }
    }
    cursor.isAtEnd = cursor.place == nil
    return found
  }

  private static let pastNamesPerHold = 1024

  /// The inode that holds the state and the content that an inode had at a point.
  package func version(of index: InodeIndex, at point: InodeNumber) -> InodeIndex {
    var found = index
    formers.forEachVersion(of: index) { version in
      if inodes[version].state.number < point { return false }
      found = version
      return true
    }
    return found
  }

  /// The thumbnail of the content that a photo had at a point; nil if there is none. Of the versions with one
  /// content, one has it.
  package func thumbnail(of photo: InodeIndex, at point: InodeNumber) -> InodeIndex? {
    let version = version(of: photo, at: point)
    if let own = thumbnail(of: version) { return own }
    var found: InodeIndex?
    formers.forEachVersion(of: photo) { other in
      if state(other).contentVersion == state(version).contentVersion {
        found = thumbnail(of: other)
      }
      return found == nil && other != version
    }
    if let found { return found }
    let number = inodes[photo].state.thumbnail
    guard number.rawValue != 0, let made = index(of: number),
      state(made).contentVersion == state(version).contentVersion
    else { return nil }
    return made
  }

  /// The attributes for stat(2) that an inode had at a point. Its number is the present one.
  package func attributes(_ index: InodeIndex, at point: InodeNumber) -> Attributes {
    let version = version(of: index, at: point)
    let state = inodes[version].state
    let size = state.kind == .symlink ? Int64(symlinkTarget(version).count) : state.size
    return Attributes(
      inode: inodes[index].state.number, kind: state.kind, permissions: state.permissions,
      links: 1, owner: state.owner, group: state.group, device: state.device,
      size: state.kind == .directory ? 0 : size, blocks: (allocated(version) + 511) / 512,
      accessed: state.accessed, modified: state.modified, changed: state.changed)
  }

  // MARK: References

  /// True while a directory, file or version is kept for a point.
  mutating func keepInPast(_ index: InodeIndex) {
    if inodes[index].isInPast {
      pastCounts[index, default: 0] += 1
    } else {
      inodes[index].isInPast = true
    }
  }

  /// Ends one `keepInPast`. The caller then looks whether the inode is still needed.
  mutating func releaseFromPast(_ index: InodeIndex) {
    guard let count = pastCounts[index] else {
      inodes[index].isInPast = false
      return
    }
    pastCounts[index] = count == 1 ? nil : count - 1
  }
}

extension InodeState {
  /// True if both look the same at a point. Reading changes no state, and the time of a change of the inode
  /// alone is no state of its content.
  package func looksLike(_ other: InodeState) -> Bool {
    size == other.size && modified == other.modified && mode == other.mode
      && owner == other.owner && group == other.group
  }
}

extension Array {
  /// The first place at which `isBehind` is true, in an array in which it is so from there on.
  func partition(_ isBehind: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
