import AlbumFormat
package import AlbumModel
import AlbumSecrets

// What a space keeps of deleted files, and for how long.

/// How long deleted files stay. The settings are in the space, sealed.
package struct DeletedPolicy: Equatable, Sendable {
  /// False: files that are removed from now on go at once.
  package var isOn = true
  /// In days.
  package var keptDays: Int64 = 30
  /// How long they stay even on a full disk, in days; at most `keptDays`.
  package var guaranteedDays: Int64 = 7

  package init() {}

  /// A hundred years.
  package static let longest: Int64 = 36_525

  package var kept: Duration { .seconds(keptDays * 24 * 3600) }
  package var guaranteed: Duration { .seconds(guaranteedDays * 24 * 3600) }

  /// True if this one keeps a file for less time than another one.
  package func isShorter(than other: DeletedPolicy) -> Bool {
    other.isOn && !isOn || keptDays < other.keptDays || guaranteedDays < other.guaranteedDays
  }
}

extension Catalog {
  package var deletedPolicy: DeletedPolicy {
    var policy = DeletedPolicy()
    policy.isOn = keepsDeleted
    policy.keptDays = days(.keptDays) ?? policy.keptDays
    policy.guaranteedDays = min(days(.guaranteedDays) ?? policy.guaranteedDays, policy.keptDays)
    return policy
  }

  private func days(_ property: SpaceProperty) -> Int64? {
    properties[property].map { Int64(clamping: min($0, UInt64(DeletedPolicy.longest))) }
  }

  mutating func set(_ policy: DeletedPolicy) {
    setProperty(.keepsDeleted, to: policy.isOn ? 1 : 0)
    setProperty(.keptDays, to: UInt64(policy.keptDays))
    setProperty(.guaranteedDays, to: UInt64(policy.guaranteedDays))
  }

  /// Begins the session's use clock. A frame with other content states what it leaves out.
  mutating func startUseClock(_ clock: StoreClock) -> UseClock {
    let before = min(properties[.skippedTime] ?? 0, UInt64(StoreTime.limit))
    let useClock = UseClock(clock, skipped: .milliseconds(Int64(before)))
    if useClock.skipped > .milliseconds(Int64(before)) {
      setPropertyLater(.skippedTime, to: UInt64(max(0, useClock.skipped.milliseconds)))
    }
    return useClock
  }
}

/// The deleted files of a space in numbers.
package struct DeletedUsage: Equatable, Sendable {
  package var files = 0
  /// Of their content.
  package var bytes: Int64 = 0
  /// The part of `bytes` that a full disk may cost.
  package var bytesGivenUp: Int64 = 0
  /// How long the oldest has been deleted, by the use clock; nil if there is none.
  package var oldestAge: Duration?
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
    while let start = place {
      place = read { catalog in
        catalog.forEachDeleted(from: start, limit: 4096) { index, former in
          usage.files += 1
          usage.bytes += catalog.allocated(index)
          oldest = min(oldest, former.ended)
        }
      }
    }
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
