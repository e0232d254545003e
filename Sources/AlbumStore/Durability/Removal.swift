import AlbumFormat
import AlbumModel
import Posix

import struct Synchronization.Atomic

// The only place that unlinks segment files of a space that lives (`SpaceDestruction` removes those of
// one that does not). One rule: no file goes that was not proven unneeded under
// the lock that keeps it so, at the moment when it goes. Whatever was decided before (what was
// unneeded when a checkpoint was taken, which segments were retired when a sweep began) names
// candidates and nothing more.
//
// - What another copy of the store made that was written to never goes: each session of this timeline is
//   known by its birth, which is in the names of what it made.
// - Journal and checkpoint segments: under the journal's lock neither a head on disk, nor the head that
//   is about to be written, nor the checkpoint under way needs them.
// - Data segments: under the journal's lock and the catalog's the ledger says that they are retired and
//   that nothing lives in them, no writer has them open, and the frame that states this is behind a
//   proven barrier: recovery looks whether the records open that frames behind the last *proven*
//   barrier refer to, and would cut history at one that wrote into a segment which is gone.
// - The reserve: under its own lock, which is held while it is made.
//
// The journal's lock is held while one file is unlinked: no frame and no head is appended meanwhile.

/// A segment file that may go. Only this file makes one, under the lock that its reason holds under.
struct Unneeded {
  let id: SegmentID
  fileprivate init(_ id: SegmentID) { self.id = id }
}

extension Durability {
  /// Unlinks those of `candidates` that nobody needs, one at a time; leaves the others alone. Returns how
  /// many it unlinked. Takes the journal's lock.
  @discardableResult
  func unlink(_ candidates: [SegmentID]) throws(StoreError) -> Int {
    var count = 0
    for id in candidates {
      let isGone = try journal.withLock { journal throws(StoreError) in
        try unlink(id, &journal)
      }
      if !isGone { continue }
      if id.kind == .data { try noteGone(id) }
      count += 1
    }
    return count
  }

  /// That a data segment is gone is stated when its name is durably gone: one that came back after a power
  /// cut would be a segment that nobody knows.
  private func noteGone(_ id: SegmentID) throws(StoreError) {
    try files.syncFolder(of: id)
    catalog.withLock { $0.setState(of: id.number, to: .removed) }
  }

  /// The same for a caller that holds the journal's lock.
  @discardableResult
  func unlink(_ candidates: [SegmentID], _ journal: inout Journal) throws(StoreError) -> Int {
    var count = 0
    for id in candidates {
      if try !unlink(id, &journal) { continue }
      if id.kind == .data { try noteGone(id) }
      count += 1
    }
    return count
  }

  /// Unlinks a journal segment that could not be written for want of room: it holds no frame, and the
  /// journal, whose lock the caller holds, goes on as if it had not been begun.
  func unlinkUnborn(_ number: SegmentNumber, _ journal: Journal) throws(StoreError) {
    if number <= journal.writer.newest { return }
    try files.remove(Unneeded(SegmentID(kind: .journal, number: number)))
  }

  private func unlink(_ id: SegmentID, _ journal: inout Journal) throws(StoreError) -> Bool {
    guard let unneeded = proveUnneeded(id, journal) else { return false }
    try files.remove(unneeded)
    if id.kind == .data { journal.retirements[id.number] = nil }
    return true
  }

  /// Decides whether a segment may go, for all kinds: what must never go is said here.
  private func proveUnneeded(_ id: SegmentID, _ journal: Journal) -> Unneeded? {
    if keepsEverything { return nil }
    switch id.kind {
    case .data: return isSpent(id.number, journal) ? Unneeded(id) : nil
    case .journal, .checkpoint: return journal.needs(id) || !isOwn(id) ? nil : Unneeded(id)
    case .reserve: return nil
    }
  }

  /// True for what a session of this timeline made. Another copy of the store, which was written to, may
  /// have segments of the same numbers.
  private func isOwn(_ id: SegmentID) -> Bool {
    guard let birth = files.birth(id) else { return false }
    return birth == files.session || catalog.withLock { $0.isOwn(id, birth) }
  }

  /// True where a data segment is retired for good: nothing lives in it, and history says so.
  private func isSpent(_ number: SegmentNumber, _ journal: Journal) -> Bool {
    let proven = provenFrame.load(ordering: .acquiring)
    let isProven =
      !journal.unstatedRetirements.contains(number)
      && (journal.retirements[number]?.rawValue ?? 0) <= proven
    if !isProven, !options.omitting.contains(.retiredBeforeUnlinked) { return false }
    return catalog.withLock { catalog in
      guard let account = catalog.segments.accounts[number] else { return false }
      return account.state == .retired && account.live <= 0
        && (!catalog.hasChanged(number) || options.omitting.contains(.retiredBeforeUnlinked))
        && !content.openSegments.contains(number)
    }
  }
}

extension SegmentFiles {
  /// Unlinks a segment that was proven unneeded.
  fileprivate func remove(_ unneeded: Unneeded) throws(StoreError) {
    // One whose birth nobody knows was never there.
    if birth(unneeded.id) == nil { return }
    let path = path(unneeded.id)
    do throws(Errno) { try directory.remove(path) } catch {
      // A directory, or a folder that is none: what lies there is no segment.
      if error != .noEntry, error != .isDirectory, !error.isMisplaced {
        throw StoreError(removing: path, error)
      }
    }
    RestingTimes.settle(SegmentPath.directory(of: name(unneeded.id)), in: directory)
    noteRemoved(unneeded.id)
  }

  /// Unlinks a segment of the reserve; called under the reserve's lock.
  func unlinkReserved(_ number: SegmentNumber) throws(StoreError) {
    try remove(Unneeded(SegmentID(kind: .reserve, number: number)))
  }
}

// What may be asked to go.

extension Durability {
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
      number.rawValue < next && !needed.contains { $0.includes(number) }
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
  var graceSeconds: Int64 { room.isNearlyFull ? 0 : options.graceSeconds }

  /// What is not needed since this time or longer may go.
  var graceLimit: StoreTime { graceLimit(graceSeconds) }

  func graceLimit(_ seconds: Int64) -> StoreTime {
    StoreTime(milliseconds: files.clock.now.milliseconds - seconds * 1000)
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
