package import AlbumModel
import Posix

/// The store time of one session of a space, see `StoreTime`. Any thread.
final class StoreClock: Sendable {
  private struct State {
    /// Store time at the start of the session, and the running clock at that time.
    var base: StoreTime
    var start: Duration
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
    state.withLock { $0.base = max($0.base, last) }
  }
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
