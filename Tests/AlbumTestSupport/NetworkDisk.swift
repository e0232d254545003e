package import Posix

/// The real directory, as machines see it that share it over a network. Each of them has its own one, and their
/// locks do not meet.
package final class NetworkDisk: ForwardingDisk, @unchecked Sendable {
  private struct State {
    var knowsLocks = true
    var lists: [String: Int] = [:]
    var calls = 0
    var hook: (call: Int, run: @Sendable () -> Void)?
  }
  private let state = Mutex(State(), rank: .test)

  package init(path: String) throws(Errno) { super.init(try PosixDirectory(path: path)) }

  package override var kind: StorageKind { StorageKind(name: "network", sharing: .network) }

  /// The server gives the locks of this machine away, as NFS does after its lease.
  package func loseLocks() { state.withLock { $0.knowsLocks = false } }

  /// How often each folder was listed since the last call.
  package func takeLists() -> [String: Int] {
    state.withLock { state in
      defer { state.lists = [:] }
      return state.lists
    }
  }

  /// The number of calls so far.
  package var calls: Int { state.withLock { $0.calls } }

  /// Runs `body` before the call of this number, on a thread of its own: another machine goes on meanwhile.
  package func before(call: Int, _ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.hook = (call, body) }
  }

  fileprivate func count() {
    let due = state.withLock { state -> (@Sendable () -> Void)? in
      state.calls += 1
      guard let hook = state.hook, hook.call == state.calls else { return nil }
      state.hook = nil
      return hook.run
    }
    if let due, let thread = try? PosixThread(name: "other machine", due) { thread.join() }
  }

  package override func open(_ path: String, _ access: StorageAccess) throws(Errno)
    -> any StorageFile
  {
    count()
    return try super.open(path, access)
  }
  package override func remove(_ path: String) throws(Errno) {
    count()
    try super.remove(path)
  }
  package override func syncDirectory(_ path: String) throws(Errno) {
    count()
    try super.syncDirectory(path)
  }

  package override func list(_ path: String) throws(Errno) -> [String] {
    state.withLock { $0.lists[path, default: 0] += 1 }
    return try super.list(path)
  }

  package override func wrap(_ file: any StorageFile, _ path: String) -> any StorageFile {
    RemoteFile(file, self)
  }

  private final class RemoteFile: ForwardingFile, @unchecked Sendable {
    private let disk: NetworkDisk

    init(_ file: any StorageFile, _ disk: NetworkDisk) {
      self.disk = disk
      super.init(file)
    }

    override func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
      disk.count()
      try unsafe super.write(buffer, at: offset)
    }
    override func sync() throws(Errno) {
      disk.count()
      try super.sync()
    }

    private func requireLock() throws(Errno) {
      if !disk.state.withLock({ $0.knowsLocks }) { throw .again }
    }

    override func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
      try requireLock()
    }
    override func proveLock(exclusive: Bool, offset: Int64, length: Int64) throws(Errno) {
      try requireLock()
    }
    override func unlock(offset: Int64, length: Int64) throws(Errno) {}
  }
}
