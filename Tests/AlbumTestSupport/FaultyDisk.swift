package import AlbumModel
package import Posix

/// A disk whose calls fail on demand, on top of one that works: with errors of every kind of call, and with
/// limited room. As on Linux, a file whose sync failed once counts as synced from then on, though its
/// earlier writes may never reach the disk.
package final class FaultyDisk: StorageDirectory {
  package enum Call: CaseIterable, Sendable {
    case open, create, read, write, setTime, sync, syncDirectory, makeDirectory, rename, remove,
      list,
      capacity
  }

  private struct Fault {
    var call: Call
    var error: Errno
    /// The number of calls that succeed before the first that fails.
    var skipped: Int
    /// The number of calls that fail.
    var count: Int
    /// The only file that fails, and the bytes at its start that can be read.
    var place: (path: String, soundBytes: Int64)?

    func concerns(_ call: Call, _ path: String?, upTo end: Int64) -> Bool {
      guard self.call == call, count > 0 else { return false }
      guard let place else { return true }
      return place.path == path && end > place.soundBytes
    }
  }

  private struct State {
    var faults: [Fault] = []
    var failures = 0
    /// The bytes that fit, and the error when they are used up.
    var room: (limit: Int64, error: Errno)?
    var sizes: [String: Int64] = [:]
    /// Bytes of removed files that `syncRemovals` gives back; nil if their room comes back at once.
    var late: Int64?
    /// How often each file was read.
    var reads: [String: Int] = [:]
    /// Files whose sync failed.
    var believedSynced: Set<String> = []
  }

  /// Slow calls: they wait until a test releases them.
  private struct Slow {
    var isSlow: ((Call, String?) -> Bool)?
    var held = 0
  }

  private let base: any StorageDirectory
  private let state = Mutex(State(), rank: .test)
  private let slow = Monitor(Slow(), rank: .test)

  package init(_ base: any StorageDirectory) { self.base = base }

  /// How often each file was read from its beginning, by its path.
  package var reads: [String: Int] { state.withLock { $0.reads } }

  fileprivate func countRead(_ path: String) {
    state.withLock { $0.reads[path, default: 0] += 1 }
  }

  // MARK: Faults

  /// `count` calls of this kind fail, after `skipped` that succeed.
  package func fail(_ call: Call, with error: Errno, skipping skipped: Int = 0, count: Int = 1) {
    state.withLock {
      $0.faults.append(Fault(call: call, error: error, skipped: skipped, count: count))
    }
  }

  /// Reads of one file fail for good beyond its first `soundBytes`.
  package func makeUnreadable(_ path: String, behind soundBytes: Int64) {
    state.withLock {
      $0.faults.append(
        Fault(call: .read, error: .io, skipped: 0, count: .max, place: (path, soundBytes)))
    }
  }

  /// A file is listed and cannot be opened: it goes away at that moment.
  package func takeAway(_ path: String) {
    state.withLock {
      $0.faults.append(
        Fault(call: .open, error: .noEntry, skipped: 0, count: .max, place: (path, -1)))
    }
  }

  /// Ends all faults; returns how many calls failed.
  @discardableResult
  package func heal() -> Int {
    state.withLock { state in
      state.faults = []
      defer { state.failures = 0 }
      return state.failures
    }
  }

  // MARK: Slow calls

  /// From now on, each call for which `isSlow` returns true waits until `goOn`. `isSlow` runs on the calling
  /// thread. Other calls continue.
  package func hold(_ isSlow: @escaping @Sendable (_ call: Call, _ path: String?) -> Bool) {
    slow.withLock { $0.isSlow = isSlow }
  }

  /// The number of calls that wait now.
  package var held: Int { slow.withLock { $0.held } }

  /// Releases all waiting calls, and holds no more.
  package func goOn() {
    slow.withLock { $0.isSlow = nil }
    slow.notifyAll()
  }

  /// No test hangs: a call that is held for so long ends the run.
  private static let longestHold = Duration.seconds(300)

  fileprivate func beSlow(_ call: Call, _ path: String?) {
    guard let isSlow = slow.withLock({ $0.isSlow }), isSlow(call, path) else { return }
    slow.withLock { $0.held += 1 }
    let deadline = MonotonicTime.now + FaultyDisk.longestHold
    let isLetGo = slow.waiting(until: deadline) { $0.isSlow == nil ? true : nil } ?? false
    precondition(isLetGo, "\(call) of \(path ?? "") is held for ever: nobody calls goOn")
    slow.withLock { $0.held -= 1 }
  }

  // MARK: Room

  /// Limits the disk to `bytes` in all; nil: no limit. `capacity` also shows a limit with `.noSpace`, but
  /// not one with `.quota`.
  package func limit(_ bytes: Int64?, with error: Errno = .noSpace) {
    state.withLock { $0.room = bytes.map { ($0, error) } }
  }

  /// From now on, the room of a removed file comes back with the next `syncRemovals`, as on btrfs.
  package func returnRoomLate() { state.withLock { $0.late = 0 } }

  /// Bytes in use.
  package var used: Int64 {
    state.withLock { $0.sizes.values.reduce($0.late ?? 0, +) }
  }

  /// `end`: the end of the call's range in the file.
  fileprivate func meet(_ call: Call, _ path: String? = nil, upTo end: Int64 = 0) throws(Errno) {
    try state.withLock { state throws(Errno) in
      guard
        let place = state.faults.firstIndex(where: { $0.concerns(call, path, upTo: end) })
      else { return }
      if state.faults[place].skipped > 0 {
        state.faults[place].skipped -= 1
        return
      }
      state.faults[place].count -= 1
      state.failures += 1
      throw state.faults[place].error
    }
  }

  /// How much of a write up to `end` fits.
  fileprivate func take(_ path: String, from start: Int64, to end: Int64) -> (Int64, Errno?) {
    state.withLock { state in
      let size = state.sizes[path] ?? 0
      guard let room = state.room, end > size else {
        state.sizes[path] = max(size, end)
        return (end, nil)
      }
      let left = room.limit - state.sizes.values.reduce(state.late ?? 0, +)
      let reach = min(end, size + max(0, left))
      state.sizes[path] = max(size, reach)
      return (max(start, reach), reach < end ? room.error : nil)
    }
  }

  // MARK: StorageDirectory

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    if case .createNew = access { try meet(.create) } else { try meet(.open, path) }
    if case .createNew = access {} else { beSlow(.open, path) }
    let file = try base.open(path, access)
    let size = try file.size()
    state.withLock { $0.sizes[path] = size }
    return OpenedFile(file, path, self)
  }

  package func makeDirectory(_ path: String) throws(Errno) {
    try meet(.makeDirectory)
    try base.makeDirectory(path)
  }

  package func rename(_ from: String, to: String) throws(Errno) {
    try meet(.rename)
    try base.rename(from, to: to)
    state.withLock { $0.sizes[to] = $0.sizes.removeValue(forKey: from) }
  }

  package func remove(_ path: String) throws(Errno) {
    try meet(.remove)
    try base.remove(path)
    state.withLock { state in
      let size = state.sizes.removeValue(forKey: path) ?? 0
      if let late = state.late { state.late = late + size }
    }
  }

  package func syncRemovals() throws(Errno) {
    state.withLock { state in if state.late != nil { state.late = 0 } }
    try base.syncRemovals()
  }

  package func list(_ path: String) throws(Errno) -> [String] {
    try meet(.list)
    return try base.list(path)
  }

  package func syncDirectory(_ path: String) throws(Errno) {
    try meet(.syncDirectory)
    try base.syncDirectory(path)
  }

  package func capacity() throws(Errno) -> StorageCapacity {
    try meet(.capacity)
    var capacity = try base.capacity()
    let room = state.withLock { $0.room }
    if let room, room.error == .noSpace {
      capacity.availableBytes = max(0, room.limit - used)
      capacity.freeBytes = capacity.availableBytes
    }
    return capacity
  }

  package func folderTimes(_ path: String) throws(Errno) -> FileTimes? {
    try base.folderTimes(path)
  }

  package func setFolderTime(_ path: String, _ time: Timestamp) throws(Errno) {
    try base.setFolderTime(path, time)
  }

  fileprivate func isBelieved(_ path: String) -> Bool {
    state.withLock { $0.believedSynced.contains(path) }
  }

  fileprivate func sync(_ path: String, _ file: any StorageFile) throws(Errno) {
    beSlow(.sync, path)
    do throws(Errno) { try meet(.sync) } catch {
      state.withLock { _ = $0.believedSynced.insert(path) }
      throw error
    }
    if !isBelieved(path) { try file.sync() }
  }

  private final class OpenedFile: StorageFile {
    private let file: any StorageFile
    private let path: String
    private let disk: FaultyDisk

    init(_ file: any StorageFile, _ path: String, _ disk: FaultyDisk) {
      self.file = file
      self.path = path
      self.disk = disk
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
      if offset == 0 { disk.countRead(path) }
      try disk.meet(.read, path, upTo: offset + Int64(buffer.count))
      return try unsafe file.read(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
      try disk.meet(.write)
      let (end, error) = disk.take(path, from: offset, to: offset + Int64(buffer.count))
      if end > offset {
        try unsafe file.write(
          UnsafeRawBufferPointer(rebasing: buffer[..<Int(end - offset)]), at: offset)
      }
      if let error { throw error }
    }

    func sync() throws(Errno) { try disk.sync(path, file) }
    func startWriteback() { file.startWriteback() }
    func size() throws(Errno) -> Int64 { try file.size() }
    func modificationTime() throws(Errno) -> Timestamp { try file.modificationTime() }
    func times() throws(Errno) -> FileTimes { try file.times() }
    func isLockedByOthers() throws(Errno) -> Bool { try file.isLockedByOthers() }
    func setModificationTime(_ time: Timestamp) throws(Errno) {
      try disk.meet(.setTime)
      try file.setModificationTime(time)
    }
    func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
      try file.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
    }
    func unlock(offset: Int64, length: Int64) throws(Errno) {
      try file.unlock(offset: offset, length: length)
    }
  }
}
