internal import Posix

/// How much to load where small pieces are read one behind the other, as the thumbnails of an album are: one
/// part at first, and more each time that several pieces of what was loaded were read.
struct SmallReads {
  /// A longer read is no small one.
  static let limit = 96 << 10
  /// So many reads show that more of the same follow.
  private static let streak = 4
  private static let growth = 4
  private static let longest = 4

  private var window = 1
  private var reads = 0

  mutating func countRead() { reads += 1 }

  /// Returns how many parts to load now that one is missing.
  mutating func countMiss() -> Int {
    window = reads >= SmallReads.streak ? min(window * SmallReads.growth, SmallReads.longest) : 1
    reads = 0
    return window
  }
}

/// Runs work in a few threads, which end when there is none. Any thread.
final class BackgroundLanes: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var threads = 0
  }
  private let state = Mutex(State(), rank: .leaf)
  private let limit: Int
  /// What does not fit is not done.
  private static let waitingAtMost = 64

  init(_ limit: Int) { self.limit = limit }

  func add(_ work: @escaping @Sendable () -> Void) {
    let startsThread = state.withLock { state in
      if state.waiting.count >= BackgroundLanes.waitingAtMost { return false }
      state.waiting.append(work)
      if state.threads == limit { return false }
      state.threads += 1
      return true
    }
    if !startsThread { return }
    do throws(Errno) {
      try PosixThread(name: "read-ahead") { [self] in run() }.detach()
    } catch {
      // It is loaded when it is read.
      state.withLock { $0.threads -= 1 }
    }
  }

  private func run() {
    while let work = next() { work() }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      if state.waiting.isEmpty {
        state.threads -= 1
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}
