import AlbumFormat
import Logging
import Posix

import struct Synchronization.Atomic

/// The room on the disk that holds the store: how much there is, how much a space keeps for itself, and
/// whether there is too little. Any thread. May touch the reserve and nothing else of the store.
final class DiskRoom: Sendable {
  private struct State {
    /// The reason why nothing can be taken over for the moment.
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
  /// How many segments the newest checkpoint has.
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

  func noteCheckpoint(_ reference: CheckpointReference) {
    checkpointSegments.store(max(1, reference.segmentCount), ordering: .relaxed)
  }

  /// What is free on the disk below.
  func capacity() throws(StoreError) -> StorageCapacity {
    do throws(Errno) { return try files.directory.capacity() } catch {
      throw StoreError(reading: "", error)
    }
  }

  /// Room that is left on the disk below for journal and checkpoints, in segments: the next checkpoint
  /// fits into it with the journal segment that names it.
  var checkpointRoom: Int64 {
    max(4, Int64(checkpointSegments.load(ordering: .relaxed)) + 2)
  }

  /// Throws `.noSpace` or `.quotaExceeded` where no new data segment may be begun that leaves as many.
  func require(leaving segments: Int64? = nil) throws(StoreError) {
    try files.fillReserve()
    let available = try capacity().availableBytes
    if available < ((segments ?? checkpointRoom) + 1) * Int64(files.segmentSize) {
      throw StoreError(
        .noSpace,
        "the disk that holds the store is full: \(available >> 20) MiB are left, "
          + "which albumfs keeps to be able to remove files; free some space")
    }
  }

  /// True where the next segments may find no room: then whoever writes is better told at once than when
  /// the file is closed, which not every program looks at. Looks at the disk once a second at most.
  var isNearlyFull: Bool {
    let now = MonotonicTime.now
    let known = state.withLock { state -> Bool? in
      if state.shortage != nil { return true }
      guard let lookedAt = state.lookedAt, now - lookedAt < .seconds(1) else { return nil }
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

  /// The reason why nothing can be taken over for the moment; nil: there is room.
  var shortage: StoreError? { state.withLock { $0.shortage } }

  /// True while the disk is too full to take anything over.
  var isShort: Bool { shortage != nil }

  /// Logs the first error of a shortage, and wakes the threads that make room.
  func noteShortage(_ error: StoreError) {
    let isFirst = state.withLock { state in
      defer { state.shortage = error }
      return state.shortage == nil
    }
    if isFirst { logger.error("nothing more can be stored for now: \(error)") }
    wake()
  }

  /// Something could be written.
  func noteRoom() {
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

  /// `tellReturned` calls the hook when there is room again after a shortage.
  func setWhenReturned(_ hook: @escaping @Sendable () -> Void) { state.withLock { $0.hook = hook } }

  /// Calls the hook if room has returned since the last call. To be called with no lock held.
  func tellReturned() {
    let hook = state.withLock { state in
      defer { state.hasReturned = false }
      return state.hasReturned ? state.hook : nil
    }
    hook?()
  }
}
