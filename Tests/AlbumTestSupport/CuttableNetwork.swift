import AlbumModel
package import Posix

/// A server on a network that goes away in the middle of a call, and the mount of its directory. When the
/// server is back, what was written and not synced may be lost, and no descriptor of before works any more.
package final class CuttableNetwork: Sendable {
  private struct State {
    var disk: SimulatedDisk
    var mount = 0
    var isAway = false
    var calls = 0
    var cutAt = Set<Int>()
    /// How often somebody still looks for the server in vain.
    var looksInVain = 0
    var random: SeededRandom
    var beforeReturn: (@Sendable (SimulatedDisk) -> Void)?
  }
  private let state: Mutex<State>

  package init(_ disk: SimulatedDisk, _ random: SeededRandom) {
    state = Mutex(State(disk: disk, random: random), rank: .test)
  }

  package var disk: SimulatedDisk { state.withLock { $0.disk } }
  /// The number of calls so far.
  package var calls: Int { state.withLock { $0.calls } }

  /// The calls of these numbers find the server away, and so does the next look for it.
  package func cut(at calls: Set<Int>) { state.withLock { $0.cutAt = calls } }

  /// Runs before the server is back.
  package func beforeReturn(_ body: @escaping @Sendable (SimulatedDisk) -> Void) {
    state.withLock { $0.beforeReturn = body }
  }

  /// The directory, as the space sees it.
  package func directory() -> PatientDirectory {
    PatientDirectory(
      Share(self), tell: { _ in }, reopen: { () throws(Errno) in Share(self) },
      isStore: { _ in self.look() })
  }

  /// True if the server is there.
  private func look() -> Bool {
    let body = state.withLock { state -> (@Sendable (SimulatedDisk) -> Void)? in
      if !state.isAway { return nil }
      state.looksInVain -= 1
      return state.looksInVain < 0 ? state.beforeReturn ?? { _ in } : nil
    }
    guard let body else { return state.withLock { !$0.isAway } }
    var (disk, random) = state.withLock { ($0.disk, $0.random) }
    disk = disk.crashed(&random)
    state.withLock { state in
      (state.disk, state.random) = (disk, random)
      state.mount += 1
    }
    body(disk)
    state.withLock { $0.isAway = false }
    return true
  }

  private func count() {
    state.withLock { state in
      state.calls += 1
      if state.cutAt.contains(state.calls) {
        state.isAway = true
        state.looksInVain = 1
      }
    }
  }

  /// The disk, for a call through this mount.
  fileprivate func reach(_ mount: Int? = nil) throws(Errno) -> SimulatedDisk {
    count()
    let (disk, isAway, now) = state.withLock { ($0.disk, $0.isAway, $0.mount) }
    if isAway { throw .notConnected }
    if let mount, mount != now { throw .io }
    return disk
  }

  fileprivate var mount: Int { state.withLock { $0.mount } }
}

private final class Share: StorageDirectory {
  let network: CuttableNetwork

  init(_ network: CuttableNetwork) { self.network = network }

  var kind: StorageKind { StorageKind(name: "network", sharing: .network) }

  func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    let file = try network.reach().open(path, access)
    return RemoteFile(file, network)
  }
  func makeDirectory(_ path: String) throws(Errno) { try network.reach().makeDirectory(path) }
  func rename(_ from: String, to: String) throws(Errno) {
    try network.reach().rename(from, to: to)
  }
  func remove(_ path: String) throws(Errno) { try network.reach().remove(path) }
  func list(_ path: String) throws(Errno) -> [String] { try network.reach().list(path) }
  func syncDirectory(_ path: String) throws(Errno) { try network.reach().syncDirectory(path) }
  func capacity() throws(Errno) -> StorageCapacity { try network.reach().capacity() }
  func holds(_ file: any StorageFile, at path: String) throws(Errno) -> Bool {
    _ = try network.reach()
    return (file as? RemoteFile)?.mount == network.mount
  }
}

private final class RemoteFile: ForwardingFile, @unchecked Sendable {
  private let network: CuttableNetwork
  let mount: Int

  init(_ file: any StorageFile, _ network: CuttableNetwork) {
    self.network = network
    mount = network.mount
    super.init(file)
  }

  override func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno)
    -> Int
  {
    _ = try network.reach(mount)
    return try unsafe super.read(into: buffer, at: offset)
  }
  override func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    _ = try network.reach(mount)
    try unsafe super.write(buffer, at: offset)
  }
  override func sync() throws(Errno) {
    _ = try network.reach(mount)
    try super.sync()
  }
  override func setModificationTime(_ time: Timestamp) throws(Errno) {
    _ = try network.reach(mount)
    try super.setModificationTime(time)
  }
  override func proveLock(exclusive: Bool, offset: Int64, length: Int64) throws(Errno) {
    _ = try network.reach(mount)
  }
}
