package import AlbumFormat
package import AlbumModel

/// The evidence on whether the end of a space's journal is missing.
package enum JournalEndEvidence: Equatable, Sendable {
  /// Nothing shows that frames are missing behind the last one.
  case complete
  /// The newest journal segment was full, and its successor is missing. A copy may have been made just when
  /// the successor was begun.
  case noSuccessor
  /// A segment with content is missing, and the end of the last session with it. Compaction may have moved
  /// that content in frames that are not here either.
  case contentMayHaveMoved
  /// Segments exist that were begun after the last frame. This is damage.
  case missing
}

/// The checkpoint that recovery began with.
package enum CheckpointUse: Equatable, Sendable {
  case newest
  /// An earlier one, because the newest is damaged. It is unfinished if a segment of it is missing, or was
  /// copied before the session had written all of it.
  case former(isUnfinished: Bool)
}

/// The state in which a mount or a check found the space.
package struct RecoveryReport: Equatable, Sendable {
  /// The number of believed frames after the last proven barrier.
  var believedFrames = 0
  /// The number of frames at the end that were not believed. They lie within 5 seconds of the crash.
  var cutFrames = 0
  /// The number of frames before the last proven barrier that are missing or do not decrypt. This is damage:
  /// files that they describe show an earlier state or an error, or are missing.
  package var damagedFrames = 0
  /// The number of these that a copy made while the store was written to may lack: they are missing together
  /// with their journal segment, or at the end of one that another follows.
  var absentFrames = 0
  /// True if the session that wrote last ended with an unmount and its journal is complete.
  var hasSessionEnded = false
  /// The checkpoint that recovery began with.
  package internal(set) var checkpoint = CheckpointUse.newest
  /// The number of names whose file damage took.
  package var lostEntries = 0
  /// The number of files with content whose place is lost. Reading it is an error.
  package var lostContents = 0
  /// The number of files and directories whose name is lost. A repair gives them one.
  package var orphans = 0
  /// True if the newest journal segment is shorter than it was, or holds zeros that no write left. An unknown
  /// number of frames at its end may be missing.
  package var isCutShort = false
  /// The number of journal segments after the newest readable one. They were begun just before a crash, or
  /// destroyed.
  var unreadableJournals = 0
  /// The evidence on whether the end of the journal is missing.
  package internal(set) var end = JournalEndEvidence.complete
  /// True if history ends with an unmount.
  package var wasClean = true
  /// Files whose newest version is not whole, because content of it is missing from the store.
  package var incompleteFiles: [IncompleteFile] = []
  /// Thumbnails that albumfs makes again, because content of them is missing from the store.
  package internal(set) var remadeThumbnails: [RemadeThumbnail] = []
  /// The paths of files whose changes in the last seconds before a power cut are left out.
  package internal(set) var cutFiles: [String] = []
  /// When the first of these changes was recorded.
  package internal(set) var cutSince = StoreTime.none
  /// True if there may be incomplete files. The next mount that writes then records the versions that it
  /// shows.
  package internal(set) var isIncomplete = false
  /// Journal segments in the store that belong to another copy of it, which was written to.
  package internal(set) var foreignJournals: [SegmentName] = []
  /// Journal segments of which a later session left out frames, although they and their content are here.
  /// Another copy of the store wrote them, or a power cut took them from the store that this is a copy of.
  package internal(set) var divergedJournals: [SegmentName] = []
  /// The paths of files whose changes in these segments are left out, and when the first was recorded.
  package internal(set) var otherFiles: [String] = []
  package internal(set) var otherSince = StoreTime.none
  /// Segments of the space that the journal does not name.
  package internal(set) var unknownSegments: [SegmentName] = []
  /// The number of files without a name that hold the versions which this mount or an earlier one left out.
  package internal(set) var leftOutFiles = 0
  /// Their known paths from the space's root, and what the mount noted of them.
  package internal(set) var leftOutPaths: [String: LeftOutNote] = [:]

  /// The part of the journal that an earlier writable mount found missing, unless a repair has cleared that.
  package internal(set) var loss: JournalLoss?
  /// The first inode number that the part of the journal may have assigned which this mount was the first to
  /// find missing; nil if this mount found nothing new missing.
  package internal(set) var firstLostInode: UInt64?

  /// True if the store holds segments of another copy of it, which was written to.
  package var isMixed: Bool { !foreignJournals.isEmpty }

  /// True also if it possibly does.
  package var mayBeMixed: Bool { isMixed || !divergedJournals.isEmpty }

  package init() {}

  /// Notes one version that a mount left out, of which a path may have several.
  mutating func noteLeftOut(_ note: LeftOutNote) {
    var all = leftOutPaths[note.path] ?? note
    all.isDamage = all.isDamage || note.isDamage
    all.since = min(all.since, note.since)
    leftOutPaths[note.path] = all
  }

  /// True if every missing part of the journal may not have been written yet when the store was copied.
  package var mayLackJournalAsCopy: Bool {
    damagedFrames == absentFrames && !hasSessionEnded && !isCutShort
      && end != .missing && unreadableJournals == 0 && checkpoint != .former(isUnfinished: false)
  }

  /// The same, including the part that an earlier mount found missing.
  package var isJournalLackedAsCopy: Bool {
    (loss?.isEndOfCopy ?? true) && (mayLackJournalAsCopy || !isJournalIncomplete && loss != nil)
  }

  package var isDamaged: Bool {
    if let loss, !loss.isEndOfCopy { return true }
    if mayLackJournalAsCopy {
      return isMixed || incompleteFiles.contains { !$0.isEndOfCopy }
    }
    return isJournalIncomplete || lostEntries > 0 || lostContents > 0 || orphans > 0
      || checkpoint != .newest || isMixed || incompleteFiles.contains { !$0.isEndOfCopy }
  }

  /// True if anything was missing that a session had written, or if it may have been.
  var lacksSomething: Bool {
    isDamaged || isJournalIncomplete || isIncomplete || mayBeMixed || unreadableJournals > 0
      || cutFrames > 0 || checkpoint != .newest || !incompleteFiles.isEmpty
  }

  /// True if apparent garbage may be content that missing frames recorded. albumfs removes none of it until a
  /// repair has restored what it can.
  package var keepsLooseContent: Bool { isJournalIncomplete || loss != nil }

  /// True also if the store may be mixed with another copy of it, which was written to.
  var keepsEverything: Bool { keepsLooseContent || mayBeMixed }

  /// True if frames are missing, so that the store may hold content that the catalog does not know.
  package var isJournalIncomplete: Bool {
    damagedFrames > 0 || isCutShort || end != .complete
  }
}
