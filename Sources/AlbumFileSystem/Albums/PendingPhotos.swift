import AlbumModel
import Posix

/// The photos that wait for their thumbnail, in order, and the callers that wait for that. It mirrors the
/// catalog, and is wrong in one direction only: it may contain photos that need no thumbnail any more. Any
/// thread.
final class PendingPhotos: Sendable {
  struct State {
    var queue: [InodeNumber] = []
    /// The start of the queue.
    var first = 0
    var queued: Set<InodeNumber> = []
    /// How often a photo began to wait.
    var arrivals = 0
    var handedOut: [InodeNumber: UInt64] = [:]
    /// The photos that each waiting caller still waits for.
    var waiters: [Int: Set<InodeNumber>] = [:]
    var nextWaiter = 0
    var wake: (@Sendable () -> Void)?
  }

  /// A leaf: nothing else is locked under it, and `wake` is called without it.
  private let monitor = Monitor(State(), rank: .leaf)

  /// True if no photo waits or is being worked on.
  var isIdle: Bool { monitor.withLock { $0.queued.isEmpty && $0.handedOut.isEmpty } }

  var arrivals: Int { monitor.withLock { $0.arrivals } }

  func setWake(_ wake: @escaping @Sendable () -> Void) {
    let isWaiting = monitor.withLock { state in
      state.wake = wake
      return !state.queued.isEmpty
    }
    if isWaiting { wake() }
  }

  func add(_ photos: [InodeNumber]) {
    if photos.isEmpty { return }
    let wake = monitor.withLock { state in
      // While photos wait, those who take them have been woken and will come for these too.
      let wasEmpty = state.queued.isEmpty
      for photo in photos where state.queued.insert(photo).inserted { state.queue.append(photo) }
      state.arrivals += 1
      return wasEmpty ? state.wake : nil
    }
    wake?()
  }

  /// Takes the next photo; it counts as being worked on until `done`.
  func take() -> InodeNumber? {
    monitor.withLock { state in
      if state.first == state.queue.count { return nil }
      let photo = state.queue[state.first]
      state.first += 1
      if state.first == state.queue.count || state.first > 4096 {
        state.queue.removeFirst(state.first)
        state.first = 0
      }
      state.queued.remove(photo)
      state.handedOut[photo, default: 0] += 1
      return photo
    }
  }

  /// The work on one taken photo is finished.
  func done(_ photo: InodeNumber) {
    monitor.withLock { state in
      let rest = (state.handedOut[photo] ?? 1) - 1
      state.handedOut[photo] = rest == 0 ? nil : rest
      if state.queued.contains(photo) || rest > 0 { return }
      for waiter in state.waiters.keys { state.waiters[waiter]?.remove(photo) }
    }
    monitor.notifyAll()
  }

  /// Returns true when every photo that waits now is done, or false at the deadline.
  func wait(until deadline: MonotonicTime?) -> Bool {
    let waiter = monitor.withLock { state in
      state.nextWaiter += 1
      state.waiters[state.nextWaiter] = state.queued.union(state.handedOut.keys)
      return state.nextWaiter
    }
    defer { monitor.withLock { state in state.waiters[waiter] = nil } }
    let isDone = { @Sendable (state: inout State) -> Bool? in
      state.waiters[waiter]?.isEmpty == true ? true : nil
    }
    if let deadline { return monitor.waiting(until: deadline, isDone) ?? false }
    return monitor.waiting(isDone)
  }
}
