import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumStore

/// The changes of a repair to the catalog, computed from the findings of a check. They are one step of
/// history.
struct RepairPlan {
  let problems: [CatalogProblem]
  /// The ranges of files that cannot be decrypted.
  let unreadable: [InodeNumber: [Range<Int64>]]
  let loose: LooseContent?
  let lostEntries: Int
  let time: Timestamp
  /// The file extensions for files whose names are lost, derived from their content.
  var endings: [InodeNumber: String] = [:]
  private var album: RecoveredAlbum?
  private(set) var done: [CheckRepair] = []

  init(_ examination: Examination, time: Timestamp) {
    problems = examination.space.audit.problems
    loose = examination.loose
    lostEntries = examination.space.losses.lost.lostEntries.count
    self.time = time
    var unreadable: [InodeNumber: [Range<Int64>]] = [:]
    for stretch in examination.segments.flatMap(\.damaged) {
      unreadable[stretch.inode, default: []].append(stretch.range)
    }
    for case .contentLost(let inode, let range) in problems {
      unreadable[inode, default: []].append(range)
    }
    self.unreadable = unreadable.mapValues { ranges in
      var joined = ranges
      joined.joinNeighbours()
      return joined
    }
  }

  /// The files that the repair will name by their inode numbers, with the extents of their beginning.
  func nameless(_ catalog: borrowing Catalog) -> [(inode: InodeNumber, extents: [Extent])] {
    var files: [(InodeNumber, [Extent])] = []
    for problem in problems {
      guard case .orphan(let inode) = problem, let index = catalog.index(of: inode) else {
        continue
      }
      files.append((inode, catalog.extents(of: index, from: 0, to: 512)))
    }
    for (inode, pieces) in loose?.unknown ?? [:] {
      files.append((inode, LostFile(inode, pieces).map.overlapping(from: 0, to: 512)))
    }
    return files
  }

  /// Changes the catalog. Drops thumbnails that cannot be read, so that albumfs makes them again. Moves files
  /// that lost content, and files without a name, to the album `Recovered`.
  mutating func apply(to catalog: inout Catalog) {
    catalog.permitLongHold()
    for problem in problems { correct(problem, &catalog) }
    let names = catalog.names(of: Set(unreadable.keys).union(loose?.newer.keys.map { $0 } ?? []))
    for inode in unreadable.keys.sorted() { rescue(inode, names[inode] ?? [], &catalog) }
    for (inode, newer) in (loose?.newer ?? [:]).sorted(by: { $0.key < $1.key }) {
      addNewer(inode, newer, names[inode]?.first?.name, &catalog)
    }
    for (inode, pieces) in (loose?.unknown ?? [:]).sorted(by: { $0.key < $1.key }) {
      revive(inode, pieces, &catalog)
    }
    // Last, because the steps above may have taken names away.
    for problem in problems {
      if case .orphan(let inode) = problem { bringBack(inode, &catalog) }
    }
    catalog.correctLedger()
    if lostEntries > 0 {
      done.append(.namesDropped(lostEntries))
    }
  }

  // MARK: Contradictions

  /// Handles the problems that `Catalog.reconcile`, which a mount calls too, leaves to a repair.
  private mutating func correct(_ problem: CatalogProblem, _ catalog: inout Catalog) {
    switch problem {
    case .secondName(let directory, let name, let child):
      done.append(
        .secondNameDropped(path: catalog.path(of: name, in: directory), inode: child))
    case .albumPart(let inode):
      guard let index = catalog.index(of: inode) else { return }
      catalog.update(index) { $0.marks.subtract(.albumPart) }
    case .linkCount, .thumbnailGone, .counter, .orphan, .extentOutside, .contentLost,
      .contentBeyondEnd, .ledger, .segmentInUse:
      // Done already, handled by another step of the repair, or harmless.
      return
    }
  }

  // MARK: Files

  /// Turns unreadable ranges of a file into holes and moves the file. Drops it if it is a thumbnail.
  private mutating func rescue(
    _ inode: InodeNumber, _ names: [EntryPlace],
    _ catalog: inout Catalog
  ) {
    guard let index = catalog.index(of: inode), let ranges = unreadable[inode] else { return }
    if names.isEmpty, dropThumbnail(inode, &catalog) { return }
    for range in ranges {
      catalog.replaceExtents(of: index, from: range.lowerBound, to: range.upperBound, with: [])
    }
    catalog.update(index) { state in
      state.contentVersion = NumberLimits.following(state.contentVersion)
      if state.thumbnailState == .made || state.thumbnailState == .failed {
        state.thumbnailState = .pending
      }
    }
    guard let first = names.first else { return }
    let old = catalog.path(of: first.name, in: first.directory)
    let new = move(index, names, &catalog) ?? old
    let lost = ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    done.append(.unreadableZeroed(path: old, byteCount: lost, movedTo: new))
  }

