package import AlbumFormat
package import AlbumModel

/// One contradiction within a catalog.
package enum CatalogProblem: Sendable {
  /// A number of each kind that may be in use and not taken.
  package enum Counter: Sendable { case inode, segment }

  /// No name that can be reached from the root leads to it: the topmost of what hangs together.
  case orphan(InodeNumber)
  /// A name of a directory that has another, which counts.
  case secondName(directory: InodeNumber, name: FileName, child: InodeNumber)
  case linkCount(InodeNumber, stated: UInt32, names: UInt32)
  /// A photo that refers to a thumbnail which is none, or should have one and refers to none.
  case thumbnailGone(photo: InodeNumber)
  /// Marked as an album's Photo or Thumb, and it is not.
  case albumPart(InodeNumber)
  case counter(Counter)
  /// Points outside of any segment.
  case extentOutside(InodeNumber, Extent)
  /// Content whose place is unknown.
  case contentLost(InodeNumber, Range<Int64>)
  /// Content behind the end of its file, or of what has no content.
  case contentBeyondEnd(InodeNumber, from: Int64, to: Int64)
  case ledger(SegmentNumber, stated: Int64, found: Int64)
  /// Stated to hold nothing that lives, and it does: it would be removed.
  case segmentInUse(SegmentNumber)
}

/// Checks a catalog against its own invariants, which only this place defines. Reads nothing from the disk
/// and changes nothing. Its caller decides what to do about a problem: a mount (`Catalog.reconcile`) or a
/// repair.
///
/// 1. Every name leads to an inode; every inode is reached from the root, but for thumbnails, which are
///    reached by their photos, and for what is kept as deleted (`Formers`) or for a point (`Past`);
///    a directory has one name (`CatalogTree`).
/// 2. Links are the number of names, and of photos that have it for their thumbnail.
/// 3. A photo's thumbnail is a file that albumfs made and that is there (`Catalog.validThumbnail`).
/// 4. An album's parts are in it, under their names.
/// 5. Counters are above every number in use.
/// 6. With `auditContent`: extents lie within the size of their file and of a segment, and what points into
///    a segment is what the ledger counts.
package struct CatalogAudit {
  package private(set) var problems: [CatalogProblem] = []
  package private(set) var fileCount = 0
  package private(set) var directoryCount = 0
  let tree: CatalogTree

  init(_ catalog: borrowing Catalog) {
    tree = CatalogTree(catalog)
    for name in tree.surplus {
      problems.append(
        .secondName(
          directory: catalog.state(name.directory).number,
          name: catalog.entries.name(of: name.entry), child: catalog.state(name.child).number))
    }
    for top in tree.tops {
      let number = catalog.state(top).number
      if number != .root, !catalog.isKept(top) { problems.append(.orphan(number)) }
    }
    for raw in catalog.inodes.places {
      if let index = catalog.inodes.occupant(raw) { audit(index, catalog) }
    }
    let (next, used) = (catalog.counters, catalog.numbersInUse)
    if used.nextInode > next.nextInode { problems.append(.counter(.inode)) }
    if used.nextDataSegment > next.nextDataSegment { problems.append(.counter(.segment)) }
  }

  private mutating func audit(_ index: InodeIndex, _ catalog: borrowing Catalog) {
    let state = catalog.state(index)
    let isDeleted = state.links == 0 && catalog.isKept(index)
    if !isDeleted { auditLinks(of: index, state, catalog) }
    if !catalog.hasConsistentThumbnail(index) {
      problems.append(.thumbnailGone(photo: state.number))
    }
    if !isDeleted, !state.marks.isDisjoint(with: .albumPart) {
      auditAlbumPart(index, state, catalog)
    }
  }

  private mutating func auditLinks(
    of index: InodeIndex, _ state: InodeState, _ catalog: borrowing Catalog
  ) {
    if state.kind == .directory {
      directoryCount += 1
    } else if !state.marks.contains(.leftOut) {
      fileCount += 1
    }
    let links = tree.links(of: index, in: catalog)
    if links == 0 {
      if state.number != .root { problems.append(.orphan(state.number)) }
    } else if state.links != links {
      problems.append(.linkCount(state.number, stated: state.links, names: links))
    }
  }

  private mutating func auditAlbumPart(
    _ index: InodeIndex, _ state: InodeState, _ catalog: borrowing Catalog
  ) {
    let name = state.marks.contains(.photoDirectory) ? FileName.photo : FileName.thumb
    if state.kind == .directory, catalog.name(of: index) == name,
      let parent = catalog.index(of: catalog.parent(of: index)),
      catalog.state(parent).marks.contains(.album)
    {
      return
    }
    problems.append(.albumPart(state.number))
  }

  // MARK: Content

  /// Looks at every extent.
  mutating func auditContent(_ catalog: borrowing Catalog, segmentSize: Int) {
    var live: [SegmentNumber: Int64] = [:]
    for raw in catalog.inodes.places {
      guard let index = catalog.inodes.occupant(raw) else { continue }
      let all = catalog.extents(of: index, from: 0, to: .max)
      for extent in all where !extent.isLost { live[extent.segment, default: 0] += extent.length }
      audit(all, of: catalog.state(index), segmentSize)
    }
    for segment in Set(live.keys).union(catalog.segments.accounts.keys).sorted() {
      let account = catalog.segments.accounts[segment]
      let (stated, found) = (account?.live ?? 0, live[segment] ?? 0)
      if found > 0, account?.state == .retired { problems.append(.segmentInUse(segment)) }
      if stated != found { problems.append(.ledger(segment, stated: stated, found: found)) }
    }
  }

  private mutating func audit(_ extents: [Extent], of state: InodeState, _ segmentSize: Int) {
    for extent in extents {
      if extent.isLost {
        problems.append(.contentLost(state.number, extent.offset..<extent.end))
      } else if extent.end(inSegmentOf: segmentSize) > segmentSize {
        problems.append(.extentOutside(state.number, extent))
      }
    }
    let limit = state.kind == .regular ? state.size : 0
    if let last = extents.last, last.end > limit {
      problems.append(.contentBeyondEnd(state.number, from: limit, to: last.end))
    }
  }
}

