import AlbumFormat
import AlbumModel
import AlbumSecrets
import Logging
import Posix

// What a session that writes does for its segments in the background:
//
// - Segments that are mostly garbage, or that an earlier session left half-filled, are emptied where
//   the space takes much more than what lives in it (`Compaction`).
// - Segments in which nothing lives are retired: stated in a frame, covered by a barrier, left for
//   the grace time so that a copy of the store under way still finds them, then removed.
// - Checkpoints and journal segments that neither the checkpoint nor its predecessor need go the
//   same way; they need no frame, since the head of the newest journal segment says what is needed.
// - Files that a power cut left short are filled up with random bytes, whosever they are.
// - Now and then a segment of chaff is added, so that every store has some that nobody can explain.
//
// A space removes only segments of its own, whose names it can derive.

struct Sweep {
  /// Checkpoint and journal segments that are not needed, and since when that was seen.
  private var unneeded: [(id: SegmentID, since: Int64)] = []

  /// When this session adds a segment of chaff, in monotonic milliseconds; nil: it does not.
  private var chaffAt: Int64?

  /// Whether compaction has something to do as soon as it may.
  private(set) var wantsToMove = true

  fileprivate init() {
    if Int.random(in: 0..<4) == 0 {
      chaffAt = SystemClock.monotonicMilliseconds() + Int64.random(in: 0..<600_000)
    }
  }

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
      noteUnneeded(try space.unneededSegments(), since: SystemClock.wallSeconds())
    }
    try removeUnneeded(space)
    try addChaff(space)
  }

  /// When something is due that no change of the user's will announce, in monotonic milliseconds.
  func nextDue(_ space: Space) -> Int64? {
    let (now, wall) = (SystemClock.monotonicMilliseconds(), SystemClock.wallSeconds())
    let grace = space.graceSeconds
    let retired = space.catalog.withLock { catalog in
      catalog.segments.accounts.values.filter { $0.state == .retired }.map(\.retiredAt).min()
    }
    let since = [retired, unneeded.map(\.since).min()].compactMap { $0 }.min()
    // Never at once: a wall clock that was set back must not make this a busy loop.
    let removal = since.map { now + max(1, $0 + grace - wall) * 1000 }
    return [removal, chaffAt].compactMap { $0 }.min()
  }

  private mutating func addChaff(_ space: Space) throws(StoreError) {
    guard let due = chaffAt, due <= SystemClock.monotonicMilliseconds() else { return }
    chaffAt = nil
    try Chaff.add(bytes: Int64(space.files.segmentSize), to: space.store)
  }

  /// They are unneeded since the checkpoint was taken that is in force.
  mutating func noteUnneeded(_ ids: [SegmentID], since: Int64) {
    let known = Set(unneeded.map(\.id))
    for id in ids where !known.contains(id) { unneeded.append((id, since)) }
  }

  private mutating func removeUnneeded(_ space: Space) throws(StoreError) {
    let limit = SystemClock.wallSeconds() - space.graceSeconds
    let due = unneeded.filter { $0.since <= limit }
    unneeded.removeAll { $0.since <= limit }
    for (id, _) in due { try space.files.remove(id) }
  }
}

extension Space {
  /// At the first change of a session: looks at what earlier ones left.
  func beginSweep() throws(StoreError) -> Sweep {
    var sweep = Sweep()
    try adoptLeftOvers()
    let taken = journal.withLock { $0.writer.position.checkpoint.takenAt }
    sweep.noteUnneeded(try unneededSegments(), since: taken)
    try fillShortFiles()
    return sweep
  }

  /// Frames of the journal are missing: what looks like garbage may be what they told of. No segment
  /// goes, and no checkpoint makes that forgotten, until `albumfs check --repair` has brought it back.
  var keepsEverything: Bool { recovery.isJournalIncomplete }

  /// Half-filled data segments of earlier sessions are not filled any more: like others, they are
  /// emptied when that is worth it, so that a session that changes little rewrites little. Those
  /// that a crash left and no frame names are retired: nobody refers to them.
  func adoptLeftOvers() throws(StoreError) {
    if keepsEverything { return }
    let listing = try files.list()
    catalog.withLock { catalog in
      let known = catalog.segments.accounts
      for (number, account) in known
      where account.state == .filling && number.rawValue < firstOwnSegment {
        catalog.setState(of: number, to: .living)
      }
      // No further back than a crash leaves some: there, a lost end of the journal may have told of
      // them, which `Catalog.stepOver` leaves so far behind, whether or not sessions since then wrote
      // content.
      let window = SegmentsBeyond.window
      let lowest = firstOwnSegment > window ? firstOwnSegment - window : 1
      for raw in lowest..<max(lowest, firstOwnSegment) where known[SegmentNumber(raw)] == nil {
        if listing.contains(SegmentID(kind: .data, number: SegmentNumber(raw))) {
          let now = SystemClock.wallSeconds()
          catalog.setState(of: SegmentNumber(raw), to: .retired, retiredAt: now)
        }
      }
    }
  }

