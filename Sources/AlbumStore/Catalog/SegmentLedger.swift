package import AlbumFormat
package import AlbumModel

/// The data segments of a space, and the living content of each. Not thread-safe.
package struct SegmentLedger: Sendable {
  package struct Account: Equatable, Sendable {
    /// Bytes of content that extents point to, or that are held, counted once for each extent. So 0 means
    /// that nothing lives there, and any other value is an upper bound: `SegmentSurvey` measures the garbage
    /// of segments with shared content.
    package var live: Int64 = 0
    package var state = SegmentState.living
    /// `none` while the segment is in use.
    var retiredAt = StoreTime.none
    /// The birth of the segment that counts, whatever others of this number exist.
    package var birth = SegmentBirth.none
  }

  package private(set) var accounts: [SegmentNumber: Account] = [:]
  /// Segments in use that lost their last living byte: candidates.
  var emptied: Set<SegmentNumber> = []
  /// Bytes released since the space was opened: the greatest possible amount of new garbage.
  private(set) var released: Int64 = 0

  /// Counts content that is sealed in a segment, whether or not the catalog refers to it already.
  mutating func hold(_ extent: Extent) {
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

  /// For a repair: sets a recounted value.
  mutating func correct(_ number: SegmentNumber, live: Int64) {
    accounts[number, default: Account()].live = live
    if live > 0 { emptied.remove(number) }
  }

  /// `birth` nil leaves it unchanged.
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
