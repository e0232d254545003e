import AlbumFormat
import AlbumModel

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