extension Extent {
  /// The offset in the segment at which the extent's last record ends; more than `byteCount` if the extent
  /// does not fit into a segment of that size.
  fileprivate func end(inSegmentOf byteCount: Int) -> Int {
    let into = Int64(skip) + length
    let records = (into - 1) / DataRecord.contentLimit
    guard records < Int64(byteCount) else { return .max }
    let last = Int(into - records * DataRecord.contentLimit) + DataRecord.headerByteCount
    return (Int(grid) + Int(records) * Int(DataRecord.fullGridCount)) * RecordLayout.grid
      + RecordLayout.sealedByteCount(plaintext: last)
  }
}

// Damage, or an attacker with the keys, can leave contradictions in a replayed catalog. Reading such a
// catalog is harmless, but changing it is not: a file would go with the first of two names, and the second
// name would then lead to another file in its place. So a mount reconciles the catalog first. A check does
// too, because its paths are those that a mount shows.

extension Catalog {
  /// Corrects what an audit of this catalog finds. Returns how many things were set right.
  mutating func reconcile() -> Int { reconcile(CatalogAudit(self)) }

  /// The policy of a mount: restores those invariants on which use of the catalog relies, and marks the
  /// changes for the next frame. Changes nothing in a whole space. Removes names that do not count. Inodes
  /// that nothing leads to keep their own link count, and content stays as it is: these are for a repair.
  /// Returns the number of corrections.
  mutating func reconcile(_ audit: CatalogAudit) -> Int {
    placeDirectories(audit.tree)
    var corrections = 0
    for problem in audit.problems where correct(problem) { corrections += 1 }
    if skipNumbers(before: numbersInUse) { corrections += 1 }
    return corrections
  }

  /// Lets each directory know its name and how many directories it has.
  private mutating func placeDirectories(_ tree: CatalogTree) {
    for top in tree.tops {
      directories[inodes[top].directory].entry = .max
      directories[inodes[top].directory].parent = .root
      directories[inodes[top].directory].subdirectories = 0
    }
    for name in tree.names { directories[inodes[name.child].directory].subdirectories = 0 }
    for name in tree.names {
      setParent(of: name.child, name.directory, entry: name.entry)
      directories[inodes[name.directory].directory].subdirectories += 1
    }
  }

  private mutating func correct(_ problem: CatalogProblem) -> Bool {
    switch problem {
    case .secondName(let directory, let name, _):
      guard let directory = index(of: directory) else { return false }
      dropEntry(name, in: directory)
      enqueueEntry(name, in: directory)
    case .linkCount(let number, _, let links):
      guard let index = index(of: number) else { return false }
      update(index) { $0.links = links }
    case .thumbnailGone(let photo):
      guard let index = index(of: photo) else { return false }
      forgetThumbnail(of: index)
    case .orphan, .albumPart, .counter, .extentOutside, .contentLost, .contentBeyondEnd, .ledger,
      .segmentInUse:
      return false
    }
    return true
  }
}
