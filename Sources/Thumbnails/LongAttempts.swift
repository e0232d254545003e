import AlbumModel
import Posix

/// Pictures that took longer than a first attempt may. One thread takes them, one at a time and only
/// while no other thread has a picture in hand: so a hostile one holds up nothing but its like. Any
/// thread.
final class LongAttempts: Sendable {
  private struct State {
    var waiting: [PhotoVersion] = []
    /// Threads with first attempts to make.
    var busy = 0
  }

  private let state = Mutex(State(), rank: .leaf)
  private let bell: Doorbell

  /// `bell` is rung when there is one to take.
  init(bell: Doorbell) { self.bell = bell }

  /// The photo belongs to whoever takes it from here.
  func add(_ photo: PhotoVersion) { state.withLock { $0.waiting.append(photo) } }

  func take() -> PhotoVersion? {
    state.withLock { state in
      state.busy == 0 && !state.waiting.isEmpty ? state.waiting.removeFirst() : nil
    }
  }

  /// A thread has got a first attempt to make, after it had none.
  func becameBusy() { state.withLock { $0.busy += 1 } }

  /// It has none any more.
  func becameIdle() {
    let isDue = state.withLock { state in
      state.busy -= 1
      return state.busy == 0 && !state.waiting.isEmpty
    }
    if isDue { bell.ring() }
  }
}
