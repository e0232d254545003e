import AlbumFormat
import AlbumModel

// The room that history takes: content to which only deleted files, former versions and points refer.

/// What a space keeps for its past, in bytes of content. Content that a file has too counts for the file, and
/// content that versions share counts once.
package struct HistoryUsage: Equatable, Sendable {
  /// Deleted files and former versions.
  package var files = 0
  /// Of their content.
  package var bytes: Int64 = 0
  /// Of the content that nothing but points show.
  package var pointBytes: Int64 = 0
  /// About how much of both a full disk may cost.
  package var bytesGivenUp: Int64 = 0
  /// When the oldest ended, by the use clock.
  var oldest = StoreTime.distantFuture
  /// When they were removed, in seconds since 1970.
  var times: [Int64] = []
  /// The version that was added last.
  fileprivate var newer: InodeIndex?
  /// Inodes that past names alone keep, and whether one of the points that stay shows them.
  fileprivate var onlyPast = InodeDictionary<Bool>()
}

extension HistoryUsage {
  /// Adds what has a former place.
  fileprivate mutating func add(_ record: FormerRecord, bytes: Int64, isGivenUp: Bool) {
    if record.reason.isShown {
      files += 1
      self.bytes += bytes
      oldest = min(oldest, record.ended)
      times.append(record.removed.seconds)
    } else {
      pointBytes += bytes
    }
    if isGivenUp { bytesGivenUp += bytes }
  }

  /// Adds what past names alone keep, of one part of those that were found. Returns false behind the last
  /// one.
  fileprivate mutating func addOnlyPast(
    part: Int, of catalog: borrowing Catalog, _ steps: inout Int
  ) -> Bool {
    var (bytes, given, count) = (Int64(0), Int64(0), 0)
    let isPart = onlyPast.forEach(inPart: part) { index, stays in
      count += 1
      if catalog.inodes.occupant(index.rawValue) == nil { return }
      bytes += catalog.allocated(index)
      if !stays { given += catalog.allocated(index) }
    }
    steps += count + 1
    pointBytes += bytes
    bytesGivenUp += given
    return isPart
  }
}

/// What a full disk may cost: what ended by a time, and the points from then that have no label.
struct HistoryGuarantee {
  let limit: StoreTime
  /// The points that stay, in order.
  let points: [HistoryPoint]
  let named: [HistoryPoint]

  init(_ catalog: borrowing Catalog, now: StoreTime) {
    let limit = now - catalog.deletedPolicy.guaranteed
    self.limit = limit
    points = catalog.points.filter { $0.label != nil || $0.used > limit }
    named = points.filter { $0.label != nil }
  }

  /// True if a point that stays lies between two numbers.
  fileprivate func hasPoint(after low: InodeNumber, before high: InodeNumber) -> Bool {
    let place = points.partition { $0.number >= high }
    return place > 0 && points[place - 1].number > low
  }
}

/// The position of a walk over history.
struct HistoryCursor {
  fileprivate var place: UInt32 = 0
  /// The next version to look at of those of one file.
  fileprivate var version: InodeIndex?
  /// The next part of `HistoryUsage.onlyPast`.
  fileprivate var part = 0
  var isAtEnd = false
  init() {}
}

extension Catalog {
  /// So many places, versions and extents are looked at under one hold of the lock.
  private static let stepsPerHold = 4096

  /// Adds up the next part of history.
  func addHistory(
    to usage: inout HistoryUsage, _ cursor: inout HistoryCursor, _ guarantee: HistoryGuarantee
  ) {
    let end = max(formers.upperBound, formers.names.upperBound)
    var steps = 0
    while cursor.version != nil || cursor.place < end, steps < Catalog.stepsPerHold {
      steps += 1
      if let version = cursor.version {
        cursor.version = add(version: version, to: &usage, guarantee, &steps)
        continue
      }
      if cursor.place < formers.upperBound, let record = formers.occupant(cursor.place) {
        cursor.version = add(record, to: &usage, guarantee)
      }
      if cursor.place < formers.names.upperBound {
        add(pastName: cursor.place, to: &usage, guarantee)
      }
      cursor.place += 1
    }
    extents.steps.count(steps)
    if cursor.version != nil || cursor.place < end { return }
    var isPart = true
    while isPart, steps < Catalog.stepsPerHold {
      isPart = usage.addOnlyPast(part: cursor.part, of: self, &steps)
      cursor.part += 1
    }
    cursor.isAtEnd = !isPart
  }

