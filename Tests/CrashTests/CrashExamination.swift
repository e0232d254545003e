import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix

@testable import AlbumFileSystem
@testable import AlbumStore

/// Builds the states that a crash can leave of a workload, mounts each, and compares it with the workload's
/// history.
struct CrashExamination {
  private(set) var states = 0
  private(set) var violations: [String] = []
  private let workload: Workload
  private let history: History
  private let keys: SpaceKeys
  private var random: SeededRandom

  /// In one state out of this many, the examination also writes a file and looks for it.
  private static let writtenIn = 48

  init(_ workload: Workload, _ random: SeededRandom) {
    self.workload = workload
    history = workload.history
    keys = workload.circumstances.store.keys
    self.random = random
  }

  /// Examines crashes after every call to the disk: one with all writes kept, one after each sync without any
  /// uncertain write, and `samples` others.
  mutating func examineAll(samples: Int) {
    let recording = workload.disk.recording
    recording.forEachPrefix { position, disk in
      let uncertain = disk.uncertainCount
      let event = position == 0 ? nil : recording.events[position - 1]
      let isSync = event?.isSync ?? true
      if !isSync || uncertain == 0 { examine(disk, .everything, at: position) }
      if uncertain == 0 { return }
      if isSync || position == recording.events.count { examine(disk, .nothing, at: position) }
      if uncertain == 1 && samples < 2 { return }
      for _ in 0..<samples { examine(disk, choose(uncertain), at: position) }
    }
  }

