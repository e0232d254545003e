import AlbumFormat
import Logging
import Posix

import struct Synchronization.Atomic

/// The room on the disk that holds the store: how much there is, how much a space keeps for itself, and
/// whether there is too little. Any thread. May touch the reserve and nothing else of the store.
final class DiskRoom: Sendable {
  private struct State {
    /// Why no new content can be accepted at the moment.
    var shortage: StoreError?
    var hook: (@Sendable () -> Void)?
    var hasReturned = false
    /// When the disk was looked at last, and what was seen.
    var lookedAt: MonotonicTime?
    var isNearlyFull = false
  }
  private let state = Mutex(State(), rank: .leaf)
  private let files: SegmentFiles
  private let logger: Logger
  /// Wakes the threads that make room.
  private let wake: @Sendable () -> Void
  /// The number of segments of the newest checkpoint.
  let checkpointSegments: Atomic<UInt32>

  init(
    files: SegmentFiles, checkpointSegments: UInt32, logger: Logger,
    wake: @escaping @Sendable () -> Void
  ) {
    self.files = files
    self.logger = logger
    self.wake = wake
    self.checkpointSegments = Atomic(max(1, checkpointSegments))
  }

  func recordCheckpoint(_ reference: CheckpointReference) {
    checkpointSegments.store(max(1, reference.segmentCount), ordering: .relaxed)
  }

  /// Free room on the disk below.
  func capacity() throws(StoreError) -> StorageCapacity {
    do throws(Errno) { return try files.directory.capacity() } catch {
      throw StoreError(reading: "", error)
    }
  }

  /// Room that must stay free on the disk for journal and checkpoints, in segments: enough for the next
  /// checkpoint and the journal segment that names it.
  var checkpointRoom: Int64 {
    max(4, Int64(checkpointSegments.load(ordering: .relaxed)) + 2)
  }

  /// Throws `.noSpace` or `.quotaExceeded` if a new data segment would leave less than that many segments.
  func require(leaving segments: Int64? = nil) throws(StoreError) {
    try files.fillReserve()
    let needed = ((segments ?? checkpointRoom) + 1) * Int64(files.segmentSize)
    var available = try capacity().availableBytes
    if available < needed, files.settleRemovals() { available = try capacity().availableBytes }
    if available < needed { throw shortage(available) }
  }

  private func shortage(_ available: Int64) -> StoreError {
    if files.directory.relay != nil {
      return StoreError(
        .noSpace,
        "what waits on this machine for the object storage takes all the room that it may; there is room again "
          + "when some of it was sent")
    }
    return StoreError(
      .noSpace,
      "the disk that holds the store is full: \(available >> 20) MiB are left, "
        + "which albumfs keeps to be able to remove files; free some space")
  }

  private static let knownFor = TestHooks.delay(.room, .seconds(1))

  /// True if the next segments may find no room. A writer should then get the error from write, because not
  /// every program checks close. Checks the disk at most once a second.
  var isNearlyFull: Bool {
    let now = MonotonicTime.now
    let known = state.withLock { state -> Bool? in
      if state.shortage != nil { return true }
      guard let lookedAt = state.lookedAt, now - lookedAt < DiskRoom.knownFor else { return nil }
      return state.isNearlyFull
    }
    if let known { return known }
    let least = 2 * checkpointRoom * Int64(files.segmentSize)
    let isNearlyFull = ((try? capacity())?.availableBytes ?? .max) < least
    state.withLock {
      $0.lookedAt = now
      $0.isNearlyFull = isNearlyFull
    }
    return isNearlyFull
  }

  // MARK: Shortage

  /// Why no new content can be accepted at the moment; nil if there is room.
  var shortage: StoreError? { state.withLock { $0.shortage } }

  /// True while the disk is too full for new content.
  var isShort: Bool { shortage != nil }

  /// Logs the first error of a shortage, and wakes the threads that make room.
  func reportShortage(_ error: StoreError) {
    let isFirst = state.withLock { state in
      defer { state.shortage = error }
      return state.shortage == nil
    }
    if isFirst { logger.error("nothing more can be stored for now: \(error)") }
    wake()
  }

  /// Ends a shortage, if there is one, because a write succeeded.
  func endShortage() {
    let wasShort = state.withLock { state in
      if state.shortage == nil { return false }
      state.shortage = nil
      state.hasReturned = true
      return true
    }
    if !wasShort { return }
    logger.notice("there is room on the disk again")
    wake()
  }

  /// Sets the hook that `notifyReturned` calls when there is room again after a shortage.
  func setWhenReturned(_ hook: @escaping @Sendable () -> Void) { state.withLock { $0.hook = hook } }

  /// Calls the hook if room has returned since the last call. The caller holds no lock.
  func notifyReturned() {
    let hook = state.withLock { state in
      defer { state.hasReturned = false }
      return state.hasReturned ? state.hook : nil
    }
    hook?()
  }
}
