import AlbumFormat
import AlbumModel
import Logging
import Posix

// Compaction keeps what a space takes close to what lives in it. Garbage comes from `letGo` alone;
// when enough may have come about, all extents are surveyed, and the segments with the most garbage
// are emptied (`CompactionPlan`, `Mover`), a bounded piece at a time: by the keeper while nobody
// uses the space, or by `compact` at once.
//
// "What lives" is the content that files of the space refer to, sealed, each byte once however many
// share it. The space takes its data segments that are not retired, its journal and its checkpoints.

/// What compaction knows in one session. Belongs to who has the turn.
struct CompactionWork {
  var plan = CompactionPlan()
  /// Content in them does not open: they stay, and are not tried again in this session.
  var unreadable: Set<SegmentNumber> = []
  /// Something kept them alive that the catalog does not say yet: left alone until the next survey.
  var deferred: Set<SegmentNumber> = []
  /// `SegmentLedger.released` at the last survey; nil: there was none.
  var releasedAtSurvey: Int64?
  /// Not before, in monotonic milliseconds: something stood in the way.
  var retryAt: Int64 = 0
}

/// Whose turn it is to move, retire and remove segments. Any thread.
final class Compaction: Sendable {
  private struct State {
    var isTaken = false
    var isStopped = false
    var work = CompactionWork()
  }
  private let state = Monitor(State())

  var unreadable: Set<SegmentNumber> { state.withLock { $0.work.unreadable } }

  /// Runs `body` alone. nil, and nothing is run, when the session ends; and where somebody else has
  /// the turn, unless it `waits`.
  func turn<Result>(
    waits: Bool, _ body: (inout CompactionWork) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    let begun = state.waiting { state -> CompactionWork?? in
      if state.isStopped { return .some(nil) }
      if state.isTaken { return waits ? nil : .some(nil) }
      state.isTaken = true
      return state.work
    }
    guard var work = begun else { return nil }
    defer { end(work) }
    return try body(&work)
  }

  private func end(_ work: CompactionWork) {
    state.withLock { state in
      state.work = work
      state.isTaken = false
    }
    state.notifyAll()
  }

  /// Nobody gets a turn any more; returns when nobody has it.
  func stop() {
    state.waiting { state -> Void? in
      state.isStopped = true
      return state.isTaken ? nil : ()
    }
  }
}

extension Space {
  /// What is moved in one piece at most, in bytes, but for a single segment: about a tenth of a
  /// second's work, for which a user who comes back may have to wait.
  static let compactionPiece: Int64 = 16 << 20

  /// One piece of compaction where it is due, of segments in which together about `limit` bytes
  /// live.
  func compactPiece(_ work: inout CompactionWork, limit: Int64) throws(StoreError) {
    if keepsEverything { return }
    if SystemClock.monotonicMilliseconds() < work.retryAt { return }
    if work.plan.victims.isEmpty, isSurveyDue(work) { plan(&work, .background) }
    do throws(StoreError) { try emptyNext(&work, limit: limit) } catch {
      guard error.isShortage else { throw error }
      work.plan = CompactionPlan()
      work.retryAt = SystemClock.monotonicMilliseconds() + 30_000
      options.logger.notice("no room to compact: \(error)")
    }
  }

  /// Whether there may be something to compact. Cheap.
  func isCompactionDue(_ work: CompactionWork) -> Bool {
    !keepsEverything && (!work.plan.victims.isEmpty || isSurveyDue(work))
  }

  /// A survey looks at all extents: only when as much was let go as makes a difference.
  private func isSurveyDue(_ work: CompactionWork) -> Bool {
    guard let last = work.releasedAtSurvey else { return true }
    let (released, count) = catalog.withLock {
      ($0.segments.released, $0.segments.accounts.count)
    }
    return released - last >= Int64(max(1, count / 32)) * Int64(files.segmentSize)
  }

  /// Surveys and plans.
  func plan(_ work: inout CompactionWork, _ goal: CompactionPlan.Goal) {
    work.releasedAtSurvey = catalog.withLock { $0.segments.released }
    work.deferred = []
    let survey = survey()
    let open = content.openSegments
    let accounts = catalog.withLock { $0.segments.accounts }
    let inUse = accounts.filter { $0.value.state != .retired }
    let candidates = inUse.filter {
      !open.contains($0.key) && !survey.kept.contains($0.key) && !work.unreadable.contains($0.key)
    }.keys
    let size = Int64(files.segmentSize)
    work.plan = CompactionPlan(
      candidates.map { CompactionPlan.Candidate(number: $0, living: survey.living[$0] ?? 0) },
      of: CompactionPlan.Store(
        segmentSize: size, total: (Int64(inUse.count) + metadataSegments) * size,
        living: survey.total, openRoom: Int64(content.openRoom)),
      goal: goal)
  }

  /// How many segments of journal, checkpoints and reserve are needed.
  var metadataSegments: Int64 {
    let (needed, newest, first) = journal.withLock {
      ($0.checkpoints, $0.writer.newest, $0.oldestNeeded ?? 1)
    }
    let reserve = files.reserve.withLock { $0?.count ?? 0 }
    return Int64(newest.rawValue) - Int64(max(1, first)) + 1 + Int64(reserve)
      + needed.reduce(0) { $0 + Int64($1.segmentCount) }
  }

  /// Empties the next segments of the plan. What was moved is in the next frame.
  func emptyNext(_ work: inout CompactionWork, limit: Int64) throws(StoreError) {
    let candidates = work.plan.takeNext(limit: limit)
    let victims = catalog.withLock { catalog in
      candidates.map(\.number).filter {
        catalog.segments.accounts[$0].map { $0.state != .retired } ?? false
      }
    }
    if victims.isEmpty { return }
    switch try Mover.empty(victims, of: self) {
    case .moved:
      let kept = catalog.withLock { catalog in
        victims.filter { (catalog.segments.accounts[$0]?.live ?? 0) > 0 }
      }
      work.deferred.formUnion(kept)
    case .unreadable(let segment):
      work.unreadable.insert(segment.number)
      work.plan.putBack(candidates.filter { $0.number != segment.number })
      options.logger.error("a segment is not compacted, since: \(segment.cause)")
    }
  }

  /// Moves what lives in a segment elsewhere at once. Throws where something of it does not open.
  func moveLiving(outOf number: SegmentNumber) throws(StoreError) {
    if case .unreadable(let segment) = try Mover.empty([number], of: self) {
      throw segment.cause
    }
  }
}
