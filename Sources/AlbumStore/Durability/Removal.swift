import AlbumFormat
import AlbumModel
import Posix

import struct Synchronization.Atomic

// The only place that unlinks segment files of a living space (`SpaceDestruction` removes those of a
// destroyed one). It has one rule: it unlinks a file only after proving, at that moment and under the lock
// that keeps the proof valid, that the file is unneeded. Earlier decisions (what was unneeded when a
// checkpoint was taken, which segments were retired when a sweep began) only name candidates.
//
// - It removes nothing once another session may have the space: the lock is looked at before each file, and
//   the fence before several. What makes these unneeded was on disk before, so a session that begins later
//   knows it.
// - It never removes segments of another copy of the store that was written to: the names of segments
//   contain their births, which identify the sessions of this timeline.
// - Journal and checkpoint segments: under the journal's lock, neither a head on disk, nor the next head,
//   nor the checkpoint being written needs them.
// - Data segments: under the journal's lock and the catalog's, the ledger records that they are retired and
//   that nothing lives in them, no writer has them open, and the frame that states this lies before a proven
//   barrier. Recovery checks the records of frames after the last *proven* barrier, and would cut history at
//   a frame whose segment is gone.
// - Where the store lies elsewhere, all this holds of the journal there, too (`Sending.swift`).
// - The reserve: under its own lock, which its making holds too.
// - Fences: a later one exists.
//
// The journal's lock is held while one file is unlinked, so no frame and no head is appended meanwhile.

/// A segment file that may go. Only this file makes one, under the lock that keeps it true.
struct Unneeded {
  let id: SegmentID
  fileprivate init(_ id: SegmentID) { self.id = id }
}

extension Durability {
  /// Unlinks the unneeded ones of `candidates`, one at a time, and leaves the others alone. Returns how many
  /// it unlinked. Takes the journal's lock.
  @discardableResult
  func unlink(_ candidates: [SegmentID]) throws(StoreError) -> Int {
    if !candidates.isEmpty { try requireSoleWriter() }
    var count = 0
    for id in candidates {
      let isGone = try journal.withLock { journal throws(StoreError) in
        try unlink(id, &journal)
      }
      if !isGone { continue }
      if id.kind == .data { try markRemoved(id) }
      count += 1
    }
    return count
  }

  /// Marks a data segment as removed, after the removal of its name is durable. A power cut could otherwise
  /// bring back a segment that the catalog does not know.
  private func markRemoved(_ id: SegmentID) throws(StoreError) {
    try files.syncFolder(of: id)
    catalog.withLock { $0.setState(of: id.number, to: .removed) }
  }

  /// The same for a caller that holds the journal's lock.
  @discardableResult
  func unlink(_ candidates: [SegmentID], _ journal: inout Journal) throws(StoreError) -> Int {
    if !candidates.isEmpty { try requireSoleWriter() }
    var count = 0
    for id in candidates {
      if try !unlink(id, &journal) { continue }
      if id.kind == .data { try markRemoved(id) }
      count += 1
    }
    return count
  }

  /// Unlinks a journal segment that could not be written for want of room. It holds no frame, and the
  /// journal, whose lock the caller holds, continues as if the segment had not been begun.
  func unlinkUnborn(_ number: SegmentNumber, _ journal: Journal) throws(StoreError) {
    if number <= journal.writer.newest { return }
    try files.remove(Unneeded(SegmentID(kind: .journal, number: number)))
  }

  private func unlink(_ id: SegmentID, _ journal: inout Journal) throws(StoreError) -> Bool {
    let newest = journal.writer.newest
    try requireLock { newest }
    guard let unneeded = proveUnneeded(id, journal) else { return false }
    try files.remove(unneeded)
    if id.kind == .data { journal.retirements[id.number] = nil }
    return true
  }

