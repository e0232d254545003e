import AlbumModel
internal import Posix

/// Videos that wait for the one thread that decodes them. Those that exceeded a first attempt wait until no
/// other video does. Any thread.
final class VideoAttempts: Sendable {
  private struct State {
    var fresh: [PhotoVersion] = []
    var slow: [PhotoVersion] = []
  }

  private let state = Mutex(State(), rank: .leaf)
  let bell: Doorbell

  /// Rings `bell` when a video can be taken.
  init(bell: Doorbell) { self.bell = bell }

  /// The video then belongs to the thread that takes it.
  func add(_ video: PhotoVersion) {
    state.withLock { $0.fresh.append(video) }
    bell.ring()
  }

  /// Adds one that exceeded its first attempt.
  func postpone(_ video: PhotoVersion) { state.withLock { $0.slow.append(video) } }

  func take() -> (video: PhotoVersion, isLong: Bool)? {
    state.withLock { state in
      if !state.fresh.isEmpty { return (state.fresh.removeFirst(), false) }
      return state.slow.isEmpty ? nil : (state.slow.removeFirst(), true)
    }
  }
}
