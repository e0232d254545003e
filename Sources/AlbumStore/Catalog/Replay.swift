package import AlbumFormat
import AlbumModel

// Replay: applies items of a checkpoint and of frames, in order. An item may name an inode that was not
// stated yet, because operations continue while a checkpoint is written. Such an inode is expected; if it is
// still only expected at the end, damage has removed it.

/// The losses that replay found.
package struct ReplayFindings: Equatable, Sendable {
  /// Entries of inodes that no item states: dropped.
  package var lostEntries: [EntryPlace] = []
  /// The number of files with unknown content.
  var lostContents = 0
  /// The number of inodes that should have a name, and have none.
  var orphans = 0
  /// The first inode number that only lost frames can have used, if frames are lost and the journal does not
  /// record that itself.
  package var firstLostInode: UInt64?
  init() {}

  package static func == (a: ReplayFindings, b: ReplayFindings) -> Bool {
    a.lostContents == b.lostContents && a.orphans == b.orphans && a.lostEntries == b.lostEntries
  }
}

extension Catalog {
  mutating func beginReplay() { isReplaying = true }

  /// Applies one item. Items that contradict the catalog (an entry in a file) are damage and change nothing.
  package mutating func apply(_ item: JournalItem) {
    switch item {
    case .inode(let state):
      // A checkpoint may contain an inode in the state of a later frame, because operations continue while
      // it is written. Skips an earlier statement: if that later frame were lost, the earlier content would
      // mix with the newer.
      if let known = inodes.find(state.number), !inodes[known].isExpected,
        inodes[known].state.contentStatements > state.contentStatements
      {
        outdated.insert(state.number)
      } else {
        outdated.remove(state.number)
        apply(state)
      }
    case .inodeGone(let number):
      if let index = inodes.find(number) { bury(index) }
    case .extents(let number, let from, let to, let list):
      if outdated.contains(number) { return }
      let index = expect(number, .regular)
      for extent in list { segments.hold(extent) }
      replaceExtents(of: index, from: from, to: to, with: list)
    case .entry(let directory, let name, let inode): applyEntry(directory, name, inode)
    case .symlink(let number, let target):
      setSymlinkTarget(expect(number, .symlink), to: target)
    case .attribute(let number, let name, let value):
      setAttribute(name, of: expect(number, .regular), to: value)
      extras[expect(number, .regular)]?.changedAttributes = []
    case .former(let number, let place): applyFormer(number, place)
    case .point(let statement): apply(statement)
    case .pastName(let name, let isPresent): apply(name, isPresent: isPresent)
    case .segment(.data, let number, let birth, let state, let retiredAt):
      segments.set(number, state, retiredAt: retiredAt, birth: birth)
    case .segment: break
    case .counters(let stated):
      counters = stated
      reserved = stated
    case .property(let property, let value): properties[property] = value
    case .session(let birth, let start): sessions[birth] = start == .gone ? nil : start
    case .loss(let stated):
      lossMark = nil
      loss = stated
      gap?.isStated = true
    case .barrier, .ignorable: break
    }
  }

