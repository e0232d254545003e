/// A step that the promises of a space depend on. It exists for the crash harness alone, which leaves out
/// one step at a time to show that its tests notice. No other code does that.
package enum Precaution: Sendable, Hashable, CaseIterable {
  /// A barrier takes the number of the last frame before it syncs the data that frames refer to.
  case barrierNumberFirst
  /// After the last proven barrier only frames count that follow one another.
  case chainedFrames
  /// Data after a cut in the head of a journal segment never counts.
  case statedCut
  /// Recovery syncs the believed data before a head states the cut after it.
  case syncBeforeCut
  /// The retirement of a segment is on disk before its file is unlinked.
  case retiredBeforeUnlinked
  /// A segment is proven unneeded when it is unlinked, the checkpoint being written included.
  case provenAtUnlink
  /// A move applies only to content that is still at its old place.
  case comparedMove
  /// A file whose newest content is missing falls back alone.
  case fallbackPerFile
  /// Recovery checks the content of all frames of the last 15 minutes, not only of those after the
  /// checkpoint.
  case wholeGrace
  /// The content that a left-out file had replaced comes back.
  case replacedComesBack
  /// Versions that a mount leaves out are kept.
  case keptVersions
  /// Unwritten cells are distinguished from damaged ones.
  case recognisedTails
  /// Journal segments of another copy of the store are distinguished from those of the own timeline.
  case recognisedTimelines
  /// A missing part of the journal is recorded until a repair.
  case statedLoss
  /// After a killed process, in the same start of the machine, history is not cut as after a power cut.
  case recognisedStarts
  /// A newest journal segment that is full and lacks its successor shows that the end may be missing.
  case recognisedFullJournal
  /// A session looks for the fence of a later one before a barrier counts and before it unlinks anything.
  case fence
  /// Data is sent before the journal that refers to it.
  case dataSentFirst
  /// The head of a session's journal is sent before any data of that session.
  case announcedThere
  /// A segment is removed only when its retirement was sent for good.
  case retiredThere
}