  /// Returns false if the inode is no thumbnail.
  private mutating func dropThumbnail(_ inode: InodeNumber, _ catalog: inout Catalog) -> Bool {
    var photos: [InodeIndex] = []
    catalog.forEachInode { index, state in if state.thumbnail == inode { photos.append(index) } }
    for photo in photos { catalog.forgetThumbnail(of: photo) }
    if !photos.isEmpty { done.append(.thumbnailDropped(inode)) }
    return !photos.isEmpty
  }

  /// Removes all names of a file and gives it one in `Recovered`. Returns nil, and does nothing, if it has
  /// one there already.
  private mutating func move(
    _ index: InodeIndex, _ names: [EntryPlace],
    _ catalog: inout Catalog
  ) -> String? {
    let album = recovered(&catalog)
    if names.contains(where: { album.holds($0.directory, in: catalog) }) { return nil }
    catalog.pin(index)
    for entry in names {
      if let parent = catalog.index(of: entry.directory) {
        catalog.removeEntry(entry.name, in: parent)
      }
    }
    let path = album.place(index, named: names[0].name, time: time, in: &catalog)
    catalog.unpin(index)
    return path
  }

  private mutating func addNewer(
    _ inode: InodeNumber, _ newer: LooseContent.Newer, _ name: FileName?, _ catalog: inout Catalog
  ) {
    guard let index = catalog.index(of: newer.base) else { return }
    let state = catalog.state(index)
    let file = LostFile(
      inode, newer.pieces, over: ExtentMap(catalog.extents(of: index, from: 0, to: .max)),
      size: state.size)
    let number = catalog.takeInodeNumber()
    let made = catalog.revive(
      file.map.extents, size: file.size, as: number, like: state, time: time)
    let album = recovered(&catalog)
    let path = album.place(made, named: name ?? nameByNumber(inode), time: time, in: &catalog)
    catalog.unpin(made)
    done.append(.newerContent(path: path))
  }

  private mutating func revive(
    _ inode: InodeNumber, _ pieces: [LooseContent.Piece], _ catalog: inout Catalog
  ) {
    guard catalog.index(of: inode) == nil, let root = catalog.index(of: .root) else { return }
    let file = LostFile(inode, pieces)
    let index = catalog.revive(
      file.map.extents, size: file.size, as: inode, like: catalog.state(root), time: time)
    let path = recovered(&catalog).place(
      index, named: nameByNumber(inode), time: time, in: &catalog)
    catalog.unpin(index)
    done.append(.nameLost(path: path))
  }

  /// Names a file of another timeline in `Recovered`. `extents` are held.
  mutating func adopt(
    _ file: OtherFile, as number: InodeNumber, _ extents: [Extent], _ catalog: inout Catalog
  ) {
    catalog.permitLongHold()
    let index = catalog.revive([], size: file.state.size, as: number, like: file.state, time: time)
    catalog.replaceExtents(of: index, from: 0, to: .max, with: extents)
    catalog.update(index) { state in
      state.permissions = file.state.permissions
      state.modified = file.state.modified
    }
    let path = recovered(&catalog).place(index, named: file.name, time: time, in: &catalog)
    catalog.unpin(index)
    done.append(.otherTimeline(path: path, of: file.path))
  }

  private mutating func bringBack(_ inode: InodeNumber, _ catalog: inout Catalog) {
    guard let index = catalog.index(of: inode) else { return }
    let state = catalog.state(index)
    catalog.dropLinks(of: index)
    catalog.update(index) { $0.marks.remove(.leftOut) }
    let note = catalog.leftOutNote(of: index)
    let former = note?.path.split(separator: "/").last.flatMap {
      try? FileName(cutting: Array($0.utf8))
    }
    if note != nil { catalog.setAttribute(InodeState.leftOutPath, of: index, to: nil) }
    let path = recovered(&catalog).place(
      index, named: former ?? nameByNumber(inode), time: time, in: &catalog)
    done.append(state.marks.contains(.leftOut) ? .leftOut(path: path) : .orphan(path: path))
  }

  private func nameByNumber(_ inode: InodeNumber) -> FileName {
    FileName(known: Array("inode-\(inode.rawValue)\(endings[inode] ?? "")".utf8))
  }

  private mutating func recovered(_ catalog: inout Catalog) -> RecoveredAlbum {
    if let album { return album }
    let made = RecoveredAlbum(in: &catalog, time: time)
    album = made
    return made
  }
}
