package import AlbumFormat
package import AlbumModel

/// What a mount found in the journal.
package struct RecoveryReport: Equatable, Sendable {
  /// Frames behind the last proven barrier that were believed.
  package var believedFrames = 0
  /// Frames at the end that were not believed: they lie within 5 seconds of the crash.
  package var cutFrames = 0
  /// Frames before the last proven barrier that are missing or do not open: damage. What they stated
  /// is lost; files show a former state, an error, or are not there.
  package var damagedFrames = 0
  /// Those of them that are missing at the end of a journal segment that another has followed, or with the
  /// segment: a copy that was made while the store was written may lack them.
  package var absentFrames = 0
  /// Whether the session that wrote last had ended by an unmount, all of its journal being there.
  package internal(set) var hasSessionEnded = false
  /// Whether the checkpoint was damaged and the one before it used.
  package var usedFormerCheckpoint = false
  /// Whether a part of that checkpoint is not there, or was copied before it was finished.
  package internal(set) var lacksCheckpoint = false
  /// Names that led to a file which damage took.
  package var lostEntries = 0
  /// Files of which some content is not known any more: reading it is an error.
  package var lostContents = 0
  /// Files and directories whose name is lost; `check --repair` gives them one.
  package var orphans = 0
  /// The newest journal segment is shorter than it was, or zeros are where none can be: frames at
  /// its end may be missing, nobody can tell how many.
  package var isCutShort = false
  /// Journal segments behind the newest one that can be read, in which nothing opens: begun just
  /// before a crash, or destroyed.
  package var unreadableJournals = 0
  /// Whether the end of the journal is missing: segments are there that were begun behind it.
  package var isEndMissing = false
  /// Whether it may be missing: the newest journal segment was full, and none that follows it is there,
  /// but segments are that were begun behind it. A copy may have been made when the next one was begun.
  package var lacksEnd = false
  /// Whether the last session ended by an unmount.
  package var wasClean = true
  /// Files that are not shown as they were last, since content of them is not in the store.
  package var incompleteFiles: [IncompleteFile] = []
  /// Thumbnails that are made again, since content of them is not in the store.
  package internal(set) var remadeThumbnails: [RemadeThumbnail] = []
  /// Files of which the changes of the last seconds before a power cut are left out.
  package internal(set) var cutFiles: [String] = []
  /// Whether there are such files, or may be: then the next mount that writes states what it shows.
  package internal(set) var isIncomplete = false
  /// Journal segments in the store that belong to another copy of it, which was written to.
  package internal(set) var foreignJournals: [SegmentName] = []
  /// Data segments that no session made of which the journal tells.
  package internal(set) var unknownSegments: [SegmentName] = []
  /// Files without a name that hold what this mount, or one before, left out.
  package internal(set) var leftOutFiles = 0
  /// Where they were, from the space's root, as far as that is known, and whether for damage.
  package internal(set) var leftOutPaths: [String: Bool] = [:]

  /// What an earlier mount for writing found missing of the journal, and no repair has settled.
  package internal(set) var loss: JournalLoss?
  /// The first inode number that only the part of the journal can have given out that this mount was the
  /// first to find missing; nil: it found nothing new.
  package internal(set) var firstLostInode: UInt64?

  /// Whether segments of a copy that lived on for itself are in the store.
  package var isMixed: Bool { !foreignJournals.isEmpty }
  package init() {}

  /// Whether all that is missing of the journal, if anything is, may not have been written yet when the
  /// store was copied.
  package var mayLackJournalAsCopy: Bool {
    damagedFrames == absentFrames && !hasSessionEnded && !isCutShort
      && !isEndMissing && unreadableJournals == 0 && (!usedFormerCheckpoint || lacksCheckpoint)
  }

  /// The same of what an earlier mount found missing, too.
  package var isJournalLackedAsCopy: Bool {
    (loss?.isEndOfCopy ?? true) && (mayLackJournalAsCopy || !isJournalIncomplete && loss != nil)
  }

  package var isDamaged: Bool {
    if let loss, !loss.isEndOfCopy { return true }
    if mayLackJournalAsCopy {
      return isMixed || incompleteFiles.contains { !$0.isEndOfCopy }
    }
    return isJournalIncomplete || lostEntries > 0 || lostContents > 0 || orphans > 0
      || usedFormerCheckpoint || isMixed || incompleteFiles.contains { !$0.isEndOfCopy }
  }

  /// Whether what looks like garbage may be what missing frames told of: nothing of it is removed until a
  /// repair has brought it back.
  package var keepsLooseContent: Bool { isJournalIncomplete || loss != nil }

  /// The same where another copy of the store, which was written to, is mixed with this one.
  var keepsEverything: Bool { keepsLooseContent || isMixed }

  /// Frames are missing: there may be content in the store that the catalog does not know.
  package var isJournalIncomplete: Bool {
    damagedFrames > 0 || isCutShort || isEndMissing || lacksEnd
  }
}
