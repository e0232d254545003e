package import AlbumModel
import Posix

/// The store time of one session of a space, see `StoreTime`. Any thread.
final class StoreClock: Sendable {
  private struct State {
    /// Store time at the start of the session, and the running clock at that time.
    var base: Int64
    var start: Int64
  }
  private let source: TimeSource
  private let state: Mutex<State>

  init(_ source: TimeSource = .system) {
    self.source = source
    state = Mutex(State(base: source.wall(), start: source.running()), rank: .leaf)
  }

  var now: StoreTime {
    let running = source.running()
    return state.withLock {
      StoreTime(milliseconds: min(StoreTime.limit - 1, $0.base + max(0, running - $0.start)))
    }
  }

  /// Keeps store time from falling behind a time in the store.
  func goOn(from last: StoreTime) {
    state.withLock { $0.base = max($0.base, last.milliseconds) }
  }
}

/// The clocks behind store time, both in milliseconds: the wall clock, and one that nobody sets and that
/// continues while the machine sleeps. Tests have their own.
package struct TimeSource: Sendable {
  var wall: @Sendable () -> Int64
  var running: @Sendable () -> Int64

  package init(
    wall: @escaping @Sendable () -> Int64, running: @escaping @Sendable () -> Int64
  ) {
    self.wall = wall
    self.running = running
  }

  package static let system = TimeSource(
    wall: { SystemClock.wallNanoseconds() / 1_000_000 },
    running: { SystemClock.runningMilliseconds() })
}

extension Timestamp {
  /// The wall clock.
  package static var now: Timestamp { Timestamp(nanoseconds: SystemClock.wallNanoseconds()) }
}
