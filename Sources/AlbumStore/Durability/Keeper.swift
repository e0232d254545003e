import Posix

/// The threads of a space. Each does one kind of work in rounds and sleeps while nothing changes, so that
/// none waits for another's work. Knows no work itself: `Housekeeping`, which lies above, passes the rounds
/// in. It lies in this folder because `DiskRoom` and `Durability` wake it.
final class Keeper: Sendable {
  /// Does some work and returns the time of the next round; nil to wait until the keeper is woken.
  typealias Round = @Sendable () -> MonotonicTime?

  private struct State {
    /// One bit for each thread that was woken and has not begun its round.
    var awake: UInt8 = 0
    /// The last time at which a caller woke the keeper.
    var lastWake: MonotonicTime?
    var isStopping = false
    var threads: [PosixThread] = []
  }
  private let state = Monitor(State(), rank: .leaf)

  /// Wakes the threads because there is work. Cheap, any thread.
  func wake() {
    let wasAsleep = state.withLock { state in
      defer { state.awake = .max }
      state.lastWake = .now
      return state.awake != .max
    }
    if wasAsleep { state.notifyAll() }
  }

  /// True if the keeper was woken within the last 5 seconds.
  var isBusy: Bool {
    guard let last = state.withLock({ $0.lastWake }) else { return false }
    return MonotonicTime.now - last < .seconds(5)
  }

  /// Starts one more thread. It runs `round` after a wake, and at the time that the last round returned, but
  /// at most every 100 ms. With `atOnce` the first round needs no wake.
  func start(_ name: String, atOnce: Bool = false, _ round: @escaping Round) throws(Errno) {
    let place = state.withLock { $0.threads.count }
    let first = atOnce ? MonotonicTime.now : nil
    let thread = try PosixThread(name: name) { self.run(place, first, round) }
    state.withLock { $0.threads.append(thread) }
  }

  /// Returns when all threads have ended.
  func stop() {
    let threads = state.withLock { state in
      state.isStopping = true
      defer { state.threads = [] }
      return state.threads
    }
    state.notifyAll()
    for thread in threads { thread.join() }
  }

  private func run(_ place: Int, _ first: MonotonicTime?, _ round: Round) {
    let bit = UInt8(1) << UInt8(place)
    var next = first
    while true {
      _ = state.waiting(until: next ?? .distantFuture) {
        $0.isStopping || $0.awake & bit != 0 ? () : nil
      }
      // Batches changes for 100 ms so they share a frame.
      let until = MonotonicTime.now + .milliseconds(100)
      _ = state.waiting(until: until) { $0.isStopping ? () : nil }
      let wasStopped = state.withLock { state in
        state.awake &= ~bit
        return state.isStopping
      }
      if wasStopped { return }
      next = round()
    }
  }
}
