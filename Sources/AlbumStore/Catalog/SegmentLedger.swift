package import AlbumFormat
package import AlbumModel

/// Which data segments a space has, and how much in each is alive. Not thread-safe.
package struct SegmentLedger: Sendable {
  package struct Account: Equatable, Sendable {
    /// Bytes of content that extents point to, or that are held for some; counted once for each that
    /// does. So 0 says that nothing lives there, and else it is an upper bound: how much of a segment
    /// with shared content is garbage is measured by `SegmentSurvey`.
    package var live: Int64 = 0
    package var state = SegmentState.living
    /// `none` while it lives.
    package var retiredAt = StoreTime.none
    /// Of the segment that is meant, whatever others of this number there are.
    package var birth = SegmentBirth.none
  }

  package private(set) var accounts: [SegmentNumber: Account] = [:]
  /// Those in use whose last live byte went: to be looked at.
  package var emptied: Set<SegmentNumber> = []
  /// Bytes that were let go since the space was opened: as much may have become garbage.
  package private(set) var released: Int64 = 0

  /// Counts content that is sealed in a segment, whether the catalog refers to it already or not.
  package mutating func hold(_ extent: Extent) {
    if extent.isLost { return }
    accounts[extent.segment, default: Account()].live += extent.length
  }

  package mutating func letGo(_ extent: Extent) {
    released += extent.length
    guard var account = accounts[extent.segment] else { return }
    account.live -= extent.length
    accounts[extent.segment] = account
    if account.live <= 0, account.state != .retired { emptied.insert(extent.segment) }
  }

  /// For a repair: what was counted anew.
  mutating func correct(_ number: SegmentNumber, live: Int64) {
    accounts[number, default: Account()].live = live
    if live > 0 { emptied.remove(number) }
  }

  /// `birth` is nil where it stays as it is.
  mutating func set(
    _ number: SegmentNumber, _ state: SegmentState, retiredAt: StoreTime = .none,
    birth: SegmentBirth? = nil
  ) {
    if state == .removed {
      accounts[number] = nil
      emptied.remove(number)
      return
    }
    accounts[number, default: Account()].state = state
    accounts[number]?.retiredAt = retiredAt
    if let birth { accounts[number]?.birth = birth }
  }
}
