package import AlbumModel
package import Posix

// A disk in memory that forgets unsynced data. It serves the core's calls like a local file system and
// records every call that changes something. At any call it can fail, lie, or run another actor's code.
// `DiskImage` computes what a power cut leaves of it.

/// A lie of the disk. It shows that a test would notice if the core left the call out.
package enum DiskLie: Sendable, Hashable {
  /// Directory syncs return without effect.
  case ignoresDirectorySyncs
  /// File syncs return without effect.
  case ignoresFileSyncs
  /// Locks are never taken.
  case ignoresLocks
  /// A failed sync returns success: the core believes that if it ignores the error.
  case hidesFailedSyncs
  /// Times of files are set without effect.
  case ignoresTimes
}

/// A call in which a test can run its own code.
package enum DiskCall: Sendable {
  case changed(DiskEvent)
  /// An existing file was opened.
  case opened(path: String)
}

package final class SimulatedDisk: StorageDirectory {
  struct Lock {
    var file: Int
    var owner: ObjectIdentifier
    var range: Range<Int64>
    var isExclusive: Bool
  }

  struct State {
    var image: DiskImage
    var events: [DiskEvent] = []
    var nextFile: Int
    var locks: [Lock] = []
    var waiters = 0
    var calls = 0
    var failsFrom = Int.max
    var failure = Errno.io
    var failsSyncIn: Int?
    /// The times of folders that a tool set. A change of names replaces them by a natural time.
    var folderTimes: [String: Timestamp] = [:]
    /// The names in each directory; nil if names have changed since they were listed.
    var listing: [String: [String]]?
    var interruption: (when: (DiskCall) -> Bool, body: () -> Void)?
  }

  let state: Monitor<State>
  let recordsEvents: Bool
  let lies: Set<DiskLie>

  /// A disk with this content, empty by default; `records` keeps its events for `recording`.
  package init(_ image: DiskImage = DiskImage(), records: Bool = false, lies: Set<DiskLie> = []) {
    let next = (image.files.keys.max() ?? 0) + 1
    start = image
    state = Monitor(State(image: image, nextFile: next), rank: .test)
    recordsEvents = records
    self.lies = lies
  }

  private let start: DiskImage

  // MARK: States

  package var image: DiskImage { state.withLock { $0.image } }

  /// The number of recorded events.
  package var position: Int { state.withLock { $0.events.count } }

  package var recording: DiskRecording {
    DiskRecording(start: start, events: state.withLock { $0.events })
  }

  /// The disk as a power cut may leave it now.
  package func crashed(_ random: inout SeededRandom) -> SimulatedDisk {
    SimulatedDisk(image.afterPowerCut(.random, &random))
  }

  // MARK: Faults

  /// The number of writing calls so far.
  package var callCount: Int { state.withLock { $0.calls } }

  /// Every writing call after the first `count` fails.
  package func fail(from count: Int, with error: Errno = .io) {
    state.withLock {
      $0.failsFrom = count
      $0.failure = error
    }
  }

  /// The sync of a file after `count` others fails, and loses its data.
  package func failSync(after count: Int) { state.withLock { $0.failsSyncIn = count } }

  /// Runs `body` once, within the first call for which `condition` returns true, after the call took effect
  /// and before it returns. The disk holds no lock meanwhile.
  package func interrupt(
    when condition: @escaping (DiskCall) -> Bool, _ body: @escaping () -> Void
  ) {
    state.withLock { $0.interruption = (condition, body) }
  }

  /// True if a thread waits for a lock.
  package var hasWaiters: Bool { state.withLock { $0.waiters > 0 } }

  // MARK: Changing

  /// Counts a call, and applies the event that `body` returns; throws if calls fail.
  func change(_ body: (inout State) throws(Errno) -> DiskEvent) throws(Errno) {
    let interruption = try state.withLock { state throws(Errno) -> (() -> Void)? in
      state.calls += 1
      if state.calls > state.failsFrom { throw state.failure }
      let event = try body(&state)
      perform(event, &state)
      return takeInterruption(.changed(event), &state)
    }
    interruption?()
  }

  private func takeInterruption(_ call: DiskCall, _ state: inout State) -> (() -> Void)? {
    guard let interruption = state.interruption, interruption.when(call) else { return nil }
    state.interruption = nil
    return interruption.body
  }

  private func perform(_ event: DiskEvent, _ state: inout State) {
    switch event {
    case .syncDirectory where lies.contains(.ignoresDirectorySyncs): return
    case .sync where lies.contains(.ignoresFileSyncs): return
    case .setTime where lies.contains(.ignoresTimes): return
    default:
      state.image.apply(event)
      recordNames(event, &state)
      if recordsEvents { state.events.append(event) }
    }
  }

  private func recordNames(_ event: DiskEvent, _ state: inout State) {
    switch event {
    case .makeFile(let path, _), .makeDirectory(let path), .remove(let path):
      state.folderTimes[DiskImage.parent(path)] = nil
    case .rename(let from, let to):
      state.folderTimes[DiskImage.parent(from)] = nil
      state.folderTimes[DiskImage.parent(to)] = nil
    default: return
    }
    state.listing = nil
  }

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    if case .createNew = access { return try make(path) }
    var number = 0
    let interruption = try state.withLock { state throws(Errno) -> (() -> Void)? in
      guard let node = state.image.nodes[path] else { throw .noEntry }
      guard case .file(let found) = node else { throw .isDirectory }
      number = found
      return takeInterruption(.opened(path: path), &state)
    }
    let file = SimulatedFile(number, self)
    interruption?()
    return file
  }

  private func make(_ path: String) throws(Errno) -> any StorageFile {
    var number = 0
    try change { state throws(Errno) in
      switch state.image.nodes[path] {
      case .file?: throw .exists
      case .directory?: throw .isDirectory
      case nil: break
      }
      guard state.image.nodes[DiskImage.parent(path)] == .directory else { throw .noEntry }
      number = state.nextFile
      state.nextFile += 1
      return .makeFile(path: path, file: number)
    }
    return SimulatedFile(number, self)
  }

  package func makeDirectory(_ path: String) throws(Errno) {
    try change { state throws(Errno) in
      if state.image.nodes[path] != nil { throw .exists }
      guard state.image.nodes[DiskImage.parent(path)] == .directory else { throw .noEntry }
      return .makeDirectory(path: path)
    }
  }

  package func rename(_ from: String, to: String) throws(Errno) {
    try change { state throws(Errno) in
      if state.image.nodes[from] == nil { throw .noEntry }
      return .rename(from: from, to: to)
    }
  }

  package func remove(_ path: String) throws(Errno) {
    try change { state throws(Errno) in
      if state.image.nodes[path] == nil { throw .noEntry }
      return .remove(path: path)
    }
  }

  package func syncDirectory(_ path: String) throws(Errno) {
    try change { _ throws(Errno) in .syncDirectory(path: path) }
  }

  // MARK: Looking

  package func list(_ path: String) throws(Errno) -> [String] {
    try state.withLock { state throws(Errno) in
      guard state.image.nodes[path] == .directory else { throw .noEntry }
      let names =
        state.listing
        ?? Dictionary(grouping: state.image.nodes.keys.filter { $0 != "" }, by: DiskImage.parent)
      state.listing = names
      return (names[path] ?? []).map { path.isEmpty ? $0 : String($0.dropFirst(path.count + 1)) }
    }
  }

  /// The time that a write sets.
  private static let naturalTime = Timestamp(seconds: 1_700_000_001)

  package func folderTimes(_ path: String) throws(Errno) -> FileTimes? {
    try state.withLock { state throws(Errno) in
      guard state.image.nodes[path] == .directory else { throw .noEntry }
      let time = state.folderTimes[path] ?? SimulatedDisk.naturalTime
      return FileTimes(
        modified: time, accessed: time, changed: SimulatedDisk.naturalTime)
    }
  }

  /// Not counted as a change: no promise depends on these times.
  package func setFolderTime(_ path: String, _ time: Timestamp) throws(Errno) {
    try state.withLock { state throws(Errno) in
      if state.calls >= state.failsFrom { throw state.failure }
      guard state.image.nodes[path] == .directory else { throw .noEntry }
      state.folderTimes[path] = time
    }
  }

  package func capacity() throws(Errno) -> StorageCapacity {
    StorageCapacity(
      blockSize: 4096, totalBytes: 1 << 40, freeBytes: 1 << 39, availableBytes: 1 << 39,
      totalFiles: 1 << 20, freeFiles: 1 << 20)
  }
}

