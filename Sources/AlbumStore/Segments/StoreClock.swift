package import AlbumModel
import Posix

/// The clock of one session of a space: store time, see `StoreTime`. Any thread.
final class StoreClock: Sendable {
  private struct State {
    /// Store time when the session began, and what the running clock said then.
    var base: Int64
    var start: Int64
  }
  private let source: TimeSource
  private let state: Mutex<State>

  init(_ source: TimeSource = .system) {
    self.source = source
    state = Mutex(State(base: source.wall(), start: source.running()))
  }

  var now: StoreTime {
    let running = source.running()
    return state.withLock {
      StoreTime(milliseconds: min(StoreTime.limit - 1, $0.base + max(0, running - $0.start)))
    }
  }

  /// Time does not fall behind what the store says already.
  func goOn(from last: StoreTime) {
    state.withLock { $0.base = max($0.base, last.milliseconds) }
  }
}

/// Where store time comes from, both in milliseconds: the wall clock, and one that nobody sets and that
/// goes on while the machine sleeps. Tests have their own.
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