  /// Ends replay: links directories to their parents, drops entries that lead nowhere and inodes without a
  /// name.
  mutating func finishReplay() -> ReplayFindings {
    var findings = ReplayFindings()
    while letGoOfDetached(limit: Catalog.extentsPerSlice) {}
    mend(&findings)
    finishPast(isWhole: finishFormers())
    var unnamed: [InodeIndex] = []
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw) else { continue }
      if inodes[index].state.kind != .directory { dropFalseListing(index, &findings) }
      let isNamed = inodes[index].state.links > 0 || isKept(index)
      if !isNamed || inodes[index].isExpected {
        unnamed.append(index)
      } else if inodes[index].state.links == 0 {
        settleThumbnail(of: index)
      }
    }
    for index in unnamed where inodes.occupant(index.rawValue) == index { discard(index) }
    // Last, because discarding an inode also discards others that only it referred to; with wrong counts
    // even named ones.
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw) else { continue }
      if inodes[index].directory != .max { finishDirectory(index, &findings) }
    }
    while letGoOfDetached(limit: Catalog.extentsPerSlice) {}
    segments.emptied = []
    for (number, account) in segments.accounts where account.live <= 0 && account.state != .retired
    {
      segments.emptied.insert(number)
    }
    isReplaying = false
    if let gap, !gap.isStated { findings.firstLostInode = gap.firstInode }
    gap = nil
    return findings
  }

  private mutating func apply(_ state: InodeState) {
    guard let index = inodes.find(state.number) else {
      var record = InodeRecord(state: state)
      if state.kind == .directory { record.directory = directories.make() }
      _ = inodes.insert(record)
      return
    }
    // The kind of an expected inode was a guess.
    if state.kind == .directory, inodes[index].directory == .max {
      inodes[index].directory = directories.make()
    }
    inodes[index].state = state
    inodes[index].isExpected = false
    inodes[index].isGone = false
  }

  private mutating func applyEntry(
    _ directory: InodeNumber, _ name: FileName, _ inode: InodeNumber?
  ) {
    let parent = expect(directory, .directory)
    guard inodes[parent].directory != .max else { return }
    guard let inode else { return dropEntry(name, in: parent) }
    let child = expect(inode, .regular)
    if let entry = entries.find(name, in: parent.rawValue) {
      entries.setChild(entry, to: child.rawValue)
    } else {
      placeEntry(name, in: parent, child: child)
    }
  }

  /// The inode with this number, or a place for it until it is stated.
  mutating func expect(_ number: InodeNumber, _ kind: FileKind) -> InodeIndex {
    if let index = inodes.find(number) {
      if kind == .directory, inodes[index].isExpected, inodes[index].directory == .max {
        inodes[index].directory = directories.make()
        inodes[index].state.mode = UInt16(FileKind.directory.rawValue) << 12
      }
      return index
    }
    var record = InodeRecord(state: InodeState(number: number, kind: kind, permissions: 0))
    record.isExpected = true
    if kind == .directory { record.directory = directories.make() }
    return inodes.insert(record)
  }

  /// An inode was taken for a directory, because names in it were stated, and then stated as a file: drops
  /// the names.
  private mutating func dropFalseListing(_ index: InodeIndex, _ findings: inout ReplayFindings) {
    let listing = inodes[index].directory
    if listing == .max { return }
    forEachEntry(of: index) { name, _, _ in
      findings.lostEntries.append(EntryPlace(directory: inodes[index].state.number, name: name))
      return true
    }
    empty(index)
    directories.remove(listing)
    inodes[index].directory = .max
  }

  private mutating func finishDirectory(_ index: InodeIndex, _ findings: inout ReplayFindings) {
    var lost: [FileName] = []
    var subdirectories: [(name: FileName, index: InodeIndex)] = []
    forEachEntry(of: index) { name, child, _ in
      // A file that is kept as deleted has no name.
      if inodes.occupant(child.rawValue) == nil || inodes[child].state.links == 0 {
        lost.append(name)
      } else if inodes[child].state.kind == .directory {
        subdirectories.append((name, child))
      }
      return true
    }
    for name in lost {
      dropEntry(name, in: index)
      findings.lostEntries.append(EntryPlace(directory: inodes[index].state.number, name: name))
    }
    for child in subdirectories {
      setParent(of: child.index, index, entry: entries.find(child.name, in: index.rawValue))
    }
    directories[inodes[index].directory].subdirectories = UInt32(subdirectories.count)
  }

  /// Applies the removal of an inode. Keeps its place until the end: if the frame that removed its names is
  /// damaged, no name may lead to another inode in the same place.
  private mutating func bury(_ index: InodeIndex) {
    empty(index)
    dropFormer(of: index)
    dropExtents(of: index)
    extras[index] = nil
    inodes[index].state.thumbnail = InodeNumber(0)
    inodes[index].state.links = 0
    inodes[index].isExpected = true
    inodes[index].isGone = true
  }

  /// Removes an inode, and a thumbnail that only it has. The counts of links may be wrong at this point.
  private mutating func discard(_ first: InodeIndex) {
    var next: InodeIndex? = first
    while let index = next {
      empty(index)
      let thumbnail = inodes[index].state.thumbnail
      inodes[index].state.thumbnail = InodeNumber(0)
      free(index)
      next = nil
      guard let made = inodes.find(thumbnail), inodes[made].state.links > 0 else { continue }
      inodes[made].state.links -= 1
      if inodes[made].state.links == 0 { next = made }
    }
  }

  /// Keeps the segments of the thumbnail of an inode without a name. A session of a release without deleted
  /// files dropped both: if it removed the segments, the inode has no thumbnail any more.
  private mutating func settleThumbnail(of index: InodeIndex) {
    let thumbnail = inodes[index].state.thumbnail
    if thumbnail.rawValue == 0 { return }
    let made = inodes.find(thumbnail)
    if let made, !inodes[made].isExpected, hasKnownSegments(made) { return keepSegments(of: made) }
    inodes[index].state.thumbnail = InodeNumber(0)
    if inodes[index].state.thumbnailState == .made { inodes[index].state.thumbnailState = .pending }
    guard let made, inodes[made].state.links > 0 else { return }
    inodes[made].state.links -= 1
    if inodes[made].state.links == 0 { discard(made) }
  }

  private mutating func empty(_ index: InodeIndex) {
    if inodes[index].directory != .max {
      var names: [FileName] = []
      forEachEntry(of: index) { name, _, _ in
        names.append(name)
        return true
      }
      for name in names { dropEntry(name, in: index) }
    }
  }
}