  private mutating func choose(_ uncertain: Int) -> Survival {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: .allBut(Int.random(in: 0..<uncertain, using: &random))
    case 1: .only(Int.random(in: 0..<uncertain, using: &random))
    default: .random
    }
  }

  /// Mounts one state; returns the instant that it shows, or nil if it shows none that is allowed.
  @discardableResult
  mutating func examine(_ disk: DiskImage, _ survival: Survival, at position: Int) -> Int? {
    let left = disk.afterPowerCut(survival, &random)
    // The kernel's memory still has the writes that a failed sync lost. This state does not.
    let hasLost = workload.circumstances.failsSyncAfter != nil
    let afterKill = survival == .everything && !hasLost
    return examine(left, survival, at: position, afterKill: afterKill)
  }

  /// Mounts a state of a bucket, as another machine does that finds it so.
  mutating func examine(bucket state: [String: [UInt8]], at position: Int) throws {
    let disk = SimulatedDisk()
    try disk.makeDirectory("segments")
    for (path, bytes) in state {
      let parts = path.split(separator: "/")
      if parts.count == 3 { try? disk.makeDirectory("segments/\(parts[1])") }
      try disk.open(path, .createNew).writeAll(bytes)
    }
    let left = disk.image.afterPowerCut(.everything, &random)
    _ = examine(left, .everything, at: position, afterKill: false)
  }

  private mutating func examine(
    _ left: DiskImage, _ survival: Survival, at position: Int, afterKill: Bool
  ) -> Int? {
    states += 1
    do {
      let instant = try mount(left, at: position, afterKill: afterKill)
      try examineKeys(left, at: position)
      return instant
    } catch {
      violations.append("after \(position) events, \(survival) kept: \(error)")
      return nil
    }
  }

  private mutating func mount(_ image: DiskImage, at position: Int, afterKill: Bool) throws -> Int {
    let disk = SimulatedDisk(image)
    let written = workload.circumstances.boot
    let boot: BootIdentity =
      afterKill ? .any(beside: written, &random) : .afterPowerCut(&random)
    let mounted = try MountedSpace(
      disk, keys, clock: TestClock(), boot: boot, omitting: workload.circumstances.omitted)
    defer { mounted.kill() }
    let report = mounted.space.status.recovery
    if report.isDamaged || report.checkpoint != .newest {
      throw Finding(text: "the mount reports damage: \(report)")
    }
    let isStated = workload.firstWrite.map { position >= $0 } ?? false
    if isStated, boot.isSame(as: written), report.cutFrames > 0 || !report.cutFiles.isEmpty {
      throw Finding(text: "killed, and frames that were written do not count: \(report)")
    }
    let snapshot = try Snapshot(mounted)
    guard let instant = history.find(snapshot, at: position, afterKill: afterKill) else {
      throw Finding(
        text: history.complaint(about: snapshot, at: position, afterKill: afterKill))
    }
    if Int.random(in: 0..<CrashExamination.writtenIn, using: &random) == 0 {
      try examineWriting(mounted, disk, snapshot)
    }
    return instant
  }

  /// Creates a file, and expects everything to be there after an unmount.
  private func examineWriting(_ mounted: MountedSpace, _ disk: SimulatedDisk, _ before: Snapshot)
    throws
  {
    let content = [UInt8](repeating: 7, count: 5000)
    let (_, file) = try mounted.fileSystem.create(
      FileName("afterwards"), in: .root, permissions: 0o644,
      mode: OpenMode(writes: true), for: .daemon)
    try unsafe content.withUnsafeBytes { try unsafe file.write($0, at: 0) }
    try file.flush()
    file.release()
    try mounted.space.durability.checkpoint()
    try mounted.space.compact()
    var sweep = try mounted.space.compactor.beginSweep()
    try sweep.round(mounted.space.compactor)
    try mounted.close()
    let report = try SpaceCheck.run(CrashStore.store(on: disk), keys: keys)
    // A bucket may have content whose journal its writer has not sent yet. A check notes that.
    let isRelayed = workload.bucket != nil
    if let finding = report.findings.first(where: { !isRelayed || $0.severity != .note }) {
      throw Finding(text: "written on, and a check finds \(finding)")
    }
    let again = try MountedSpace(disk, keys, clock: TestClock())
    defer { again.kill() }
    let after = try Snapshot(again)
    var expected = before.entries
    expected["afterwards"] = after.entries["afterwards"]
    expected[""] = after.entries[""]
    if after.entries["afterwards"]?.content != content || after.entries != expected
      || after.deleted != before.deleted || after.past != before.past
    {
      throw Finding(text: "written on: \(after.difference(from: before))")
    }
  }

  // MARK: Going on

  /// What a session leaves: the disk that the next session finds, and its state in the plain model.
  struct Remains {
    var image: DiskImage
    var tree: PlainTree
    /// The start of the machine in which the next session may run.
    var boot: BootIdentity
  }

  /// Returns a random state that this session may leave after any of its calls; nil if the state breaks a
  /// promise.
  @discardableResult
  mutating func crash(_ random: inout SeededRandom) -> Remains? {
    let recording = workload.disk.recording
    let position = Int.random(in: 0...recording.events.count, using: &random)
    let disk = recording.image(after: position)
    let survival = disk.uncertainCount == 0 ? .everything : choose(disk.uncertainCount)
    return remains(of: disk, survival, at: position)
  }

  /// Returns the states after crashes at the last call, each without one of the uncertain writes.
  mutating func crashesLosingOne() -> [Remains] {
    let recording = workload.disk.recording
    let position = recording.events.count
    let disk = recording.image(after: position)
    var found: [Remains] = []
    for lost in 0..<disk.uncertainCount {
      if let remains = remains(of: disk, .allBut(lost), at: position) { found.append(remains) }
    }
    return found
  }

  private mutating func remains(of disk: DiskImage, _ survival: Survival, at position: Int)
    -> Remains?
  {
    let left = disk.afterPowerCut(survival, &random)
    let isKilled = survival == .everything && Bool.random(using: &random)
    // Everything in this state is certain, so there is nothing to choose at random.
    guard let instant = examine(left, .everything, at: position, afterKill: isKilled) else {
      return nil
    }
    var tree = history.instants[instant].tree
    tree.endProcess()
    let boot: BootIdentity = isKilled ? workload.circumstances.boot : .random(&random)
    return Remains(image: left, tree: tree, boot: boot)
  }

  // MARK: Keys

  /// Checks that every password unlocks its space before, during and after the change.
  private func examineKeys(_ image: DiskImage, at position: Int) throws {
    if workload.keyChanges.isEmpty { return }
    let disk = SimulatedDisk(image)
    let store = try Store.open(disk)
    var mine: [String] = [CrashStore.password]
    for change in workload.keyChanges where change.start < position {
      let isDone = change.end <= position
      switch change.kind {
      case .password(_, let new): mine = isDone ? [new] : mine + [new]
      case .space(let password): try examineSpace(password, isDone: isDone, store, disk)
      }
    }
    let opening = mine.filter {
      identity($0, store) == keys.name(of: .journal, number: .init(1), birth: .none)
    }
    if opening.count != 1 {
      throw Finding(text: "of the passwords \(mine) \(opening) open the space")
    }
  }

  private func identity(_ password: String, _ store: Store) -> SegmentName? {
    try? store.unlock(password: secret(password)).name(
      of: .journal, number: SegmentNumber(1), birth: .none)
  }

  private func examineSpace(
    _ password: String, isDone: Bool, _ store: Store, _ disk: SimulatedDisk
  ) throws {
    let found: SpaceKeys
    do throws(StoreError) { found = try store.unlock(password: secret(password)) } catch {
      if isDone || error.code != .wrongPassword { throw error }
      return
    }
    let mounted = try MountedSpace(disk, found, clock: TestClock())
    defer { mounted.kill() }
    if try Snapshot(mounted).entries.count != 1 {
      throw Finding(text: "the space that was added is not empty")
    }
  }
}

extension DiskEvent {
  fileprivate var isSync: Bool {
    switch self {
    case .sync, .failedSync, .syncDirectory: true
    default: false
    }
  }
}
