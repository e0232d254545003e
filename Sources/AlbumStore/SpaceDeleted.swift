import AlbumFormat
package import AlbumModel
import AlbumSecrets

// What a space keeps of deleted files, and for how long.

/// The deleted files of a space in numbers.
package struct DeletedUsage: Equatable, Sendable {
  package var files = 0
  /// Of their content.
  package var bytes: Int64 = 0
  /// The part of `bytes` that a full disk may cost.
  package var bytesGivenUp: Int64 = 0
  /// How long the oldest has been deleted, by the use clock; nil if there is none.
  package var oldestAge: Duration?
  /// The hour in which most files were deleted, if these were very many.
  package var burst: DeletedBurst?
}

/// Very many files that were deleted within an hour, as a script, a wrong folder or malware does it.
package struct DeletedBurst: Equatable, Sendable {
  /// So many are no burst yet.
  static let limit = 1000
  private static let interval: Int64 = 3600

  package var files: Int
  /// In seconds since 1970, by the wall clock.
  package var first: Int64
  package var last: Int64

  /// Finds the hour with most of these times, in seconds; nil if there are few in every hour.
  init?(in times: [Int64]) {
    let times = times.sorted()
    var best = 0..<0
    var start = 0
    for (place, time) in times.enumerated() {
      while times[start] < time.saturatingSubtract(DeletedBurst.interval) { start += 1 }
      if place + 1 - start > best.count { best = start..<place + 1 }
    }
    if best.count <= DeletedBurst.limit { return nil }
    (files, first, last) = (best.count, times[best.lowerBound], times[best.upperBound - 1])
  }
}

extension Space {
  package var deletedPolicy: DeletedPolicy {
    get { read { $0.deletedPolicy } }
    set { change { $0.set(newValue) } }
  }

  /// The time of a removal; `wall`: the same for the user.
  package func removalMoment(_ wall: Timestamp) -> RemovalMoment {
    RemovalMoment(used: context.useClock.now, wall: wall)
  }

  /// How long a file that was deleted then has been deleted.
  package func age(since ended: StoreTime) -> Duration {
    max(.zero, context.useClock.now - ended)
  }

  package var deletedUsage: DeletedUsage {
    var usage = DeletedUsage()
    var place: UInt32? = 0
    var oldest = StoreTime.distantFuture
    var times: [Int64] = []
    while let start = place {
      place = read { catalog in
        catalog.forEachDeleted(from: start, limit: 4096) { index, former in
          usage.files += 1
          usage.bytes += catalog.allocated(index)
          oldest = min(oldest, former.ended)
          times.append(former.removed.seconds)
        }
      }
    }
    usage.burst = DeletedBurst(in: times)
    usage.bytesGivenUp = deletedBytesGivenUp
    if usage.files > 0 { usage.oldestAge = age(since: oldest) }
    return usage
  }

  /// Bytes of content of deleted files that a full disk may cost.
  package var deletedBytesGivenUp: Int64 {
    var bytes: Int64 = 0
    compactor.forEachGivenUp { index, place, catalog in
      // A former version may share all but a few bytes with its file.
      if place.reason != .overwritten { bytes += catalog.allocated(index) }
    }
    return bytes
  }

  /// True if a caller has proven that it can unlock the space (`SpaceKeys.consent`).
  package func isConsent(_ text: String) -> Bool { context.files.keys.isConsent(text) }

  /// Ends the keeping of deleted files for good, see `Compactor.purge`.
  package func purgeDeleted(_ inodes: [InodeNumber]) throws(StoreError) -> Int {
    try compactor.purge(inodes)
  }
}
