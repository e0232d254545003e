import AlbumFormat
import AlbumModel
import Posix

/// How much of each data segment is in use: the bytes of the records, on the grid, that hold content of
/// files. Content that several extents share counts once, and a record counts only with the part that is
/// referred to. So this is the room that the content would need after a move.
///
/// `SegmentLedger.live` counts shared content once for each extent. So it is exact at zero, when a segment
/// is retired, but too high for a segment with shared content. The survey visits all extents to measure the
/// garbage.
struct SegmentSurvey {
  private(set) var living: [SegmentNumber: Int64] = [:]
  /// Segments with content of files that a mount left out (`InodeState.Marks.leftOut`): untouched until a
  /// repair has restored those files.
  let kept: Set<SegmentNumber>

  var total: Int64 { living.values.reduce(0, +) }

  /// A range of bytes of a segment that an extent needs.
  struct Stretch {
    var segment: UInt32
    var start: UInt32
    var end: UInt32
  }

  init(_ unordered: [Stretch], kept: Set<SegmentNumber> = []) {
    self.kept = kept
    let stretches = unordered.sorted { ($0.segment, $0.start) < ($1.segment, $1.start) }
    var segment = SegmentNumber(0)
    var covered: UInt32 = 0
    for stretch in stretches {
      if stretch.segment != segment.rawValue {
        segment = SegmentNumber(stretch.segment)
        covered = 0
      }
      let start = max(stretch.start, covered)
      if stretch.end <= start { continue }
      living[segment, default: 0] += Int64(stretch.end - start)
      covered = stretch.end
    }
  }
}
