import AlbumFormat
import AlbumModel
import AlbumSecrets
import Logging
import Posix

// A session's background work on its segments, from the mount on. If there is nothing to reclaim and the
// user changes nothing, it writes nothing:
//
// - It empties segments that are mostly garbage, or that an earlier session left half-filled, if the space
//   is much larger than its living content (`Compactor`).
// - It retires segments without living content: a frame states that, a barrier covers it, the grace passes
//   so that a running copy of the store still finds the segment, then it is removed.
// - Checkpoints and journal segments that neither the checkpoint nor its predecessor needs go the same way.
//   They need no frame, because the head of the newest journal segment shows what is needed.
// - Sessions that write fill up files of all spaces that a power cut left short, within limits
//   (`ShortFiles`).
// - Sessions that write end the keeping of deleted files whose time is over (`DeletedExpiry`).
// - It adds chaff according to `ChaffRule`, so that every store has some that nobody can explain.
//
// A space removes only its own segments, whose names it can derive. The sweep only names candidates;
// `Removal.swift` proves that they may go.

struct Sweep {
  /// Unneeded checkpoint and journal segments, and since when they were seen to be unneeded: candidates.
  private var unneeded: [(id: SegmentID, since: StoreTime)] = []

  /// True while compaction has work.
  private(set) var wantsToMove = true

  /// Files that a power cut may have left short.
  private var shortFiles = ShortFiles()

  /// Deleted files whose time is over.
  private var expiry = DeletedExpiry()

  fileprivate init() {}

  /// True while unchecked files remain.
  var hasUnexamined: Bool { shortFiles.hasUnexamined }

  /// Does one round: moves about `moving` bytes of living content at most (nil: none), and does other due
  /// work.
  mutating func round(_ compactor: Compactor, moving: Int64? = Compactor.compactionPiece)
    throws(StoreError)
  {
    let isWanted = try compactor.turns.turn(waits: false) { work throws(StoreError) in
      if let moving { try compactor.compactPiece(&work, limit: moving) }
      try compactor.retireEmptied()
      try compactor.removeRetired()
      return compactor.isCompactionDue(work)
    }
    if let isWanted { wantsToMove = isWanted }
    if compactor.durability.takeCheckpointTaken() {
      enqueueUnneeded(try compactor.durability.unneededSegments(), since: compactor.files.clock.now)
    }
    try removeUnneeded(compactor)
    if !compactor.durability.hasWritten { return }
    try examineFiles(compactor)
    try expiry.round(compactor)
    compactor.addChaffIfDue()
  }

  /// When something is due that no change of the user's will announce.
  func nextDue(_ compactor: Compactor) -> MonotonicTime? {
    let (now, time) = (MonotonicTime.now, compactor.files.clock.now)
    let grace = compactor.durability.grace
    let retired = compactor.catalog.withLock { catalog in
      catalog.segments.accounts.values.filter { $0.state == .retired }.map(\.retiredAt).min()
    }
    let since = [retired, unneeded.map(\.since).min()].compactMap { $0 }.min()
    let removal = since.map {
      now + max(.seconds(1), $0 + grace - time)
    }
    return [removal, compactor.nextChaff, expiry.nextDue(compactor)].compactMap { $0 }.min()
  }

  fileprivate mutating func examineFiles(_ compactor: Compactor) throws(StoreError) {
    if !shortFiles.isBegun { compactor.closeLeftOvers() }
    try shortFiles.round(
      compactor.files, compactor.room, compactor.options.logger,
      isBusy: { compactor.durability.hasUncovered })
  }

  /// Enqueues segments that nothing has needed since the current checkpoint was taken.
  mutating func enqueueUnneeded(_ ids: [SegmentID], since: StoreTime) {
    let known = Set(unneeded.map(\.id))
    for id in ids where !known.contains(id) { unneeded.append((id, since)) }
  }

  private mutating func removeUnneeded(_ compactor: Compactor) throws(StoreError) {
    let limit = compactor.durability.graceLimit
    let due = unneeded.filter { $0.since <= limit }
    unneeded.removeAll { $0.since <= limit }
    try compactor.durability.unlink(due.map(\.id))
  }
}

extension Compactor {
  /// Finds what earlier sessions left. Writes nothing if they left nothing.
  func beginSweep() throws(StoreError) -> Sweep {
    var sweep = Sweep()
    _ = try turns.turn(waits: true) { _ throws(StoreError) in
      if durability.hasWritten { closeLeftOvers() }
      try forgetSessions()
    }
    let taken = durability.journal.withLock { $0.writer.position.checkpoint.takenAt }
    sweep.enqueueUnneeded(try durability.unneededSegments(), since: taken)
    if durability.hasWritten { try sweep.examineFiles(self) }
    return sweep
  }

  /// Declares half-filled data segments of earlier sessions complete. Like others they are emptied when that
  /// is worthwhile, so that a session that changes little rewrites little. It states this only when the
  /// session writes anyway.
  func closeLeftOvers() {
    if durability.keepsEverything { return }
    catalog.withLock { catalog in
      for (number, account) in catalog.segments.accounts
      where account.state == .filling && number.rawValue < context.firstOwnSegment {
        catalog.setState(of: number, to: .living)
      }
    }
  }

  /// Forgets sessions without remaining journal or checkpoint segments. The next frame with other content
  /// states this; nothing is written for this alone.
  private func forgetSessions() throws(StoreError) {
    if durability.keepsEverything || !durability.hasWritten { return }
    var present: Set<SegmentBirth> = [files.session]
    for (id, found) in try files.list().own where [.journal, .checkpoint].contains(id.kind) {
      present.formUnion(found.map(\.birth))
    }
    let gone = catalog.withLock { $0.goneSessions(but: present) }
    // After a power cut, no segment of a forgotten session may come back.
    try files.syncFolders(
      of: gone.flatMap { session in session.made.map { files.name($0, session.birth) } })
    catalog.withLock { $0.forgetSessions(gone.map(\.birth)) }
  }

  /// Retires the data segments without living content.
  func retireEmptied() throws(StoreError) {
    if durability.keepsEverything { return }
    letGoOfDetached()
    let now = files.clock.now
    let candidates = catalog.withLock { catalog in
      // Read under the same lock, because a segment that begins later could become empty in between.
      let candidates = catalog.segments.emptied.subtracting(content.openSegments)
      for number in candidates {
        catalog.segments.emptied.remove(number)
        guard let account = catalog.segments.accounts[number], account.live <= 0 else { continue }
        catalog.setState(of: number, to: .retired, retiredAt: now)
      }
      return candidates
    }
    for number in candidates {
      trace.compaction?.record("segment-retired \(SegmentID(kind: .data, number: number).words)")
    }
    if !candidates.isEmpty { try durability.commit(waitsForRoom: false) }
  }

  /// Removes the segments whose grace is over. A frame states that they are retired, a barrier covers it,
  /// and another barrier proves it, before the first file goes. Those that an earlier session retired are
  /// proven already, and go before anything is written.
  func removeRetired(grace: Duration? = nil) throws(StoreError) {
    if durability.keepsEverything { return }
    let due = durability.retiredSegments(grace: grace ?? durability.grace)
    if due.isEmpty { return }
    if try durability.unlink(due) == due.count { return }
    for _ in 0..<2 { try durability.forcedBarrier() }
    try durability.unlink(due)
  }
}
