import AlbumFormat
package import AlbumModel
import AlbumSecrets

// What a space keeps of deleted files, and for how long.

/// The deleted files of a space in numbers.
package struct DeletedUsage: Equatable, Sendable {
  package var files = 0
  /// Of their content, as far as no other file has it.
  package var bytes: Int64 = 0
  /// Of content that nothing but points show.
  package var pointBytes: Int64 = 0
  /// About how much of both a full disk may cost.
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
    let history = compactor.historyUsage
    var usage = DeletedUsage()
    (usage.files, usage.bytes) = (history.files, history.bytes)
    (usage.pointBytes, usage.bytesGivenUp) = (history.pointBytes, history.bytesGivenUp)
    usage.burst = DeletedBurst(in: history.times)
    if usage.files > 0 { usage.oldestAge = age(since: history.oldest) }
    return usage
  }

  /// About how many bytes of content of the past a full disk may cost.
  package var historyBytesGivenUp: Int64 {
    compactor.hasGivenUp ? compactor.historyUsage.bytesGivenUp : 0
  }

  /// True if a caller has proven that it can unlock the space (`SpaceKeys.consent`).
  package func isConsent(_ text: String) -> Bool { context.files.keys.isConsent(text) }

  /// Ends the keeping of deleted files for good, see `Compactor.purge`.
  package func purgeDeleted(_ inodes: [InodeNumber]) throws(StoreError) -> Int {
    try compactor.purge(inodes)
  }
}
