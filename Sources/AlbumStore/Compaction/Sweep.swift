import AlbumFormat
import AlbumModel
import AlbumSecrets
import Logging
import Posix

// What a session does for its segments in the background, from the mount on; one that finds nothing to
// reclaim, and whose user changes nothing, writes nothing:
//
// - Segments that are mostly garbage, or that an earlier session left half-filled, are emptied where
//   the space takes much more than what lives in it (`Compaction`).
// - Segments in which nothing lives are retired: stated in a frame, covered by a barrier, left for
//   the grace time so that a copy of the store under way still finds them, then removed.
// - Checkpoints and journal segments that neither the checkpoint nor its predecessor need go the
//   same way; they need no frame, since the head of the newest journal segment says what is needed.
// - Files that a power cut left short are filled up with random bytes, whosever they are, by sessions
//   that write, within bounds (`ShortFiles`).
// - Chaff is added as `ChaffRule` says, so that every store has some that nobody can explain.
//
// A space removes only segments of its own, whose names it can derive. What is decided here names
// candidates; `Removal.swift` proves that they may go.

struct Sweep {
  /// Checkpoint and journal segments that were not needed, and since when that was seen: candidates.
  private var unneeded: [(id: SegmentID, since: StoreTime)] = []

  /// True while compaction has something to do.
  private(set) var wantsToMove = true

  /// Files that a power cut may have left short.
  private var shortFiles = ShortFiles()

  fileprivate init() {}

  /// True while files are left to look at.
  var hasUnexamined: Bool { shortFiles.hasUnexamined }

  /// One round: moves living content of about `moving` bytes at most (nil: none), and does what else
  /// is due.
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
      noteUnneeded(try compactor.durability.unneededSegments(), since: compactor.files.clock.now)
    }
    try removeUnneeded(compactor)
    if !compactor.durability.hasWritten { return }
    try examineFiles(compactor)
    compactor.addChaffIfDue()
  }

  /// When something is due that no change of the user's will announce.
  func nextDue(_ compactor: Compactor) -> MonotonicTime? {
    let (now, time) = (MonotonicTime.now, compactor.files.clock.now)
    let grace = compactor.durability.graceSeconds * 1000
    let retired = compactor.catalog.withLock { catalog in
      catalog.segments.accounts.values.filter { $0.state == .retired }.map(\.retiredAt).min()
    }
    let since = [retired, unneeded.map(\.since).min()].compactMap { $0 }.min()
    let removal = since.map {
      now + .milliseconds(max(1000, $0.milliseconds + grace - time.milliseconds))
    }
    return [removal, compactor.nextChaff].compactMap { $0 }.min()
  }

  fileprivate mutating func examineFiles(_ compactor: Compactor) throws(StoreError) {
    if !shortFiles.isBegun { compactor.closeLeftOvers() }
    try shortFiles.round(
      compactor.files, compactor.room, compactor.options.logger,
      isBusy: { compactor.durability.hasUncovered })
  }

  /// They are unneeded since the checkpoint was taken that is in force.
  mutating func noteUnneeded(_ ids: [SegmentID], since: StoreTime) {
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
  /// Looks at what former sessions left. Writes nothing where that is nothing.
  func beginSweep() throws(StoreError) -> Sweep {
    var sweep = Sweep()
    _ = try turns.turn(waits: true) { _ throws(StoreError) in
      if durability.hasWritten { closeLeftOvers() }
      try forgetSessions()
    }
    let taken = durability.journal.withLock { $0.writer.position.checkpoint.takenAt }
    sweep.noteUnneeded(try durability.unneededSegments(), since: taken)
    if durability.hasWritten { try sweep.examineFiles(self) }
    return sweep
  }

  /// Half-filled data segments of earlier sessions are not filled any more: like others, they are
  /// emptied when that is worth it, so that a session that changes little rewrites little. It says so
  /// where it writes anyway.
  func closeLeftOvers() {
    if durability.keepsEverything { return }
    catalog.withLock { catalog in
      for (number, account) in catalog.segments.accounts
      where account.state == .filling && number.rawValue < context.firstOwnSegment {
        catalog.setState(of: number, to: .living)
      }
    }
  }

  /// Sessions of which no journal or checkpoint segment is left need not be known any more. With the
  /// next frame that states anything: nothing is written for this alone.
  private func forgetSessions() throws(StoreError) {
    if durability.keepsEverything || !durability.hasWritten { return }
    var present: Set<SegmentBirth> = [files.session]
    for (id, found) in try files.list().own where [.journal, .checkpoint].contains(id.kind) {
      present.formUnion(found.map(\.birth))
    }
    let gone = catalog.withLock { $0.goneSessions(but: present) }
    // A power cut must not bring back what nobody would know then.
    try files.syncFolders(
      of: gone.flatMap { session in session.made.map { files.name($0, session.birth) } })
    catalog.withLock { $0.forgetSessions(gone.map(\.birth)) }
  }

  /// Retires the data segments in which nothing lives any more.
  func retireEmptied() throws(StoreError) {
    if durability.keepsEverything { return }
    letGoOfDetached()
    let now = files.clock.now
    let isRetired = catalog.withLock { catalog in
      // Asked under the same lock: a segment that is begun meanwhile may be emptied meanwhile.
      let candidates = catalog.segments.emptied.subtracting(content.openSegments)
      for number in candidates {
        catalog.segments.emptied.remove(number)
        guard let account = catalog.segments.accounts[number], account.live <= 0 else { continue }
        catalog.setState(of: number, to: .retired, retiredAt: now)
      }
      return !candidates.isEmpty
    }
    if isRetired { try durability.commitNow() }
  }

  /// Removes the segments whose grace is over. They were stated retired in a frame; a barrier covers
  /// that, and another proves it, before the first file goes. Those that a former session retired are
  /// proven already, and go before anything is written.
  func removeRetired(grace: Int64? = nil) throws(StoreError) {
    if durability.keepsEverything { return }
    let due = durability.retiredSegments(grace: grace ?? durability.graceSeconds)
    if due.isEmpty { return }
    if try durability.unlink(due) == due.count { return }
    for _ in 0..<2 { try durability.forcedBarrier() }
    try durability.unlink(due)
  }
}
