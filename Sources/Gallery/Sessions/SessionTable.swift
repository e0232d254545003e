import ControlProtocol
import HTTPTypes
import Hummingbird
import Posix

/// All sessions of the server, and the spaces that they use. Any thread.
final class SessionTable: Sendable {
  private struct State {
    /// By the hash of the cookie's value, so that a look-up's time reveals nothing of a value.
    var sessions: [[UInt8]: Session] = [:]
    var spaces: [String: OpenSpace] = [:]
  }

  private let state = Mutex(State(), rank: .leaf)
  private let program: AlbumfsProgram
  /// One thread, where spaces are unlocked and unmounted: so no login finds a mount that is just going.
  private let mounting: BlockingBridge
  private let idle: Duration
  private let gate = LoginGate()

  static let limit = 64
  private static let cookie = "__Host-albumfs"

  init(_ program: AlbumfsProgram, idle: Duration) throws(Errno) {
    self.program = program
    self.idle = idle
    mounting = try BlockingBridge(name: "gallery-mount", threads: 1)
  }

  /// Measures what a wrong password costs, so that all refusals take the same time. Clears what a killed
  /// server left.
  func prepare() async {
    await mounting.runPlain { [self] in
      program.points.clearOthers(program)
      let start = MonotonicTime.now
      _ = program.unlock(Array(RandomText.make(32).utf8))
      gate.measured(MonotonicTime.now - start)
    }
  }

  // MARK: Login

  /// Returns the value of the cookie for a new session. Every refusal is the same and takes the same time.
  func login(
    _ password: String, from client: Client
  ) async throws -> (cookie: String, session: Session) {
    try await begin(password, from: client, hasPage: true)
  }

  /// Begins a session that has no page and that no request reaches.
  func terminalSession(_ password: String) async throws -> Session {
    try await begin(password, from: .local, hasPage: false).session
  }

  private func begin(
    _ password: String, from client: Client, hasPage: Bool
  ) async throws -> (cookie: String, session: Session) {
    try await gate.pass(client) { [self] in
      let tried = SessionTable.tried(password)
      return try await mounting.run { [self] in
        guard case .unlocked(let found) = program.unlock(tried) else {
          throw GalleryError(.refused)
        }
        return try begin(found, hasPage: hasPage)
      }
    }
  }

  /// A text that cannot be a password costs as much time as a wrong one.
  private static func tried(_ password: String) -> [UInt8] {
    let isPossible =
      !password.isEmpty && password.utf8.count <= 4096
      && !password.utf8.contains { [0, 10, 13].contains($0) }
    return Array(isPossible ? password.utf8 : RandomText.make(32).utf8)
  }

  /// Removes deleted files of a session's space for good. The password takes its turn as at a login.
  func purge(
    _ numbers: [UInt64], in session: Session, _ password: String, from client: Client
  ) async throws -> Int {
    try await gate.pass(client) { [self] in
      try await mounting.run { [self] in
        let mountPoint = session.space.mount.entry.mountPoint
        try program.purge(numbers, mountPoint, SessionTable.tried(password))
        return numbers.count
      }
    }
  }

  private func begin(_ found: GalleryMount, hasPage: Bool) throws
    -> (cookie: String, session: Session)
  {
    let value = RandomText.make(43)
    do {
      let space = try openSpace(found)
      let session = Session(space, hasPage: hasPage)
      try state.withLock { state in
        if state.sessions.count >= SessionTable.limit { throw GalleryError(.busy) }
        state.sessions[SessionTable.hash(value)] = session
      }
      return (value, session)
    } catch {
      releaseUnused()
      throw error is GalleryError ? error : GalleryError(.refused)
    }
  }

  private func openSpace(_ found: GalleryMount) throws(Errno) -> OpenSpace {
    if let known = state.withLock({ $0.spaces[found.mountPoint] }) { return known }
    let space = try OpenSpace(try MountedSpace(found)) { [weak self] in
      self?.lockAll(of: found.mountPoint)
    }
    state.withLock { $0.spaces[found.mountPoint] = space }
    return space
  }

  static func cookie(_ value: String) -> String {
    "\(cookie)=\(value); Path=/; Secure; HttpOnly; SameSite=Strict"
  }

  private static func hash(_ value: String) -> [UInt8] {
    SHA256.hash(Array(value.utf8))
  }

  private static func value(_ request: Request) -> String? {
    for field in request.headers[values: .cookie] {
      for part in field.split(separator: ";") {
        let words = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
        if words.count == 2, words[0] == cookie { return String(words[1]) }
      }
    }
    return nil
  }

  // MARK: Requests

  /// The session of a request. `counts`: it is a use by a person.
  func session(_ request: Request, counts: Bool = true) throws(GalleryError) -> Session {
    guard let value = SessionTable.value(request),
      let session = state.withLock({ $0.sessions[SessionTable.hash(value)] }), !session.isLocked
    else { throw GalleryError(.session) }
    if counts { session.wasUsed() }
    return session
  }

  // MARK: Locking

  /// Ends a session; the last one of a mount that a login made unmounts it.
  func lock(_ session: Session) async {
    forget { $0 === session }
    await release()
  }

  func lockAll() async {
    forget { _ in true }
    await release()
  }

  /// Another program has unmounted the space.
  private func lockAll(of mountPoint: String) {
    forget { $0.space.mount.entry.mountPoint == mountPoint }
    Task { await release() }
  }

  /// Ends sessions that nobody uses. Called each second.
  func lockDue() async {
    let idle = idle
    for session in state.withLock({ Array($0.sessions.values) }) { session.streams.closeStalled() }
    if forget({ $0.isDue(idle: idle) }) { await release() }
  }

  @discardableResult
  private func forget(_ isMeant: (Session) -> Bool) -> Bool {
    let ended = state.withLock { $0.sessions }.filter { isMeant($0.value) }
    state.withLock { state in for key in ended.keys { state.sessions[key] = nil } }
    for session in ended.values { session.lock() }
    return !ended.isEmpty
  }

  private func release() async { await mounting.runPlain { [self] in releaseUnused() } }

  /// Closes spaces without sessions. Only on the thread of `mounting`.
  private func releaseUnused() {
    let unused = state.withLock { state in
      let used = Set(state.sessions.values.map { $0.space.mount.entry.mountPoint })
      let unused = state.spaces.filter { !used.contains($0.key) }
      for key in unused.keys { state.spaces[key] = nil }
      return Array(unused.values)
    }
    for space in unused {
      space.close()
      if space.mount.isOwn { program.unmount(space.mount.entry.mountPoint) }
    }
  }
}
