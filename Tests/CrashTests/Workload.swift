import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix

@testable import AlbumFileSystem
@testable import AlbumStore

/// A session on a recording disk, or on an object storage with staging on that disk. It performs operations, compares each with the plain model, and keeps the
/// history with which crash states are compared. One thread.
final class Workload {
  let circumstances: Circumstances
  let disk: SimulatedDisk
  /// Where the store lies, if that is not the disk.
  let bucket: Bucket?
  private let clock: TestClock
  private(set) var mounted: MountedSpace
  private(set) var tree: PlainTree
  private(set) var history = History()
  /// The faults that the session found while it ran.
  private(set) var findings: [String] = []
  /// The number of events when the first call that wrote had returned. Until then the store is as an earlier
  /// power cut may have left it, and the head that records the cut and this start of the machine may be missing.
  private(set) var firstWrite: Int?
  /// Changes of `keys`, in order.
  private(set) var keyChanges: [KeyChange] = []
  /// The instants of the disk while spaces were unmounted.
  private(set) var unmounts: [ClosedRange<Int>] = []
  private var password = CrashStore.password
  private var handles: [(number: Int, file: OpenFile)] = []
  private var sweep: Sweep?
  private var writes = 0
  /// The start of the machine in which the session runs.
  private var boot: BootIdentity
  /// True after a call failed together with the disk. From then on the plain model does not know the state.
  private(set) var hasFailed = false

  struct KeyChange {
    enum Kind {
      case password(from: String, to: String)
      case space(String)
    }
    var kind: Kind
    var start: Int
    var end: Int
  }

  /// With a bucket, promises and positions are those of the bucket.
  init(
    _ circumstances: Circumstances, clock: TestClock = TestClock(), bucket: Bucket? = nil
  ) throws {
    self.circumstances = circumstances
    self.bucket = bucket
    self.clock = clock
    boot = circumstances.boot
    tree = circumstances.tree
    disk =
      bucket?.staging
      ?? SimulatedDisk(circumstances.store.image, records: true, lies: circumstances.lies)
    mounted = try MountedSpace(
      bucket?.directory() ?? disk, circumstances.store.keys, clock: clock, boot: circumstances.boot,
      omitting: circumstances.omitted, graceSeconds: circumstances.graceSeconds)
    if let count = circumstances.failsSyncAfter { disk.failSync(after: count) }
    record(-1)
  }

  deinit { mounted.kill() }

  /// The number of changes of what holds the store.
  private var position: Int { bucket?.position ?? disk.position }

  private var fileSystem: FileSystem { mounted.fileSystem }
  private static let me = Caller(user: 1000, group: 1000)

  // MARK: What each call is held against

  /// Makes a call. `change` applies it to the plain model, and returns false if the call must be refused.
  /// Returns true if it was done.
  @discardableResult
  private func call(_ change: (inout PlainTree) -> Bool = { _ in true }, _ body: () throws -> Void)
    -> Bool
  {
    let start = position
    let before = tree
    let isAllowed = change(&tree)
    if !isAllowed { tree = before }
    var isDone = false
    do {
      try body()
      isDone = true
      if !isAllowed { findings.append("a call was done that was to be refused") }
    } catch {
      if isAllowed { failed(error) }
    }
    record(start)
    return isDone && isAllowed
  }

  private func failed(_ error: any Error) {
    if circumstances.failsSyncAfter == nil { findings.append("a call failed: \(error)") }
    hasFailed = true
  }

  private func record(_ start: Int) {
    if firstWrite == nil, position > 0 { firstWrite = position }
    do {
      let snapshot = try Snapshot(mounted)
      if !hasFailed, let disagreement = tree.disagreement(with: snapshot) {
        findings.append("the mounted space is not as it was told: \(disagreement)")
        hasFailed = true
      }
      history.append(snapshot, tree, start: start)
    } catch {
      findings.append("the mounted space cannot be read: \(error)")
    }
  }

  private func sync(_ body: () throws -> Void) {
    let covered = history.last
    let isDone = call({ _ in true }, body)
    // On this machine's disk alone it is not in the bucket.
    if isDone, bucket == nil { history.recordSync(of: covered, at: position) }
  }

  /// Sends everything, as often as that needs.
  private func send() {
    guard let bucket else { return barrier() }
    clock.advance(seconds: 3)
    call({
      $0.commitAll()
      return true
    }) { mounted.space.durability.callBeforeBarrier(pendingFor: Housekeeping.barrierInterval) }
    let covered = history.last
    let isDone = bucket.withFaults { call { try retrying { try mounted.space.barrierThere() } } }
    if isDone { history.recordSync(of: covered, at: position) }
  }

