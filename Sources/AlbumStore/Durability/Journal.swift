import AlbumFormat
import AlbumModel
import Posix

/// The journal of an open space, and the state that changes together with it. `Durability.journal` guards it.
struct Journal {
  var writer: JournalWriter
  /// The last frame that states something; barriers state nothing.
  var lastFrame: FrameNumber
  /// The checkpoints that a head on disk names. Everything that they need is kept.
  var checkpoints: [CheckpointReference]
  /// When the oldest frame was appended that no barrier covers; nil: there is none.
  var oldestUncovered: MonotonicTime?
  /// Retired data segments whose statement is in a frame that is not written yet. For the others that this
  /// session retired, a frame before which their statement lies.
  var unstatedRetirements: Set<SegmentNumber> = []
  var retirements: [SegmentNumber: FrameNumber] = [:]
  /// The first segment of the checkpoint that is being written. This one and later ones stay.
  var checkpointUnderWay: UInt32?
  /// Set by the crash harness to leave out a precaution: the checkpoint being written counts as unneeded.
  var ignoresCheckpointUnderWay = false
  /// How often the journal was restarted. A checkpoint that began before a restart does not count.
  var restarts = 0
  /// Checkpoint segments from this number on were begun by this session.
  var firstOwnCheckpoint: UInt32 = 0
  /// This session has removed the fences before its own.
  var hasReleasedFences = false
  /// This session gave up the former checkpoint for want of room. Segments that only that one needs may go.
  var hasGivenUpFormer = false

  /// What the journal needs where the store lies, if that is elsewhere: what was sent for good, and what may
  /// have arrived since.
  var sent: [JournalNeeds] = []

  /// Takes over the checkpoints of the newest head, which is on disk now.
  mutating func recordDurableCheckpoints() {
    checkpoints = [writer.position.checkpoint, writer.position.formerCheckpoint]
    if checkpoints.allSatisfy(\.exists) { hasGivenUpFormer = false }
  }
}

extension Journal {
  /// The checkpoints from which recovery may start: those that a head on disk names, and those that the next
  /// head will name.
  var neededCheckpoints: [CheckpointReference] {
    var needed = checkpoints
    for reference in [writer.position.checkpoint, writer.position.formerCheckpoint]
    where !needed.contains(reference) {
      needed.append(reference)
    }
    return needed
  }

  /// Checkpoint segments from this number on are being written; nil: none.
  var underWay: UInt32? { ignoresCheckpointUnderWay ? nil : checkpointUnderWay }

  /// The oldest journal segment that a recovery reads; nil: all are needed. Without a former checkpoint, the
  /// journal from its beginning is the spare, unless that was given up.
  var oldestNeeded: UInt32? {
    let needed = neededCheckpoints
    if needed.contains(where: { !$0.exists }), !hasGivenUpFormer { return nil }
    return needed.filter(\.exists).map(\.firstJournal.rawValue).min()
  }

  /// True for a journal or checkpoint segment that recovery may need, now or after the checkpoint being
  /// written is named.
  func needs(_ id: SegmentID) -> Bool {
    needsHere(id) || sent.contains { $0.contains(id) }
  }

  private func needsHere(_ id: SegmentID) -> Bool {
    if id.kind == .journal { return id.number.rawValue >= oldestNeeded ?? 0 }
    // A repair may need a segment that recovery skipped.
    if oldestNeeded == nil, id.number.rawValue < firstOwnCheckpoint { return true }
    if let first = underWay, id.number.rawValue >= first { return true }
    return neededCheckpoints.contains { $0.includes(id.number) }
  }
}

extension CheckpointReference {
  /// True for the checkpoint segments that it names.
  func includes(_ number: SegmentNumber) -> Bool {
    number >= firstSegment && number.rawValue - firstSegment.rawValue < segmentCount
  }
}

/// The journal and checkpoint segments that a recovery from one state of the journal may read.
struct JournalNeeds: Sendable {
  /// nil: all journal segments.
  private var oldest: UInt32?
  private var checkpoints: [CheckpointReference]

  init(_ journal: Journal) {
    oldest = journal.oldestNeeded
    checkpoints = journal.neededCheckpoints
  }

  func contains(_ id: SegmentID) -> Bool {
    if id.kind == .journal { return id.number.rawValue >= oldest ?? 0 }
    return oldest == nil || checkpoints.contains { $0.includes(id.number) }
  }
}
