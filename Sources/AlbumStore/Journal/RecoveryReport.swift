/// What a mount found in the journal.
package struct RecoveryReport: Equatable, Sendable {
  /// Frames behind the last proven barrier that were believed.
  package var believedFrames = 0
  /// Frames at the end that were not believed: they lie within 5 seconds of the crash.
  package var cutFrames = 0
  /// Frames before the last proven barrier that are missing or do not open: damage. What they stated
  /// is lost; files show a former state, an error, or are not there.
  package var damagedFrames = 0
  /// Whether the checkpoint was damaged and the one before it used.
  package var usedFormerCheckpoint = false
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
  /// Whether the last session ended by an unmount.
  package var wasClean = true
  package init() {}

  package var isDamaged: Bool {
    isJournalIncomplete || lostEntries > 0 || lostContents > 0 || orphans > 0
      || usedFormerCheckpoint
  }

  /// Frames are missing: there may be content in the store that the catalog does not know.
  package var isJournalIncomplete: Bool { damagedFrames > 0 || isCutShort || isEndMissing }
}