/// One open file of the simulated disk.
final class SimulatedFile: StorageFile {
  private let number: Int
  private let disk: SimulatedDisk

  init(_ number: Int, _ disk: SimulatedDisk) {
    self.number = number
    self.disk = disk
  }

  deinit { release(0..<Int64.max) }

  private func content<Result>(_ body: (DiskImage.File) -> Result) throws(Errno) -> Result {
    try disk.state.withLock { state throws(Errno) in
      guard let file = state.image.files[number] else { throw .io }
      return body(file)
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    let bytes = try content(\.bytes)
    let start = min(Int(offset), bytes.count)
    let count = min(buffer.count, bytes.count - start)
    unsafe bytes[start..<start + count].withUnsafeBytes {
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).copyMemory(from: $0)
    }
    return count
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    let bytes = unsafe [UInt8](buffer)
    try disk.change { _ throws(Errno) in
      .write(file: number, offset: Int(offset), bytes: bytes)
    }
  }

  func sync() throws(Errno) {
    var isFailed = false
    try disk.change { state throws(Errno) in
      if let left = state.failsSyncIn {
        state.failsSyncIn = left == 0 ? nil : left - 1
        isFailed = left == 0
      }
      return isFailed ? .failedSync(file: number) : .sync(file: number)
    }
    if isFailed, !disk.lies.contains(.hidesFailedSyncs) { throw .io }
  }

