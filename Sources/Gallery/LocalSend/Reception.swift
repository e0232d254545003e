import Posix

/// An album that takes what phones send, as long as its session lasts. Any thread.
final class Reception: Sendable {
  enum End: String, Sendable {
    /// By whoever opened it, or with the session.
    case closed
    /// Too many wrong PINs were tried.
    case guessed
  }

  private struct State {
    var transfer: Transfer?
    /// Of transfers that are over.
    var before = Transfer.Counts()
    var end: End?
    var watched = MonotonicTime.now
  }

  let id = RandomText.make(16)
  let session: Session
  /// The inode of the album.
  let album: UInt64
  let pin: String
  private let state = Mutex(State(), rank: .leaf)

  /// The page asks each second how it goes. A page that is gone does not.
  private static let pagePatience = Duration.seconds(120)

  init(_ session: Session, album: UInt64, pin: String) {
    self.session = session
    self.album = album
    self.pin = pin
  }

  // MARK: Life

  /// True as long as files may come.
  var isOpen: Bool { !session.isLocked && state.withLock { $0.end == nil } }

  var end: End? { state.withLock { $0.end } }

  /// Ends it, and cuts off what is coming.
  func close(_ end: End = .closed) {
    let transfer = state.withLock { state in
      state.end = state.end ?? end
      return state.transfer
    }
    transfer?.cancel()
  }

  /// Says that somebody sees the PIN.
  func isWatched() { state.withLock { $0.watched = .now } }

  /// True if nobody sees the PIN any more, or the session is over.
  var isDue: Bool {
    if session.isLocked { return true }
    let isUnseen = state.withLock { MonotonicTime.now > $0.watched + Reception.pagePatience }
    return session.hasPage && isUnseen
  }

  // MARK: Transfers

  /// Begins a transfer. Throws `busy` while another one lasts that has files to come.
  func begin(
    _ files: [String: LocalSendOffer.Expected?], from sender: String
  ) throws(GalleryError) -> Transfer {
    let transfer = Transfer(files, from: sender)
    // Looks at the old one first: under a lock, no other is taken.
    let old = state.withLock { $0.transfer }
    if let old, !old.mayBeFollowed { throw GalleryError(.busy) }
    let counts = old?.counts
    try state.withLock { state throws(GalleryError) in
      if state.end != nil { throw GalleryError(.refused) }
      // Another request was faster.
      if state.transfer !== old { throw GalleryError(.busy) }
      state.before.saved += counts?.saved ?? 0
      state.before.failed += counts?.failed ?? 0
      state.transfer = transfer
    }
    old?.cancel()
    return transfer
  }

  func transfer(_ id: String, from sender: String) -> Transfer? {
    guard let transfer = state.withLock({ $0.transfer }), transfer.id == id, transfer.isFrom(sender)
    else { return nil }
    return transfer
  }

  /// How it goes. `done` and `total` are those of the transfer that lasts.
  var progress: (done: Int, total: Int, saved: Int, failed: Int) {
    let (transfer, before) = state.withLock { ($0.transfer, $0.before) }
    let counts = transfer?.counts ?? Transfer.Counts()
    let isOver = transfer?.isOver ?? true
    return (
      isOver ? 0 : counts.saved, isOver ? 0 : counts.total, before.saved + counts.saved,
      before.failed + counts.failed
    )
  }
}
