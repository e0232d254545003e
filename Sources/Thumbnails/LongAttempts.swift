import AlbumModel
import CLinux
internal import Glibc
package import Posix

/// Pictures that exceeded a first attempt. One thread takes them, one at a time, while no other thread has a
/// picture. So a hostile picture delays only others like it. Any thread.
final class LongAttempts: Sendable {
  private struct State {
    var waiting: [PhotoVersion] = []
    /// The number of threads with a first attempt.
    var busy = 0
  }

  private let state = Mutex(State(), rank: .leaf)
  private let bell: Doorbell

  /// Rings `bell` when a picture can be taken.
  init(bell: Doorbell) { self.bell = bell }

  /// The photo then belongs to the thread that takes it.
  func add(_ photo: PhotoVersion) { state.withLock { $0.waiting.append(photo) } }

  func take() -> PhotoVersion? {
    state.withLock { state in
      state.busy == 0 && !state.waiting.isEmpty ? state.waiting.removeFirst() : nil
    }
  }

  /// A thread without a picture has got one for a first attempt.
  func becameBusy() { state.withLock { $0.busy += 1 } }

  /// The thread has no such picture any more.
  func becameIdle() {
    let isDue = state.withLock { state in
      state.busy -= 1
      return state.busy == 0 && !state.waiting.isEmpty
    }
    if isDue { bell.ring() }
  }
}

/// Wakes a thread that polls (eventfd(2)). Any thread rings it; several may poll it, beside sockets.
package final class Doorbell: Sendable {
  private let descriptor: FileDescriptor

  package init() throws(Errno) {
    let raw = clinux_eventfd()
    if raw == -1 { throw .last }
    descriptor = FileDescriptor(owning: raw)
  }

  var pollDescriptor: CInt { descriptor.rawValue }

  /// Any thread; does not block. It stays readable until `silence`.
  func ring() {
    unsafe _ = withUnsafeBytes(of: UInt64(1)) { unsafe try? descriptor.write($0) }
  }

  /// Clears all rings so far.
  func silence() {
    var count: UInt64 = 0
    unsafe _ = withUnsafeMutableBytes(of: &count) { unsafe try? descriptor.read(into: $0) }
  }
}
