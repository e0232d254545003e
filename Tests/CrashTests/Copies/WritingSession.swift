import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumStore

/// A session that continues to work with a copy, or with a store that lost something. It writes a file and
/// lets the space remove whatever the space considers garbage, with no grace time.
struct WritingSession {
  static let name = "afterwards"

  /// The store after the session.
  private(set) var copy: StoreCopy
  /// The error of a failed write.
  private(set) var failure: String?
  /// True if nothing could be written, and nothing was.
  private(set) var wasReadOnly = false
  private let keys: SpaceKeys
  private let boot: BootIdentity
  private let omitted: Set<Precaution>
  private var content: [UInt8] = []

  init(
    _ copy: StoreCopy, _ keys: SpaceKeys, boot: BootIdentity = .unknown,
    omitting omitted: Set<Precaution> = []
  ) {
    self.copy = copy
    self.keys = keys
    self.boot = boot
    self.omitted = omitted
  }

  /// Runs two sessions. The first ends by an unmount or a kill.
  mutating func run(_ random: inout SeededRandom) {
    let disk = CopiedDisk(copy)
    let written = random.bytes(Int.random(in: 1...6000, using: &random))
    let isKilled = Bool.random(using: &random)
    do {
      try write(written, on: disk, unmounts: !isKilled)
      if !wasReadOnly {
        content = written
        try tidy(disk)
      }
    } catch {
      failure = "\(error)"
    }
    copy = disk.copy
  }

  private mutating func write(_ bytes: [UInt8], on disk: CopiedDisk, unmounts: Bool) throws {
    let mounted = try MountedSpace(
      disk, keys, clock: TestClock(), boot: boot, omitting: omitted)
    defer { mounted.kill() }
    if mounted.space.isReadOnly {
      wasReadOnly = true
      return
    }
    let (_, file) = try mounted.fileSystem.create(
      FileName(WritingSession.name), in: .root, permissions: 0o644,
      mode: OpenMode(writes: true), for: .daemon)
    try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
    try file.flush()
    file.release()
    try removeGarbage(mounted)
    if unmounts { try mounted.close() }
  }

  /// Does at once everything that a session does in the background.
  private func removeGarbage(_ mounted: MountedSpace) throws {
    try mounted.space.durability.checkpoint()
    // A space that lacks a part of the journal refuses to compact, and removes nothing.
    do throws(StoreError) { try mounted.space.compact() } catch {
      if error.code != .damaged { throw error }
    }
    var sweep = try mounted.space.compactor.beginSweep()
    for _ in 0..<3 { try sweep.round(mounted.space.compactor) }
    try mounted.space.durability.checkpoint()
    try mounted.space.barrier()
  }

  private func tidy(_ disk: CopiedDisk) throws {
    let mounted = try MountedSpace(
      disk, keys, clock: TestClock(), boot: boot, omitting: omitted)
    defer { mounted.kill() }
    try removeGarbage(mounted)
    try mounted.close()
  }

  /// The differences from what the store showed before, except for the session's own writes.
  func faults(in view: Snapshot, after before: Snapshot) -> [Fault] {
    var faults: [Fault] = []
    if view.entries[WritingSession.name]?.content != content {
      faults.append(Fault("what was written is not there", WritingSession.name))
    }
    for path in Set(before.entries.keys).union(view.entries.keys).sorted() {
      if path == WritingSession.name || Timeline.isThumbnail(path) { continue }
      guard let old = before.entries[path], let new = view.entries[path] else {
        faults.append(Fault("shown before or after only", path))
        continue
      }
      let isSame =
        old.content == new.content && old.attributes == new.attributes
        && old.state.number == new.state.number
        && view.unreadable[path] == before.unreadable[path]
      if !isSame { faults.append(Fault("other than before", path)) }
    }
    return faults
  }
}
