import AlbumFormat
import AlbumModel
import Posix

// The end of points, and of what only they needed.

extension Compactor {
  /// So many places of the past are looked at under one hold of the catalog's lock.
  static let pastPerHold = 1024

  /// Removes the points that stay no longer.
  func thinPoints() throws(StoreError) {
    let now = context.useClock.now
    let going = catalog.withLock {
      PointThinning.superfluous($0.points, now: now, kept: $0.deletedPolicy.kept)
    }
    try removePoints(going)
  }

  /// The points that a full disk may cost.
  private func pointsGivenUp() -> [HistoryPoint] {
    let now = context.useClock.now
    return catalog.withLock { catalog in
      let limit = now - catalog.deletedPolicy.guaranteed
      return catalog.points.filter { $0.label == nil && $0.used <= limit }
    }
  }

  /// Removes those of them up to a time; nil: the older half. Returns true if there were any.
  func giveUpPoints(upTo ended: StoreTime?) throws(StoreError) -> Bool {
    let some = pointsGivenUp()
    let going =
      ended.map { ended in some.filter { $0.used <= ended } }
      ?? Array(some.prefix((some.count + 1) / 2))
    try removePoints(going.map(\.number))
    return !going.isEmpty
  }

  /// True if a full disk may cost anything.
  var hasGivenUp: Bool {
    let now = context.useClock.now
    let isOld = catalog.withLock { $0.formers.oldest <= now - $0.deletedPolicy.guaranteed }
    return isOld || !pointsGivenUp().isEmpty
  }

  var historyUsage: HistoryUsage {
    let now = context.useClock.now
    var (usage, cursor) = (HistoryUsage(), HistoryCursor())
    while !cursor.isAtEnd {
      catalog.withLock { catalog in
        catalog.addHistory(to: &usage, &cursor, HistoryGuarantee(catalog, now: now))
      }
    }
    return usage
  }

  /// Removes points, and what only they needed.
  func removePoints(_ numbers: [InodeNumber]) throws(StoreError) {
    if numbers.isEmpty { return }
    catalog.withLock { $0.removePoints(numbers) }
    var place: UInt32? = 0
    while let start = place {
      let (next, isCrowded) = catalog.withLock {
        ($0.prunePast(from: start, limit: UInt32(Compactor.pastPerHold)), $0.isCrowded)
      }
      place = next
      if isCrowded { try commitWithoutRoom() }
    }
    try commitWithoutRoom()
  }

  /// Takes deleted files and former versions out of the past.
  func purgeFromPast(_ inodes: Set<InodeNumber>) throws(StoreError) {
    for inode in inodes {
      catalog.withLock { catalog in
        guard let index = catalog.index(of: inode), let file = catalog.fileOfVersion(index),
          !inodes.contains(catalog.state(file).number), catalog.isNeededInPast(index)
        else { return }
        catalog.emptyVersion(index)
      }
    }
    var place: UInt32? = 0
    while let start = place {
      let (next, isCrowded) = catalog.withLock {
        (
          $0.purgeFromPast(inodes, from: start, limit: UInt32(Compactor.pastPerHold)),
          $0.isCrowded
        )
      }
      place = next
      if isCrowded { try commitWithoutRoom() }
    }
  }
}

extension Catalog {
  /// True if one of some points shows a deleted file.
  func isShown(_ index: InodeIndex, _ place: FormerPlace, at points: [HistoryPoint]) -> Bool {
    points.contains { was(index, at: $0.number) && $0.used <= place.ended }
  }
}
