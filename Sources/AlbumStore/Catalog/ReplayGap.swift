import AlbumFormat
import AlbumModel

// Replay after a gap: the frames before those that follow are lost. Each item contains the new state of one
// thing. So things that no lost frame touched are unchanged, and things that a later frame describes
// completely are right. This remains:
//
// 1. Content. A frame states the places of a file's changed stretches. If another frame of that file is
//    lost, old and new stretches would mix, and stretches that were never stated would read as zeros. Each
//    inode counts the statements of its content. If a later frame counts further than the catalog, all
//    content that this frame does not state is lost: reading it is an error.
// 2. Names. If the frame that removed a name is lost, two names may lead to one directory, or a file may
//    have more names than links. Names that a lost frame added are missing, and their inodes have no name.
// 3. Numbers. The numbers that lost frames used must not be used again.

/// The state that replay collects from the first gap on.
struct ReplayGap {
  /// The newest name of each inode that has got one since.
  var names: [InodeNumber: EntryPlace] = [:]
  /// Files with stretches of unknown content.
  var lostContents: Set<InodeNumber> = []
  /// Only inodes from this number on may be known to lost frames alone.
  var firstInode: UInt64
  /// A later frame records that these frames were lost (`JournalLoss`).
  var isStated = false
}

extension Catalog {
  /// Begins a gap: from now on the caller passes the items of each frame to `apply(behindGap:)`.
  mutating func beginGap() {
    if gap == nil { gap = ReplayGap(firstInode: greatestInode + 1) }
    gap?.isStated = false
  }

  /// Applies all items of one frame after a gap.
  mutating func apply(behindGap items: [JournalItem]) {
    if gap == nil {
      for item in items { apply(item) }
      return
    }
    var stated: Set<InodeNumber> = []
    for case .extents(let number, _, _, _) in items { stated.insert(number) }
    for case .inode(let state) in items {
      let own: UInt64 = stated.contains(state.number) ? 1 : 0
      let known = inodes.find(state.number).map { inodes[$0].state.contentStatements } ?? 0
      if state.contentStatements > known &+ own { loseContent(of: state) }
    }
    for item in items {
      if case .entry(let directory, let name, let inode?) = item {
        gap?.names[inode] = EntryPlace(directory: directory, name: name)
      }
      apply(item)
    }
  }

  private mutating func loseContent(of state: InodeState) {
    guard state.kind == .regular else { return }
    let index = expect(state.number, .regular)
    var lost: [Extent] = []
    var offset: Int64 = 0
    while offset < state.size {
      let length = min(Extent.lostLimit, state.size - offset)
      lost.append(
        Extent(offset: offset, length: length, segment: Extent.lostSegment, grid: 0, skip: 0))
      offset += length
    }
    replaceExtents(of: index, from: 0, to: .max, with: lost)
    gap?.lostContents.insert(state.number)
  }

