import AlbumStore
import Logging
import Posix

/// Notes how far a space's history went, every 5 seconds and when the session ends, so that a killed
/// session counts as well. The files' disk may be slow: the watch has a thread of its own.
final class HistoryWatch: Sendable {
  private static let period = Duration.seconds(5)

  private let seen: SeenHistory
  private let space: Space
  private let logger: Logger
  private let isStopping = Monitor(false, rank: .leaf)
  private let thread = Mutex<PosixThread?>(nil, rank: .leaf)

  init(_ seen: SeenHistory, of space: Space, logger: Logger) {
    self.seen = seen
    self.space = space
    self.logger = logger
  }

  /// Only what no power cut takes back is noted while the session lasts: a store that has lost its last
  /// seconds is not an old one.
  func start() throws(Errno) {
    let started = try PosixThread(name: "history") {
      var noted: UInt64 = 0
      while true {
        let until = MonotonicTime.now + HistoryWatch.period
        if self.isStopping.waiting(until: until, { $0 ? true : nil }) != nil { return }
        let end = self.space.durableHistoryEnd
        if end.frame > noted {
          self.note(end)
          noted = end.frame
        }
      }
    }
    thread.withLock { $0 = started }
  }

  /// After the space was closed: all of its history is on disk.
  func end() {
    stop()
    note(space.historyEnd)
  }

  func stop() {
    isStopping.withLock { $0 = true }
    isStopping.notifyAll()
    thread.withLock { $0.take() }?.join()
  }

  private func note(_ end: Space.HistoryEnd) {
    do throws(Errno) { try seen.remember(end) } catch {
      logger.warning("the end of history cannot be remembered: \(error)")
    }
  }
}
