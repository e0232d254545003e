import AlbumFormat
import AlbumModel
package import Posix

/// Who watches a space; nil: nobody.
package struct SpaceTrace: Sendable {
  /// Frames, barriers, checkpoints and rescues.
  package var journal: EventTracer?
  /// Segments that begin, are retired or removed, and the turns and moves of compaction.
  package var compaction: EventTracer?

  package init() {}
}

extension SegmentID {
  /// For a trace.
  var words: String { "kind=\(kind) number=\(number.rawValue)" }
}
