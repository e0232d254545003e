import AlbumFormat
import AlbumModel
import Logging
import Posix

// The end of deleted files: when their time is over, when a full disk needs their room, and when the user
// wants them gone for good. Only a session that has changed something else ends any by itself, and none does
// while nothing may be removed from the store.

/// Looks for deleted files whose time is over, once an hour, some at a time.
struct DeletedExpiry {
  /// The place in the table of former places at which the next round continues.
  private var next: UInt32 = 0
  private var dueAt: MonotonicTime?

  static let interval = TestHooks.delay(.housekeeping, .seconds(3600))
  /// So many former places are looked at in a round, and so many deleted files go.
  private static let placesPerRound: UInt32 = 4096

  mutating func round(_ compactor: Compactor) throws(StoreError) {
    if compactor.durability.keepsEverything { return }
    if let dueAt, MonotonicTime.now < dueAt { return }
    if next == 0 { try compactor.thinPoints() }
    let limit = compactor.catalog.withLock {
      compactor.context.useClock.now - $0.deletedPolicy.kept
    }
    let start = next
    let (due, following) = compactor.catalog.withLock { catalog in
      var due: [InodeNumber] = []
      let following = catalog.forEachDeleted(from: start, limit: DeletedExpiry.placesPerRound) {
        index, place in
        if place.ended <= limit { due.append(catalog.state(index).number) }
      }
      return (due, following)
    }
    next = following ?? 0
    dueAt = following == nil ? MonotonicTime.now + DeletedExpiry.interval : nil
    _ = try compactor.discardDeleted(due)
  }

  /// When the next look is due, which no change of the user's announces.
  func nextDue(_ compactor: Compactor) -> MonotonicTime? {
    if compactor.durability.keepsEverything || !compactor.durability.hasWritten { return nil }
    let isAny = compactor.catalog.withLock { $0.formers.count > 0 || !$0.points.isEmpty }
    return isAny ? dueAt ?? .now : nil
  }
}

/// A deleted file or a former version that a full disk may cost.
private struct GivenUpFile {
  var ended: StoreTime
  let inode: InodeNumber
  /// Of which it is a version.
  let file: InodeNumber?
  /// How many former versions it has itself. After lost frames, a version may have some, too.
  let versions: UInt32
  let byteCount: Int64

  /// Returns the files whose versions all go, the oldest first, and each file after its versions. A version
  /// may be younger than its file's removal: a program may overwrite a file that it has removed.
  static func inOrder(_ files: [GivenUpFile]) -> [GivenUpFile] {
    var (going, last) = ([InodeNumber: UInt32](), [InodeNumber: StoreTime]())
    var found: [GivenUpFile] = []
    // A version has a greater number than its file.
    for var file in files.sorted(by: { $0.inode > $1.inode })
    where file.versions <= going[file.inode] ?? 0 {
      file.ended = max(file.ended, last[file.inode] ?? file.ended)
      if let whole = file.file {
        going[whole, default: 0] += 1
        last[whole] = max(last[whole] ?? file.ended, file.ended)
      }
      found.append(file)
    }
    return found.sorted { ($0.ended, $1.inode) < ($1.ended, $0.inode) }
  }
}

extension Compactor {
  /// So many deleted files go under one hold of the catalog's lock.
  private static let filesPerHold = 64

  /// Ends the keeping of deleted files; returns how many went. A file with former versions stays for them.
  func discardDeleted(_ inodes: [InodeNumber]) throws(StoreError) -> Int {
    if inodes.isEmpty { return 0 }
    var count = 0
    var rest = inodes[...]
    while !rest.isEmpty {
      let (done, gone, isCrowded) = catalog.withLock { catalog in
        var (done, gone) = (0, 0)
        let passed = catalog.formers.passedVersions
        for inode in rest.prefix(Compactor.filesPerHold)
        where catalog.formers.passedVersions - passed <= Catalog.passedVersionsPerHold {
          done += 1
          if let index = catalog.index(of: inode), catalog.discardDeleted(index) { gone += 1 }
        }
        return (done, gone, catalog.isCrowded)
      }
      count += gone
      rest = rest.dropFirst(done)
      if isCrowded { try commitWithoutRoom() }
    }
    try commitWithoutRoom()
    return count
  }

  /// Appends a frame. Without room, it comes with the room.
  func commitWithoutRoom() throws(StoreError) {
    do throws(StoreError) { try durability.commit(waitsForRoom: false) } catch {
      if !error.isShortage { throw error }
    }
  }

