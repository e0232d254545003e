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

  /// Whether compaction has something to do as soon as it may.
  private(set) var wantsToMove = true

  /// Files that a power cut may have left short.
  private var shortFiles = ShortFiles()

  fileprivate init() {}

  /// Whether files are left to look at.
  var hasUnexamined: Bool { shortFiles.hasUnexamined }

  /// One round: moves living content of about `moving` bytes at most (nil: none), and does what else
  /// is due.
  mutating func round(_ space: Space, moving: Int64? = Space.compactionPiece) throws(StoreError) {
    let isWanted = try space.compaction.turn(waits: false) { work throws(StoreError) in
      if let moving { try space.compactPiece(&work, limit: moving) }
      try space.retireEmptied()
      try space.removeRetired()
      return space.isCompactionDue(work)
    }
    if let isWanted { wantsToMove = isWanted }
    if space.takeCheckpointTaken() {
      noteUnneeded(try space.unneededSegments(), since: space.files.clock.now)
    }
    try removeUnneeded(space)
    if !space.hasWritten { return }
    try examineFiles(space)
    space.addChaffIfDue()
  }

  /// When something is due that no change of the user's will announce, in monotonic milliseconds.
  func nextDue(_ space: Space) -> Int64? {
    let (now, time) = (SystemClock.monotonicMilliseconds(), space.files.clock.now)
    let grace = space.graceSeconds * 1000
    let retired = space.catalog.withLock { catalog in
      catalog.segments.accounts.values.filter { $0.state == .retired }.map(\.retiredAt).min()
    }
    let since = [retired, unneeded.map(\.since).min()].compactMap { $0 }.min()
    let removal = since.map { now + max(1000, $0.milliseconds + grace - time.milliseconds) }
    return [removal, space.nextChaff].compactMap { $0 }.min()
  }

  fileprivate mutating func examineFiles(_ space: Space) throws(StoreError) {
    try shortFiles.round(space)
  }

  /// They are unneeded since the checkpoint was taken that is in force.
  mutating func noteUnneeded(_ ids: [SegmentID], since: StoreTime) {
    let known = Set(unneeded.map(\.id))
    for id in ids where !known.contains(id) { unneeded.append((id, since)) }
  }

  private mutating func removeUnneeded(_ space: Space) throws(StoreError) {
    let limit = space.graceLimit
    let due = unneeded.filter { $0.since <= limit }
    unneeded.removeAll { $0.since <= limit }
    try space.unlink(due.map(\.id))
  }
}

extension Space {
  /// Looks at what former sessions left. Writes nothing where that is nothing.
  func beginSweep() throws(StoreError) -> Sweep {
    var sweep = Sweep()
    _ = try compaction.turn(waits: true) { _ throws(StoreError) in
      if hasWritten { closeLeftOvers() }
      try forgetSessions()
    }
    let taken = journal.withLock { $0.writer.position.checkpoint.takenAt }
    sweep.noteUnneeded(try unneededSegments(), since: taken)
    if hasWritten { try sweep.examineFiles(self) }
    return sweep
  }

  /// Frames of the journal are missing: what looks like garbage may be what they told of. No segment
  /// goes, and no checkpoint makes that forgotten, until `albumfs check --repair` has brought it back.
  /// The same where another copy of the store, which was written to, is mixed with this one.
  var keepsEverything: Bool { recovery.keepsLooseContent || recovery.isMixed }

  /// Half-filled data segments of earlier sessions are not filled any more: like others, they are
  /// emptied when that is worth it, so that a session that changes little rewrites little. It says so
  /// where it writes anyway.
  func closeLeftOvers() {
    if keepsEverything { return }
    catalog.withLock { catalog in
      for (number, account) in catalog.segments.accounts
      where account.state == .filling && number.rawValue < firstOwnSegment {
        catalog.setState(of: number, to: .living)
      }
    }
  }

  /// Sessions of which no journal or checkpoint segment is left need not be known any more. With the
  /// next frame that states anything: nothing is written for this alone.
  private func forgetSessions() throws(StoreError) {
    if keepsEverything || !hasWritten { return }
    var present: Set<SegmentBirth> = [files.session]
    for (id, found) in try files.list().own where [.journal, .checkpoint].contains(id.kind) {
      present.formUnion(found.map(\.birth))
    }
    catalog.withLock { $0.forgetSessions(but: present) }
  }

  /// Checkpoint and journal segments that exist and are not needed as of now: candidates for `unlink`.
  func unneededSegments() throws(StoreError) -> [SegmentID] {
    try unneededSegments(by: journal.withLock { $0 })
  }

  /// The same, as the journal stood.
  func unneededSegments(by journal: Journal) throws(StoreError) -> [SegmentID] {
    if keepsEverything { return [] }
    guard let oldest = journal.oldestNeeded else { return [] }
    let next = journal.underWay ?? catalog.withLock { $0.counters.nextCheckpointSegment }
    let needed = journal.neededCheckpoints
    let listing = try files.list()
    let journals = listing.numbers(of: .journal).filter { $0.rawValue < oldest }.map {
      SegmentID(kind: .journal, number: $0)
    }
    let checkpoints = listing.numbers(of: .checkpoint).filter { number in
      number.rawValue < next && !needed.contains { $0.contains(number.rawValue) }
    }.map { SegmentID(kind: .checkpoint, number: $0) }
    return catalog.withLock { catalog in
      (journals + checkpoints).filter { id in
        guard let birth = files.birth(id) else { return false }
        return catalog.isOwn(id, birth) && listing.contains(id, birth)
      }
    }
  }

  /// How long an unneeded segment stays, in seconds: on a disk that is nearly full no longer than it
  /// must, since who removes files there wants room, more than a copy of the store under way wants to be
  /// whole.
  var graceSeconds: Int64 { isNearlyFull ? 0 : options.graceSeconds }

  /// Whether this session has written anything.
  var hasWritten: Bool { journal.withLock { $0.writer.isBegun } }

  /// What is not needed since this time or longer may go.
  var graceLimit: StoreTime { graceLimit(graceSeconds) }

  private func graceLimit(_ seconds: Int64) -> StoreTime {
    StoreTime(milliseconds: files.clock.now.milliseconds - seconds * 1000)
  }

  /// Retires the data segments in which nothing lives any more.
  func retireEmptied() throws(StoreError) {
    if keepsEverything { return }
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
    if isRetired { try commitNow() }
  }

  /// Removes the segments whose grace is over. They were stated retired in a frame; a barrier covers
  /// that, and another proves it, before the first file goes. Those that a former session retired are
  /// proven already, and go before anything is written.
  func removeRetired(grace: Int64? = nil) throws(StoreError) {
    if keepsEverything { return }
    let due = retiredSegments(grace: grace ?? graceSeconds)
    if due.isEmpty { return }
    if try unlink(due) == due.count { return }
    for _ in 0..<2 { try forcedBarrier() }
    try unlink(due)
  }

  /// Retired data segments in which nothing lives and whose grace is over: candidates for `unlink`.
  func retiredSegments(grace: Int64) -> [SegmentID] {
    let limit = graceLimit(grace)
    let due = catalog.withLock { catalog in
      catalog.segments.accounts.filter {
        $0.value.state == .retired && $0.value.retiredAt <= limit && $0.value.live <= 0
      }.keys
    }
    return due.map { SegmentID(kind: .data, number: $0) }
  }
}
