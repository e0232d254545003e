import AlbumFormat
import AlbumModel
import Logging
import Posix

// Compaction keeps the room that a space takes close to the size of its living content. Only `letGo` produces
// garbage. When there may be enough of it, a survey visits all extents, and `Mover` empties the segments with
// the most garbage (`CompactionPlan`), a bounded piece at a time: in the background while nobody uses the
// space, or at once by `compact`.
//
// Living content is what files of the space refer to, sealed; content that several files share counts once.
// The space takes its data segments that are not retired, its journal and its checkpoints.

/// Moves, retires and removes segments of a space. Changes the catalog, seals records through `RecordWriter`,
/// and commits through `Durability`; calls nothing above these. Any thread. A caller that changes segments
/// has a turn of `turns`, which it takes before all locks.
final class Compactor: SpacePart, Sendable {
  let context: SpaceContext
  let durability: Durability
  let records: RecordWriter
  let turns: CompactionTurn

  init(_ records: RecordWriter, _ durability: Durability) {
    self.records = records
    self.durability = durability
    context = durability.context
    turns = CompactionTurn(trace: context.options.trace.compaction)
  }

  /// The limit for one piece, in bytes, unless a single segment exceeds it: about a tenth of a second's
  /// work, for which a returning user may have to wait.
  static let compactionPiece: Int64 = 16 << 20

  /// Does one piece of compaction if it is due, of segments with about `limit` living bytes in total.
  func compactPiece(_ work: inout CompactionWork, limit: Int64) throws(StoreError) {
    if durability.keepsEverything { return }
    if let retryAt = work.retryAt, MonotonicTime.now < retryAt { return }
    if work.plan.victims.isEmpty, isSurveyDue(work) { plan(&work, .background) }
    do throws(StoreError) { try emptyNext(&work, limit: limit) } catch {
      guard error.isShortage else { throw error }
      work.plan = CompactionPlan()
      work.retryAt = MonotonicTime.now + .seconds(30)
      options.logger.notice("no room to compact: \(error)")
    }
  }

  /// True if there may be something to compact. Cheap.
  func isCompactionDue(_ work: CompactionWork) -> Bool {
    !durability.keepsEverything && (!work.plan.victims.isEmpty || isSurveyDue(work))
  }

  /// A survey visits all extents, so it waits until enough content was released.
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
    let inUse = catalog.withLock { catalog in
      catalog.segments.accounts.filter { $0.value.state != .retired }
    }
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

  /// The number of needed segments of journal, checkpoints, reserve and fence.
  var metadataSegments: Int64 {
    let (needed, newest, first) = durability.journal.withLock {
      ($0.checkpoints, $0.writer.newest, $0.oldestNeeded ?? 1)
    }
    let reserve = files.reserve.withLock { $0?.count ?? 0 }
    let fence: Int64 = context.fence.newest > 0 ? 1 : 0
    return Int64(newest.rawValue) - Int64(max(1, first)) + 1 + Int64(reserve) + fence
      + needed.reduce(0) { $0 + Int64($1.segmentCount) }
  }

  /// Empties the next segments of the plan. The next frame states the moves.
  func emptyNext(_ work: inout CompactionWork, limit: Int64) throws(StoreError) {
    let candidates = work.plan.takeNext(limit: limit)
    let victims = catalog.withLock { catalog in
      candidates.map(\.number).filter {
        catalog.segments.accounts[$0].map { $0.state != .retired } ?? false
      }
    }
    if victims.isEmpty { return }
    let begin = trace.compaction?.now
    switch try Mover.empty(victims, of: self) {
    case .moved(let bytes):
      trace.compaction?.record("moved segments=\(victims.count) bytes=\(bytes)", since: begin)
      let kept = catalog.withLock { catalog in
        victims.filter { (catalog.segments.accounts[$0]?.live ?? 0) > 0 }
      }
      work.deferred.formUnion(kept)
    case .unreadable(let segment):
      work.unreadable.insert(segment.number)
      trace.compaction?.record("unreadable number=\(segment.number.rawValue)", since: begin)
      work.plan.putBack(candidates.filter { $0.number != segment.number })
      options.logger.error("a segment is not compacted: \(segment.cause)")
    }
  }

  /// Moves the living content of a segment at once. Throws if some of it does not decrypt.
  func moveLiving(outOf number: SegmentNumber) throws(StoreError) {
    if case .unreadable(let segment) = try Mover.empty([number], of: self) {
      throw segment.cause
    }
  }

  // MARK: What lives

  /// Visits all extents. Changes during the survey may be missed.
  func survey() -> SegmentSurvey {
    var stretches: [SegmentSurvey.Stretch] = []
    var kept: Set<SegmentNumber> = []
    forEachExtent { state, extent in
      if state.marks.contains(.leftOut) { kept.insert(extent.segment) }
      let bytes = extent.occupied
      stretches.append(
        SegmentSurvey.Stretch(
          segment: extent.segment.rawValue, start: UInt32(clamping: bytes.lowerBound),
          end: UInt32(clamping: bytes.upperBound)))
    }
    return SegmentSurvey(stretches, kept: kept)
  }

  /// Calls `body` under the catalog's lock with all extents of all files, a slice at a time.
  func forEachExtent(_ body: (InodeState, Extent) -> Void) {
    var cursor = InodeCursor()
    while !cursor.isAtEnd {
      catalog.withLock { catalog in
        catalog.walk(&cursor, count: 2 * Catalog.extentsPerSlice) { slice in
          let state = catalog.state(slice.index)
          for extent in slice.extents { body(state, extent) }
        }
      }
    }
  }

  /// Releases, a slice at a time, content that files do not have any more.
  func letGoOfDetached() {
    while catalog.withLock({ $0.letGoOfDetached(limit: 2 * Catalog.extentsPerSlice) }) {}
  }
}