  /// Checkpoint and journal segments that exist and are not needed.
  func unneededSegments() throws(StoreError) -> [SegmentID] {
    if keepsEverything { return [] }
    let listing = try files.list()
    let needed = journal.withLock { $0.checkpoints }
    let next = catalog.withLock { $0.counters.nextCheckpointSegment }
    // Without a former checkpoint the journal from its beginning is the second chance.
    guard needed.allSatisfy(\.exists), let firstJournal = needed.map(\.firstJournal).min() else {
      return []
    }
    var unneeded: [SegmentID] = []
    for raw in 1..<max(1, firstJournal.rawValue) {
      unneeded.append(SegmentID(kind: .journal, number: SegmentNumber(raw)))
    }
    for raw in 1..<max(1, next) where !needed.contains(where: { $0.contains(raw) }) {
      unneeded.append(SegmentID(kind: .checkpoint, number: SegmentNumber(raw)))
    }
    return unneeded.filter(listing.contains)
  }

  /// How long an unneeded segment stays, in seconds: on a full disk no longer than it must, since
  /// who removes files there wants room, more than a copy of the store under way wants to be whole.
  var graceSeconds: Int64 { isShort ? 0 : options.graceSeconds }

  /// Retires the data segments in which nothing lives any more.
  func retireEmptied() throws(StoreError) {
    if keepsEverything { return }
    letGoOfDetached()
    let open = content.openSegments
    let now = SystemClock.wallSeconds()
    let isRetired = catalog.withLock { catalog in
      let candidates = catalog.segments.emptied.subtracting(open)
      for number in candidates {
        catalog.segments.emptied.remove(number)
        guard let account = catalog.segments.accounts[number], account.live <= 0 else { continue }
        catalog.setState(of: number, to: .retired, retiredAt: now)
      }
      return !candidates.isEmpty
    }
    if isRetired { try commit() }
  }

  /// Removes the segments whose grace is over. They were stated retired in a frame; a barrier covers
  /// that, and another proves it, before the first file goes: recovery looks whether the records open
  /// that frames behind the last *proven* barrier refer to, and would cut history at one that wrote
  /// into a segment which is gone.
  func removeRetired() throws(StoreError) {
    if keepsEverything { return }
    let limit = SystemClock.wallSeconds() - graceSeconds
    let due = catalog.withLock { catalog in
      catalog.segments.accounts.filter {
        $0.value.state == .retired && $0.value.retiredAt <= limit && $0.value.live <= 0
      }.keys
    }
    if due.isEmpty { return }
    if !options.omitting.contains(.retiredBeforeUnlinked) {
      for _ in 0..<2 { try forcedBarrier() }
    }
    for number in due {
      try files.remove(SegmentID(kind: .data, number: number))
      catalog.withLock { $0.setState(of: number, to: .removed) }
    }
  }

  /// Power cuts can leave short files. Fills them up, touching no byte that exists; leaves alone
  /// what is younger than ten minutes, which another albumfs may be writing.
  private func fillShortFiles() throws(StoreError) {
    let old = SystemClock.wallSeconds() - 600
    for name in try files.list().names {
      let path = SegmentPath.path(of: name)
      do throws(Errno) {
        let file = try files.directory.open(path, .read)
        let size = Int(try file.size())
        if size >= files.segmentSize { continue }
        let modified = try file.modificationTime()
        if modified > old { continue }
        let tail = SegmentImage(byteCount: files.segmentSize - size)
        unsafe RandomFill.fill(tail.bytes)
        let written = try files.directory.open(path, .readWrite)
        try unsafe written.write(UnsafeRawBufferPointer(tail.bytes), at: Int64(size))
        // Whether it was finished once tells its space's recovery damage from a birth cut short.
        try written.setModificationTime(seconds: modified)
      } catch {
        options.logger.warning("\(StoreError(writing: path, error))")
      }
    }
  }
}

extension CheckpointReference {
  fileprivate func contains(_ raw: UInt32) -> Bool {
    raw >= firstSegment.rawValue && raw - firstSegment.rawValue < segmentCount
  }
}