  /// The files that remaining items name and none of them states: lost frames made these. Empty without a
  /// gap.
  borrowing func unstatedFiles() -> Set<InodeNumber> {
    if gap == nil { return [] }
    var found: Set<InodeNumber> = []
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw) else { continue }
      let record = inodes[index]
      if record.isExpected, !record.isGone, !record.isFormer, !record.isInPast,
        record.directory == .max
      {
        found.insert(record.state.number)
      }
    }
    return found
  }

  // MARK: Until a repair

  /// Records that a part of the journal is missing, if no frame does; the next frame states it. All numbers
  /// from now on are above those that the lost part may have used.
  mutating func recordJournalLoss(from firstInode: UInt64, isEndOfCopy: Bool) {
    // A hostile head may name any number; above the counter it would be none that was lost.
    let first = min(firstInode, loss?.firstInode ?? firstInode, counters.nextInode)
    loss = JournalLoss(
      firstInode: first,
      inodeEnd: counters.nextInode, sequenceEnd: counters.nextSequence,
      isEndOfCopy: isEndOfCopy && loss?.isEndOfCopy ?? true)
    changes.loss = true
  }

  /// The note about a version that a mount left out; nil if there is none, or none that decodes.
  package borrowing func leftOutNote(of index: InodeIndex) -> LeftOutNote? {
    extras[index]?.attributes[InodeState.leftOutPath].flatMap { LeftOutNote($0) }
  }

  /// Clears the loss after a repair.
  package mutating func clearLoss() {
    if loss == nil { return }
    loss = nil
    changes.loss = true
  }

  // MARK: The end of replay

  /// Makes the catalog consistent after lost frames. Removes only names that lead nowhere, or to a directory
  /// with a newer name.
  mutating func mend(_ findings: inout ReplayFindings) {
    guard let gap else { return }
    skipNumbers(before: numbersInUse, leavingOut: .lostFrames)
    mendRoot()
    mendNames(gap, &findings)
    mendLinks(&findings)
    for number in gap.lostContents {
      guard let index = inodes.find(number) else { continue }
      if extents.all(inodes[index].extents).contains(where: \.isLost) { findings.lostContents += 1 }
    }
    // A retired segment may hold content of an older state.
    for (number, account) in segments.accounts where account.live > 0 && account.state == .retired {
      segments.set(number, .living)
    }
  }

  /// If the root's frame is lost, it is as at birth, and belongs to the owner of its entries.
  private mutating func mendRoot() {
    let index = expect(.root, .directory)
    guard inodes[index].isExpected else { return }
    var root = InodeState(number: .root, kind: .directory, permissions: 0o755)
    root.links = 1
    forEachEntry(of: index) { _, child, _ in
      let state = inodes[child].state
      if inodes[child].isExpected { return true }
      root.owner = state.owner
      root.group = state.group
      root.modified = state.modified
      root.changed = state.changed
      return false
    }
    inodes[index].state = root
    inodes[index].isExpected = false
  }

  /// Drops names that lead nowhere, and those of directories that have a newer one.
  private mutating func mendNames(_ gap: ReplayGap, _ findings: inout ReplayFindings) {
    var named: Set<InodeIndex> = []
    var stale: [(directory: InodeIndex, name: FileName)] = []
    let newest = newestNames(gap)
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw), inodes[index].state.kind == .directory,
        inodes[index].directory != .max, !inodes[index].isExpected
      else { continue }
      let number = inodes[index].state.number
      forEachEntry(of: index) { name, child, _ in
        let place = EntryPlace(directory: number, name: name)
        if !isWorthKeeping(child) {
          findings.lostEntries.append(place)
          stale.append((index, name))
        } else if inodes[child].state.kind == .directory,
          newest[child].map({ $0 != place }) ?? false || !named.insert(child).inserted
        {
          stale.append((index, name))
        }
        return true
      }
    }
    for entry in stale { dropEntry(entry.name, in: entry.directory) }
  }

  /// The newest names that still lead to directories.
  private func newestNames(_ gap: ReplayGap) -> [InodeIndex: EntryPlace] {
    var newest: [InodeIndex: EntryPlace] = [:]
    for (number, place) in gap.names {
      guard let child = inodes.find(number), inodes[child].state.kind == .directory,
        let directory = inodes.find(place.directory), inodes[directory].directory != .max,
        !inodes[directory].isExpected, self.child(place.name, of: directory) == child
      else { continue }
      newest[child] = place
    }
    return newest
  }

  /// True if an entry leads to something that is known completely.
  private func isWorthKeeping(_ child: InodeIndex) -> Bool {
    let record = inodes[child]
    if record.isExpected || record.state.links == 0 || record.state.number == .root { return false }
    return record.state.kind != .symlink || !symlinkTarget(child).isEmpty
  }

  /// Links are what is left that leads to an inode; what nothing leads to keeps its own.
  private mutating func mendLinks(_ findings: inout ReplayFindings) {
    for raw in inodes.places {
      if let photo = inodes.occupant(raw), !hasConsistentThumbnail(photo) {
        forgetThumbnail(of: photo)
      }
    }
    let tree = CatalogTree(self)
    var nameless = Set(tree.tops)
    for raw in inodes.places {
      guard let index = inodes.occupant(raw), !inodes[index].isExpected,
        inodes[index].state.links > 0, inodes[index].state.number != .root
      else { continue }
      let links = tree.links(of: index, in: self)
      if links == 0 { nameless.insert(index) }
      if nameless.contains(index) {
        findings.orphans += 1
      } else {
        inodes[index].state.links = links
      }
    }
  }
}