  /// Returns the newest version of a file, after which come the others; nil where there is none.
  private func add(
    _ record: FormerRecord, to usage: inout HistoryUsage, _ guarantee: HistoryGuarantee
  ) -> InodeIndex? {
    let index = InodeIndex(rawValue: record.inode)
    if record.reason.isVersion {
      let isNewest = formers.newestVersion(of: InodeIndex(rawValue: record.directory)) == index
      return isNewest ? index : nil
    }
    var isGivenUp = record.ended <= guarantee.limit
    if isGivenUp, let place = formerPlace(of: index) {
      isGivenUp = !isShown(index, place, at: guarantee.named)
    }
    usage.add(record, bytes: allocated(index), isGivenUp: isGivenUp)
    return nil
  }

  /// Returns the next older version of the same file.
  private func add(
    version: InodeIndex, to usage: inout HistoryUsage, _ guarantee: HistoryGuarantee,
    _ steps: inout Int
  ) -> InodeIndex? {
    guard let record = formers.find(version), record.reason.isVersion else { return nil }
    let file = InodeIndex(rawValue: record.directory)
    let isNeeded = isNeeded(version, record, by: guarantee)
    usage.add(
      record, bytes: ownBytes(ofVersion: version, of: file, newer: usage.newer, &steps),
      isGivenUp: record.ended <= guarantee.limit && !isNeeded)
    usage.newer = version
    return formers.olderVersion(than: version)
  }

  /// True if a point that stays shows a version.
  private func isNeeded(
    _ version: InodeIndex, _ record: FormerRecord, by guarantee: HistoryGuarantee
  ) -> Bool {
    let older = formers.olderVersion(than: version).map { inodes[$0].state.number }
    let file = inodes[InodeIndex(rawValue: record.directory)].state.number
    return guarantee.hasPoint(
      after: max(older ?? InodeNumber(0), file), before: inodes[version].state.number)
  }

  private func add(
    pastName place: UInt32, to usage: inout HistoryUsage, _ guarantee: HistoryGuarantee
  ) {
    guard let record = formers.names.occupant(place), record.child != .max else { return }
    let child = InodeIndex(rawValue: record.child)
    if inodes[child].state.links > 0 || inodes[child].isFormer || allocated(child) == 0 { return }
    let older =
      record.older == .max ? InodeNumber(0) : formers.names[record.older].number
    let stays = guarantee.hasPoint(after: older, before: record.number)
    usage.onlyPast[child] = stays || usage.onlyPast[child] ?? false
  }

  /// Bytes of a version that neither the next newer version of its file has, nor, if it is the newest, the
  /// file.
  private func ownBytes(
    ofVersion version: InodeIndex, of file: InodeIndex, newer: InodeIndex?, _ steps: inout Int
  ) -> Int64 {
    var next = file
    if let newer, formers.olderVersion(than: newer) == version { next = newer }
    let theirs = extents(of: next, from: 0, to: .max, limit: Catalog.versionExtentLimit)
    let ours = extents(of: version, from: 0, to: .max)
    steps += theirs.count + ours.count
    return allocated(version) - Extent.sharedBytes(ours, theirs)
  }
}

extension Extent {
  /// Bytes at which two lists of extents, both in order, have the same record.
  fileprivate static func sharedBytes(_ ours: [Extent], _ theirs: [Extent]) -> Int64 {
    var (bytes, place) = (Int64(0), 0)
    for extent in ours {
      while place < theirs.count, theirs[place].end <= extent.offset { place += 1 }
      var next = place
      while next < theirs.count, theirs[next].offset < extent.end {
        let from = max(extent.offset, theirs[next].offset)
        let to = min(extent.end, theirs[next].end)
        if extent.clipped(from: from, to: to) == theirs[next].clipped(from: from, to: to) {
          bytes += to - from
        }
        next += 1
      }
    }
    return bytes
  }
}
