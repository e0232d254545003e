import AlbumFormat
import AlbumModel

/// The journal of an opened space, and what must change together with it. The lock of `commit` guards it.
struct Journal {
  var writer: JournalWriter
  /// The last frame that states something; barriers state nothing.
  var lastFrame: FrameNumber
  /// The checkpoints that a head on disk names; what they need is kept.
  var checkpoints: [CheckpointReference]
  /// When the oldest frame was appended that no barrier covers, on the monotonic clock; 0: none.
  var oldestUncovered: Int64 = 0
  /// Retired data segments that a frame states which is not written yet, and, for the others that this
  /// session retired, a frame before which their statement lies.
  var unstatedRetirements: Set<SegmentNumber> = []
  var retirements: [SegmentNumber: FrameNumber] = [:]
  /// The first segment of the checkpoint that is being written; this one and later ones stay.
  var checkpointUnderWay: UInt32?
  /// What the crash harness leaves out: the checkpoint under way counts as unneeded.
  var ignoresCheckpointUnderWay = false
  /// How often the journal was begun anew: a checkpoint that was begun before does not count.
  var restarts = 0
  /// Checkpoint segments from this number on were begun by this session.
  var firstOwnCheckpoint: UInt32 = 0
  /// This session gave up the former checkpoint for want of room; what only that needs may go.
  var hasGivenUpFormer = false

  /// The head that names the newest checkpoint is on disk.
  mutating func noteCheckpoints() {
    checkpoints = [writer.position.checkpoint, writer.position.formerCheckpoint]
    if checkpoints.allSatisfy(\.exists) { hasGivenUpFormer = false }
  }
}

extension Journal {
  /// The checkpoints that recovery may start from: those that a head on disk names, and those that the
  /// next head names.
  var neededCheckpoints: [CheckpointReference] {
    var needed = checkpoints
    for reference in [writer.position.checkpoint, writer.position.formerCheckpoint]
    where !needed.contains(reference) {
      needed.append(reference)
    }
    return needed
  }

  /// Checkpoint segments from this number on are being written; nil: none is.
  var underWay: UInt32? { ignoresCheckpointUnderWay ? nil : checkpointUnderWay }

  /// The oldest journal segment that some recovery reads; nil: all of them are needed. Without a former
  /// checkpoint the journal from its beginning is the second chance, unless that was given up.
  var oldestNeeded: UInt32? {
    let needed = neededCheckpoints
    if needed.contains(where: { !$0.exists }), !hasGivenUpFormer { return nil }
    return needed.filter(\.exists).map(\.firstJournal.rawValue).min()
  }

  /// True for a journal or checkpoint segment that recovery may need, now or once the checkpoint under
  /// way is named.
  func needs(_ id: SegmentID) -> Bool {
    if id.kind == .journal { return id.number.rawValue >= oldestNeeded ?? 0 }
    // One that recovery passed over may be of use to a repair.
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