  /// Ends the keeping of deleted files that need not stay on a full disk, the oldest first, until their
  /// content has about `bytes`, and removes the points that show them. Without such files, removes the older
  /// half of the points that need not stay. Returns false if there is nothing of both.
  func discardOldestDeleted(atLeast bytes: Int64) throws(StoreError) -> Bool {
    if durability.keepsEverything { return false }
    var found: [GivenUpFile] = []
    forEachGivenUp { index, place, catalog in
      found.append(
        GivenUpFile(
          ended: place.ended, inode: catalog.state(index).number,
          file: place.reason == .overwritten ? place.directory : nil,
          versions: catalog.formerCounts[index] ?? 0, byteCount: catalog.allocated(index)))
    }
    found = GivenUpFile.inOrder(found)
    var sum: Int64 = 0
    let oldest = found.prefix { file in
      defer { sum += file.byteCount }
      return sum < bytes
    }
    let hasPruned = try giveUpPoints(upTo: oldest.last?.ended)
    return try discardDeleted(oldest.map(\.inode)) > 0 || hasPruned
  }

  /// Calls `body` with each deleted file that a full disk may cost.
  func forEachGivenUp(_ body: (InodeIndex, FormerPlace, borrowing Catalog) -> Void) {
    let now = context.useClock.now
    var place: UInt32? = 0
    while let start = place {
      place = catalog.withLock { catalog in
        let limit = now - catalog.deletedPolicy.guaranteed
        if catalog.formers.oldest > limit { return nil }
        let named = catalog.points.filter { $0.label != nil }
        return catalog.forEachDeleted(from: start, limit: 4096) { index, former in
          if former.ended <= limit, !catalog.isShown(index, former, at: named) {
            body(index, former, catalog)
          }
        }
      }
    }
  }

  // MARK: For good

  /// Ends the keeping of deleted files and of their former versions. Empties the segments that hold their
  /// content, and writes checkpoints, so that no segment of the space that stays after the grace describes
  /// them. Returns how many there were.
  func purge(_ inodes: [InodeNumber]) throws(StoreError) -> Int {
    try health.requireWritable()
    let (found, segments) = contentOfDeleted(withVersions(inodes))
    if found.isEmpty { return 0 }
    try purgeFromPast(Set(found))
    _ = try discardDeleted(found)
    let count = found.count
    if durability.keepsEverything { return count }
    _ = try turns.turn(waits: true) { work throws(StoreError) in
      try empty(segments, &work)
      try retireEmptied()
      // The journal is kept since the former of two checkpoints. The first one here begins in a segment that
      // describes the files.
      for _ in 0..<3 { try durability.checkpoint() }
    }
    return count
  }

  /// Some files and all their versions, each behind its versions: what is a version of another has the
  /// greater number.
  private func withVersions(_ files: [InodeNumber]) -> [InodeNumber] {
    var all = Set(files)
    var new = all
    while !new.isEmpty {
      new = Set(versions(of: new)).subtracting(all)
      all.formUnion(new)
    }
    return all.sorted(by: >)
  }

  /// The former versions of some files that are not among these themselves.
  private func versions(of files: Set<InodeNumber>) -> [InodeNumber] {
    var found: [InodeNumber] = []
    var place: UInt32? = 0
    while let start = place {
      place = catalog.withLock { catalog in
        catalog.forEachDeleted(from: start, limit: 4096) { index, former in
          let version = catalog.state(index).number
          if former.reason == .overwritten, files.contains(former.directory),
            !files.contains(version)
          {
            found.append(version)
          }
        }
      }
    }
    return found
  }

  /// Returns which of the inodes are deleted files, and the segments that hold the content of these.
  private func contentOfDeleted(_ inodes: [InodeNumber]) -> ([InodeNumber], Set<SegmentNumber>) {
    var (found, segments) = ([InodeNumber](), Set<SegmentNumber>())
    for inode in inodes {
      var offset: Int64? = 0
      while let start = offset {
        offset = catalog.withLock { catalog in
          guard let index = catalog.index(of: inode), catalog.formerPlace(of: index) != nil else {
            return nil
          }
          if start == 0 { found.append(inode) }
          let slice = catalog.extents(
            of: index, from: start, to: .max, limit: Catalog.extentsPerSlice)
          for extent in slice where !extent.isLost { segments.insert(extent.segment) }
          return slice.count == Catalog.extentsPerSlice ? slice.last?.end : nil
        }
      }
    }
    return (found, segments)
  }

  /// Moves what lives in these segments elsewhere, however full they are. Without room, compaction does that
  /// when there is some.
  private func empty(_ segments: Set<SegmentNumber>, _ work: inout CompactionWork)
    throws(StoreError)
  {
    for number in content.openSegments.intersection(segments) { content.end(number) }
    try durability.commit(waitsForRoom: false)
    for number in segments.sorted() {
      do throws(StoreError) {
        if case .unreadable(let segment) = try Mover.empty([number], of: self) {
          work.unreadable.insert(segment.number)
        }
      } catch {
        if !error.isShortage { throw error }
        return options.logger.notice("no room to empty the segments of purged files: \(error)")
      }
    }
    try durability.commit(waitsForRoom: false)
  }
}
