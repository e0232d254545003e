import Posix

import struct Synchronization.Atomic

// The room of removed segments, on a disk that takes it back late.

extension SegmentFiles {
  /// Makes the disk take back the room of removed segments. Returns false if it has done that, so that what
  /// shows no room has none. A caller that finds no room calls this before it believes that.
  func settleRemovals() -> Bool {
    if hasSettledRemovals.exchange(true, ordering: .acquiringAndReleasing) { return false }
    do throws(Errno) { try directory.syncRemovals() } catch { return false }
    return true
  }

  /// Runs `body`, and once more if it found no room and removed segments have given some back since.
  func settlingRemovals<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError)
    -> Result
  {
    do throws(StoreError) { return try body() } catch {
      if !error.isShortage || !settleRemovals() { throw error }
    }
    return try body()
  }
}
