/// A step that the promises of a space rest on. Exists for the crash harness alone, which leaves one
/// out at a time to show that it would notice; nothing else ever does.
package enum Precaution: Sendable, Hashable, CaseIterable {
  /// A barrier takes the number of the last frame before it syncs what frames refer to.
  case barrierNumberFirst
  /// Behind the last proven barrier only frames are believed that follow one another.
  case chainedFrames
  /// What lies behind a cut that the head of a journal segment states is dead.
  case statedCut
  /// What recovery believes is synced before a head states the cut behind it.
  case syncBeforeCut
  /// That a segment is retired is on disk before its file goes.
  case retiredBeforeUnlinked
  /// What is unlinked is proven unneeded at that moment, the checkpoint under way included.
  case provenAtUnlink
  /// A move is applied only to content that is still where it was moved from.
  case comparedMove
  /// A file whose newest content is missing falls back alone.
  case fallbackPerFile
  /// Which files lack content is asked of all frames of the last 15 minutes, not only of those behind the
  /// checkpoint.
  case wholeGrace
  /// What a file that is left out has replaced comes back.
  case replacedComesBack
  /// What a mount leaves out is kept.
  case keptVersions
  /// What was not written yet is told from what is damaged.
  case recognisedTails
  /// Journal segments of another copy of the store are told from the timeline's own.
  case toldTimelines
  /// That a part of the journal was missing is stated until a repair.
  case statedLoss
}
