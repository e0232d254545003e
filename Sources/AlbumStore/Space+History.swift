import AlbumModel
import AlbumSecrets
import Posix

import struct Synchronization.Atomic

/// What a machine remembers of the history of a space, to notice a store that was put back.
extension Space {
  /// The number of a frame, and when it was looked at, in seconds of store time.
  package typealias HistoryEnd = (frame: UInt64, seconds: Int64)

  /// The last frame.
  package var historyEnd: HistoryEnd {
    (journal.withLock { $0.writer.position.frame.rawValue }, files.clock.now.seconds)
  }

  /// The last frame that no power cut takes back. Waits for a barrier under way.
  package var durableHistoryEnd: HistoryEnd {
    let covered = barrierState.withLock { $0.covered.rawValue }
    return (max(covered, provenFrame.load(ordering: .acquiring)), files.clock.now.seconds)
  }

  /// What the space is called where a machine remembers it.
  package var memoryName: String { files.keys.memoryName }
}