  private func retrying<Result>(_ body: () throws -> Result) throws -> Result {
    for _ in 0..<100 { if let result = try? body() { return result } }
    return try body()
  }

  // MARK: Operations

  func perform(_ operation: Operation) {
    switch operation {
    case .create(let path): create(path)
    case .write(let path, let count): write(path, count)
    case .append(let path, let count): put(path, at: tree[path]?.live.count ?? 0, count)
    case .overwrite(let path, let offset, let count): put(path, at: offset, count)
    case .leaveOpen(let path, let count): leaveOpen(path, count)
    case .closeAll: closeAll()
    case .replace(let path, let count):
      write(path + ".new", count)
      rename(path + ".new", path)
    case .rename(let from, let to): rename(from, to)
    case .exchange(let one, let other): rename(one, other, exchanging: true)
    case .syncFile(let path): synchronize(path)
    case .syncDirectory(let path):
      stateAll()
      synchronize(path)
    case .barrier: barrier()
    case .send: send()
    case .thumbnails: makeThumbnails()
    case .checkpoint: call { try mounted.space.durability.checkpoint() }
    case .compaction: call { try mounted.space.compact() }
    case .sweep: sweepOnce()
    case .addSpace: addSpace()
    case .changePassword: changePassword()
    case .kill: kill()
    case .remount: remount()
    default: performOnNames(operation)
    }
  }

  private func performOnNames(_ operation: Operation) {
    switch operation {
    case .truncate(let path, let size):
      call({ $0.truncate(path, to: size) }) {
        var change = AttributeChange()
        change.size = Int64(size)
        _ = try fileSystem.change(change, of: number(path))
      }
    case .allocate(let path, let range): allocate(path, range)
    case .link(let path, let new):
      state(path)
      call({ $0.link(path, new) }) {
        let (parent, name) = try split(new)
        _ = try fileSystem.link(number(path), as: name, in: parent)
      }
    case .unlink(let path):
      call({ $0.unlink(path) }) {
        let (parent, name) = try split(path)
        try fileSystem.unlink(name, in: parent)
      }
    case .makeDirectory(let path):
      call({ $0.makeDirectory(path) }) {
        let (parent, name) = try split(path)
        _ = try fileSystem.makeDirectory(
          name, in: parent, permissions: 0o755, for: Workload.me)
      }
    case .removeDirectory(let path):
      call({ $0.removeDirectory(path) }) {
        let (parent, name) = try split(path)
        try fileSystem.removeDirectory(name, in: parent)
      }
    case .setAttribute(let path, let count):
      let (name, value) = (Array("user.note".utf8), bytes(count))
      call({ $0.setAttribute(path, name, value) }) {
        try fileSystem.setExtendedAttribute(
          name, to: value, of: number(path), mode: AttributeMode())
      }
    default: findings.append("\(operation) is not known")
    }
  }

  /// Returns bytes that no other write has.
  private func bytes(_ count: Int) -> [UInt8] {
    writes += 1
    var random = SeededRandom(seed: UInt64(writes) &+ circumstances.salt)
    return random.bytes(count)
  }

  private func split(_ path: String) throws -> (parent: InodeNumber, name: FileName) {
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    return (try number(PlainTree.parent(path)), try FileName(name))
  }

  private func number(_ path: String) throws -> InodeNumber {
    try fileSystem.resolve(path: Array(path.utf8))
  }

  // MARK: Content

  private func opened(_ path: String, creates: Bool) -> OpenFile? {
    var file: OpenFile?
    if creates {
      call({ $0.create(path) && $0.open(path) }) {
        let (parent, name) = try split(path)
        file = try fileSystem.create(
          name, in: parent, permissions: 0o644, mode: OpenMode(writes: true),
          for: Workload.me
        ).1
      }
    } else {
      call({ $0.open(path) }) {
        file = try fileSystem.open(
          number(path), mode: OpenMode(writes: true))
      }
    }
    return file
  }

  private func create(_ path: String) {
    guard let file = opened(path, creates: true), let number = tree.names[path] else { return }
    close(file, number)
  }

