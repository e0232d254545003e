import AlbumStore
import Logging
import Posix

/// Records every 5 seconds how far a space's history goes, and again when the session ends. So a killed
/// session counts too. It has a thread of its own, because the disk of the files may be slow.
final class HistoryWatch: Sendable {
  private static let period = TestHooks.delay(.history, .seconds(5))

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

  /// Records only frames that no power cut can undo: a store that lost its last seconds is not an old copy.
  func start() throws(Errno) {
    let started = try PosixThread(name: "history") {
      var recorded: UInt64 = 0
      while true {
        let until = MonotonicTime.now + HistoryWatch.period
        if self.isStopping.waiting(until: until, { $0 ? true : nil }) != nil { return }
        let end = self.space.durableHistoryEnd
        if end.frame > recorded {
          self.record(end)
          recorded = end.frame
        }
      }
    }
    thread.withLock { $0 = started }
  }

  /// Call it after the space was closed, when all of its history is on disk.
  func end() {
    stop()
    record(space.historyEnd)
  }

  func stop() {
    isStopping.withLock { $0 = true }
    isStopping.notifyAll()
    thread.withLock { $0.take() }?.join()
  }

  private func record(_ end: Space.HistoryEnd) {
    do throws(Errno) { try seen.remember(end) } catch {
      logger.warning("the end of history cannot be remembered: \(error)")
    }
  }
}