  /// Decides for all kinds whether a segment may go.
  private func proveUnneeded(_ id: SegmentID, _ journal: Journal) -> Unneeded? {
    if keepsEverything { return nil }
    switch id.kind {
    case .data: return isSpent(id.number, journal) ? Unneeded(id) : nil
    case .journal, .checkpoint: return journal.needs(id) || !isOwn(id) ? nil : Unneeded(id)
    case .fence: return id.number.rawValue < context.fence.newest ? Unneeded(id) : nil
    case .reserve: return nil
    }
  }

  /// True if a session of this timeline made it. Another copy of the store, which was written to, may have
  /// segments with the same numbers.
  private func isOwn(_ id: SegmentID) -> Bool {
    guard let birth = files.birth(id) else { return false }
    return birth == files.session || catalog.withLock { $0.isOwn(id, birth) }
  }

  /// True if a data segment is retired for good: nothing lives in it, and history states that.
  private func isSpent(_ number: SegmentNumber, _ journal: Journal) -> Bool {
    let here = provenFrame.load(ordering: .acquiring)
    let there = provenThere.load(ordering: .acquiring)
    let proven = options.omitting.contains(.retiredThere) ? here : min(here, there)
    let isProven =
      !journal.unstatedRetirements.contains(number)
      && (journal.retirements[number]?.rawValue ?? 0) <= proven
    if !isProven, !options.omitting.contains(.retiredBeforeUnlinked) { return false }
    let birth = files.birth(SegmentID(kind: .data, number: number))
    return catalog.withLock { catalog in
      guard let account = catalog.segments.accounts[number] else { return false }
      // The file that would go is the one that the ledger means, and no other copy's of this number.
      return (account.birth == birth || account.birth == .none)
        && account.state == .retired && account.live <= 0
        && (!catalog.hasChanged(number) || options.omitting.contains(.retiredBeforeUnlinked))
        && !content.openSegments.contains(number)
    }
  }
}

extension SegmentFiles {
  /// Unlinks a segment that was proven unneeded.
  fileprivate func remove(_ unneeded: Unneeded) throws(StoreError) {
    // A segment of unknown birth was never there.
    if birth(unneeded.id) == nil { return }
    let path = path(unneeded.id)
    do throws(Errno) { try directory.remove(path) } catch {
      // A directory, or something in the place of a folder: it is no segment.
      if error != .noEntry, error != .isDirectory, !error.isMisplaced {
        throw StoreError(removing: path, error)
      }
    }
    RestingTimes.settle(SegmentPath.directory(of: name(unneeded.id)), in: directory)
    recordRemoved(unneeded.id)
    trace?.record("segment-removed \(unneeded.id.words)")
  }

  /// Unlinks a segment of the reserve; called under the reserve's lock.
  func unlinkReserved(_ number: SegmentNumber) throws(StoreError) {
    try remove(Unneeded(SegmentID(kind: .reserve, number: number)))
  }
}

// The candidates.

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

  /// The fences that exist, but for the newest, the oldest first: candidates for `unlink`.
  func unneededFences() throws(StoreError) -> [SegmentID] {
    if keepsEverything { return [] }
    return try files.list().numbers(of: .fence).dropLast().map(Fence.id)
  }

  /// How long an unneeded segment stays. On a nearly full disk it goes as soon as possible: a
  /// user who removes files there needs room more than a running copy of the store needs to be complete.
  var grace: Duration {
    // What is removed there makes no room here.
    let makesRoom = files.directory.relay == nil
    return makesRoom && room.isNearlyFull ? .zero : options.grace
  }

  /// Segments that were unneeded at this time may go.
  var graceLimit: StoreTime { files.clock.now - grace }

  /// Retired data segments in which nothing lives and whose grace is over: candidates for `unlink`.
  func retiredSegments(grace: Duration) -> [SegmentID] {
    let limit = files.clock.now - grace
    let due = catalog.withLock { catalog in
      catalog.segments.accounts.filter {
        $0.value.state == .retired && $0.value.retiredAt <= limit && $0.value.live <= 0
      }.keys
    }
    return due.map { SegmentID(kind: .data, number: $0) }
  }
}
