package import AlbumModel
import Posix

/// The store time of one session of a space, see `StoreTime`. Any thread.
final class StoreClock: Sendable {
  private struct State {
    /// Store time at the start of the session, and the running clock at that time.
    var base: StoreTime
    var start: Duration
    /// The newest time in the store before this session.
    var last = StoreTime.none
  }
  private let source: TimeSource
  private let state: Mutex<State>

  init(_ source: TimeSource = .system) {
    self.source = source
    state = Mutex(State(base: StoreTime(source.wall()), start: source.running()), rank: .leaf)
  }

  var now: StoreTime {
    let running = source.running()
    return state.withLock {
      min(StoreTime(milliseconds: StoreTime.limit - 1), $0.base + max(.zero, running - $0.start))
    }
  }

  /// Keeps store time from falling behind a time in the store.
  func goOn(from last: StoreTime) {
    state.withLock { state in
      state.base = max(state.base, last)
      state.last = max(state.last, last)
    }
  }

  /// How long nothing was written to the store before this session, as far as the clocks tell.
  var pause: Duration { state.withLock { $0.last == .none ? .zero : $0.base - $0.last } }
}

/// The clock that decides how long deleted files stay. It follows store time, but the time between two
/// sessions counts as two days at most. So a machine whose clock is a year ahead at one mount ends nothing.
struct UseClock: Sendable {
  /// The most that the time between two sessions adds.
  static let longestPause = Duration.seconds(2 * 24 * 3600)

  private let clock: StoreClock
  /// The part of store time that did not count.
  let skipped: Duration

  /// `skipped`: the value of the session before.
  init(_ clock: StoreClock, skipped: Duration) {
    self.clock = clock
    self.skipped = skipped + max(.zero, clock.pause - UseClock.longestPause)
  }

  var now: StoreTime { max(.none, clock.now - skipped) }
}

/// The clocks behind store time: the wall clock, and one that nobody sets and that continues while the
/// machine sleeps. Tests have their own.
package struct TimeSource: Sendable {
  var wall: @Sendable () -> Timestamp
  var running: @Sendable () -> Duration

  init(
    wall: @escaping @Sendable () -> Timestamp, running: @escaping @Sendable () -> Duration
  ) {
    self.wall = wall
    self.running = running
  }

  package static let system = TimeSource(
    wall: { SystemClock.wall() }, running: { SystemClock.sinceStart() })
}

extension Timestamp {
  /// The wall clock.
  package static var now: Timestamp { SystemClock.wall() }
}
