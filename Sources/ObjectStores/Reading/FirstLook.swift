internal import Posix

/// What the first requests for a store have brought. Each reply counts once, and only for a short time: a
/// person may type a password meanwhile.
final class FirstLook: Sendable {
  private struct State {
    var begun = MonotonicTime.now
    var files: [String: Result<[UInt8], ObjectError>] = [:]
    var page: ObjectPage?
  }
  private let state = Mutex(State(), rank: .leaf)

  private static let lifetime = Duration.seconds(5)

  func give(_ path: String, _ content: Result<[UInt8], ObjectError>) {
    change { $0.files[path] = content }
  }

  /// Takes a page that has all objects of the store.
  func give(_ page: ObjectPage) { change { $0.page = page } }

  func take(_ path: String) -> Result<[UInt8], ObjectError>? {
    let content = state.withLock { $0.files.removeValue(forKey: path) }
    return isFresh ? content : nil
  }

  func takePage() -> ObjectPage? {
    let page = state.withLock { state in
      defer { state.page = nil }
      return state.page
    }
    return isFresh ? page : nil
  }

  private var isFresh: Bool {
    MonotonicTime.now - state.withLock { $0.begun } < FirstLook.lifetime
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      if state.files.isEmpty, state.page == nil { state.begun = .now }
      body(&state)
    }
  }
}