  private func write(_ path: String, _ count: Int) {
    let isNew = tree.names[path] == nil
    guard let file = opened(path, creates: isNew), let number = tree.names[path] else { return }
    if !isNew {
      call({ $0.truncate(path, to: 0) }) {
        var change = AttributeChange()
        change.size = 0
        _ = try fileSystem.change(change, of: file.inode)
      }
    }
    write(file, number, at: 0, count)
    close(file, number)
  }

  /// Records must fit into the small segments.
  private static let sizeLimit = 12_000

  private func put(_ path: String, at offset: Int, _ count: Int) {
    if offset + count > Workload.sizeLimit { return }
    guard let file = opened(path, creates: false), let number = tree.names[path] else { return }
    write(file, number, at: offset, count)
    close(file, number)
  }

  /// Writes bytes that are not part of history yet.
  private func write(_ file: OpenFile, _ number: Int, at offset: Int, _ count: Int) {
    let bytes = bytes(count)
    tree.write(number, bytes, at: offset)
    do {
      try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: Int64(offset)) }
    } catch {
      failed(error)
    }
  }

  private func close(_ file: OpenFile, _ number: Int) {
    let isStored = call({ $0.committed(number) }) { try file.flush() }
    if isStored { history.recordClose(at: position) }
    call({ $0.released(number) }) { file.release() }
  }

  private func leaveOpen(_ path: String, _ count: Int) {
    if (tree[path]?.live.count ?? 0) + count > Workload.sizeLimit { return }
    guard let file = opened(path, creates: false), let number = tree.names[path] else { return }
    handles.append((number, file))
    write(file, number, at: tree.files[number]?.live.count ?? 0, count)
  }

  /// Publishes a file's pending content before a change of its names, even if that change is then refused.
  private func state(_ path: String) {
    guard tree[path]?.pending != nil, let file = tree.names[path],
      let inode = try? number(path)
    else { return }
    call({ $0.committed(file) }) { try fileSystem.contents.find(inode)?.publish() }
  }

  /// Does the same for all files, because fsync of a directory covers everything.
  private func stateAll() {
    call({
      $0.commitAll()
      return true
    }) {
      if let failure = fileSystem.publishContents(pendingFor: .zero) { throw failure }
    }
  }

  private func closeAll() {
    for handle in handles { close(handle.file, handle.number) }
    handles = []
  }

  private func allocate(_ path: String, _ range: Range<Int>) {
    guard let file = opened(path, creates: false), let number = tree.names[path] else { return }
    call({ $0.zero(path, range) }) {
      try file.allocate(
        at: Int64(range.lowerBound), length: Int64(range.count),
        mode: AllocationMode(zeroesRange: true))
    }
    close(file, number)
  }

  private func rename(_ from: String, _ to: String, exchanging: Bool = false) {
    state(from)
    if exchanging { state(to) }
    call({ exchanging ? $0.exchange(from, to) : $0.rename(from, to) }) {
      let (parent, name) = try split(from)
      let (newParent, newName) = try split(to)
      try fileSystem.rename(
        name, in: parent, to: newName, in: newParent, mode: RenameMode(exchange: exchanging))
    }
  }

  // MARK: What makes it durable

  private func synchronize(_ path: String) {
    guard let inode = try? number(path) else { return }
    state(path)
    sync { try fileSystem.synchronize(inode) }
  }

  /// Writes a barrier, as the keeper does after 2 seconds.
  private func barrier() {
    clock.advance(seconds: 3)
    call({
      $0.commitAll()
      return true
    }) { mounted.space.durability.callBeforeBarrier(pendingFor: Housekeeping.barrierInterval) }
    sync { try mounted.space.barrier() }
  }

  /// Sweeps, as the keeper does in the background.
  private func sweepOnce() {
    call {
      if sweep == nil { sweep = try mounted.space.compactor.beginSweep() }
      try sweep?.round(mounted.space.compactor)
    }
  }

  private func makeThumbnails() {
    call({
      $0.makeThumbnails()
      return true
    }) {
      while let photo = fileSystem.nextPhoto() {
        guard let content = content(of: photo) else {
          fileSystem.fail(photo, reason: .internal)
          continue
        }
        try fileSystem.finish(photo, thumbnail: PlainTree.thumbnail(of: content))
      }
    }
  }

  private func content(of photo: PhotoVersion) -> [UInt8]? {
    guard let size = fileSystem.photoSize(photo) else { return nil }
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: ReadHeadroom.byteCount + Int(size), alignment: 64)
    defer { unsafe memory.deallocate() }
    let buffer = unsafe UnsafeMutableRawBufferPointer(
      rebasing: memory[ReadHeadroom.byteCount...])
    guard (try? unsafe fileSystem.readPhoto(photo, into: buffer, at: 0)) != nil else {
      return nil
    }
    return unsafe [UInt8](buffer)
  }

  // MARK: Keys

  private func addSpace() {
    let new = "space \(keyChanges.count)"
    changeKeys(.space(new)) { store throws(StoreError) in
      try store.addSpace(password: secret(new), birth: CrashStore.birth)
    }
  }

  private func changePassword() {
    let new = "password \(keyChanges.count)"
    let old = password
    changeKeys(.password(from: old, to: new)) { store throws(StoreError) in
      try store.changePassword(old: secret(old), new: secret(new))
    }
    password = new
  }

  private func changeKeys(
    _ kind: KeyChange.Kind, _ body: (Store) throws(StoreError) -> Void
  ) {
    let start = disk.position
    do throws(StoreError) { try body(Store.open(disk)) } catch { failed(error) }
    keyChanges.append(KeyChange(kind: kind, start: start, end: disk.position))
  }

  // MARK: Ends of a session

  private func kill() {
    let start = position
    mounted.kill()
    handles = []
    sweep = nil
    if let boot = bucket?.mayCutPower() {
      self.boot = boot
      return remount(expecting: nil, start, afterKill: false)
    }
    remount(expecting: nil, start)
  }

  private func remount() {
    let start = position
    closeAll()
    if let bucket { return remount(from: bucket, start) }
    sync { try mounted.close() }
    unmounts.append(start...position)
    handles = []
    sweep = nil
    if hasFailed { return }
    remount(expecting: history.last, position)
  }

  /// The end of a session may not reach the bucket. Then the next one has the rest to send.
  private func remount(from bucket: Bucket, _ start: Int) {
    var isSent = false
    call {
      if let error = mounted.fileSystem.close() { throw error }
      isSent = (try? bucket.withFaults { try mounted.space.close() }) != nil
    }
    let covered = history.last
    if isSent { history.recordSync(of: covered, at: position) }
    mounted.kill()
    handles = []
    sweep = nil
    remount(expecting: covered, start)
  }

  private func mountAgain() throws {
    func mount(_ directory: any StorageDirectory) throws -> MountedSpace {
      try MountedSpace(
        directory, circumstances.store.keys, clock: clock, boot: boot,
        omitting: circumstances.omitted, graceSeconds: circumstances.graceSeconds)
    }
    guard let bucket else { return mounted = try mount(disk) }
    mounted = try bucket.withFaults { try retrying { try mount(bucket.directory()) } }
  }

  private func remount(expecting instant: Int?, _ start: Int, afterKill: Bool = true) {
    do {
      try mountAgain()
      let snapshot = try Snapshot(mounted)
      let position = position
      let found = history.find(snapshot, at: position + 1, afterKill: afterKill)
      guard let found, instant == nil || found >= instant ?? 0 else {
        let complaint = history.complaint(about: snapshot, at: position + 1, afterKill: afterKill)
        findings.append("mounted again: \(complaint)")
        hasFailed = true
        return
      }
      if mounted.space.status.recovery.isDamaged { findings.append("mounted again: damaged") }
      history.resume(at: found, start: start, position: position)
      tree = history.instants[history.last].tree
    } catch {
      findings.append("does not mount again: \(error)")
      hasFailed = true
    }
  }
}

extension Workload {
  /// Performs `other` within the first sync of a file for which the operation waits. It runs on a thread of
  /// its own, because its order of locks would be wrong for the thread that holds the locks of the sync.
  func perform(_ operation: Operation, interruptedBy other: Operation) {
    // Only one of the two threads is at work at any time.
    nonisolated(unsafe) let workload = self
    disk.interrupt(when: { if case .changed(.sync) = $0 { true } else { false } }) {
      do {
        try PosixThread(name: "interrupting") { unsafe workload.perform(other) }.join()
      } catch {
        self.findings.append("no thread for the interrupting operation: \(error)")
        self.hasFailed = true
      }
    }
    perform(operation)
    disk.interrupt(when: { _ in false }) {}
  }
}

extension PlainTree.File {
  /// The content that a reader of the open file sees.
  var live: [UInt8] { pending ?? content }
}

extension PlainTree {
  fileprivate mutating func committed(_ number: Int) -> Bool {
    commit(number)
    return true
  }

  fileprivate mutating func released(_ number: Int) -> Bool {
    release(number)
    return true
  }
}