  func startWriteback() {}
  func size() throws(Errno) -> Int64 { Int64(try content(\.bytes.count)) }
  func modificationTime() throws(Errno) -> Timestamp {
    Timestamp(seconds: try content(\.modified))
  }
  func setModificationTime(_ time: Timestamp) throws(Errno) {
    try disk.change { _ throws(Errno) in .setTime(file: number, seconds: time.seconds) }
  }

  // MARK: Locks of open file descriptions: another open of the same file is another holder.

  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    if disk.lies.contains(.ignoresLocks) { return }
    let end = length == 0 ? Int64.max : offset + length
    let wanted = SimulatedDisk.Lock(
      file: number, owner: ObjectIdentifier(self), range: offset..<end, isExclusive: exclusive)
    var hasWaited = false
    let isTaken = disk.state.waiting { state -> Bool? in
      if state.locks.contains(where: wanted.conflicts) {
        if !wait { return false }
        if !hasWaited { state.waiters += 1 }
        hasWaited = true
        return nil
      }
      if hasWaited { state.waiters -= 1 }
      state.locks.append(wanted)
      return true
    }
    if !isTaken { throw .again }
  }

  func unlock(offset: Int64, length: Int64) throws(Errno) {
    release(offset..<(length == 0 ? Int64.max : offset + length))
  }

  func isLockedByOthers() throws(Errno) -> Bool {
    let owner = ObjectIdentifier(self)
    return disk.state.withLock { state in
      state.locks.contains { $0.file == number && $0.owner != owner }
    }
  }

  private func release(_ range: Range<Int64>) {
    let owner = ObjectIdentifier(self)
    disk.state.withLock { state in
      state.locks.removeAll { $0.owner == owner && $0.range.overlaps(range) }
    }
    disk.state.notifyAll()
  }
}

extension SimulatedDisk.Lock {
  fileprivate func conflicts(_ other: SimulatedDisk.Lock) -> Bool {
    file == other.file && owner != other.owner && range.overlaps(other.range)
      && (isExclusive || other.isExclusive)
  }
}
