import AlbumModel
import Glibc
package import Posix

/// A disk at a distance, which counts the calls that wait for one another. The calls of one thread do. Those of
/// threads that it starts begin when it made its last call, and its next call waits for them.
package final class DistantDisk: ForwardingDisk, @unchecked Sendable {
  package struct Count: CustomStringConvertible {
    package var calls = 0
    package var rounds = 0
    package var description: String { "\(calls) calls in \(rounds) rounds" }
  }
  private struct State {
    var count = Count()
    /// By thread, how many rounds are over.
    var helpers: [pthread_t: Int] = [:]
  }
  private let state = Mutex(State(), rank: .test)
  private let thread = pthread_self()

  package override var kind: StorageKind { StorageKind(name: "network", sharing: .network) }

  /// The calls since the last time.
  package func takeRounds() -> Count {
    state.withLock { state in
      state.count.rounds = max(state.count.rounds, state.helpers.values.max() ?? 0)
      defer { state = State() }
      return state.count
    }
  }

  /// Takes a moment, so that lanes share the calls among them.
  fileprivate func count() {
    beSlow(milliseconds: 1)
    let caller = pthread_self()
    state.withLock { state in
      state.count.calls += 1
      if caller == thread {
        state.count.rounds = 1 + max(state.count.rounds, state.helpers.values.max() ?? 0)
        state.helpers = [:]
      } else {
        state.helpers[caller, default: state.count.rounds] += 1
      }
    }
  }

  package override func open(_ path: String, _ access: StorageAccess) throws(Errno)
    -> any StorageFile
  {
    count()
    return try super.open(path, access)
  }
  package override func makeDirectory(_ path: String) throws(Errno) {
    count()
    try super.makeDirectory(path)
  }
  package override func rename(_ from: String, to: String) throws(Errno) {
    count()
    try super.rename(from, to: to)
  }
  package override func remove(_ path: String) throws(Errno) {
    count()
    try super.remove(path)
  }
  package override func list(_ path: String) throws(Errno) -> [String] {
    count()
    return try super.list(path)
  }
  package override func syncDirectory(_ path: String) throws(Errno) {
    count()
    try super.syncDirectory(path)
  }
  package override func capacity() throws(Errno) -> StorageCapacity {
    count()
    return try super.capacity()
  }
  package override func wrap(_ file: any StorageFile, _ path: String) -> any StorageFile {
    DistantFile(file, self)
  }
}

private final class DistantFile: ForwardingFile, @unchecked Sendable {
  private let disk: DistantDisk

  init(_ file: any StorageFile, _ disk: DistantDisk) {
    self.disk = disk
    super.init(file)
  }

  override func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno)
    -> Int
  {
    disk.count()
    return try unsafe super.read(into: buffer, at: offset)
  }
  override func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    disk.count()
    try unsafe super.write(buffer, at: offset)
  }
  override func sync() throws(Errno) {
    disk.count()
    try super.sync()
  }
  override func size() throws(Errno) -> Int64 {
    disk.count()
    return try super.size()
  }
  override func modificationTime() throws(Errno) -> Timestamp {
    disk.count()
    return try super.modificationTime()
  }
  override func setModificationTime(_ time: Timestamp) throws(Errno) {
    disk.count()
    try super.setModificationTime(time)
  }
  override func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    disk.count()
    try super.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
  }
  override func proveLock(exclusive: Bool, offset: Int64, length: Int64) throws(Errno) {
    disk.count()
    try super.proveLock(exclusive: exclusive, offset: offset, length: length)
  }
}
