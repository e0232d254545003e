import AlbumModel
import AlbumSecrets
import Posix

/// What a machine remembers of the history of a space, to notice a store that was put back.
extension Space {
  /// The number of the last frame, and when it is looked at, in seconds of store time.
  package var historyEnd: (frame: UInt64, seconds: Int64) {
    (journal.withLock { $0.writer.position.frame.rawValue }, files.clock.now.seconds)
  }

  /// What the space is called where a machine remembers it.
  package var memoryName: String { files.keys.memoryName }
}
