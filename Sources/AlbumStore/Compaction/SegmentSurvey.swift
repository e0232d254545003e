import AlbumFormat
import AlbumModel
import Posix

/// How much of each data segment is in use: the bytes of the records, on the grid, that content of
/// files lies in. What several extents share counts once, and a record of which only a part is
/// referred to counts with that part: this is what the content would take if it were moved.
///
/// `SegmentLedger.live` counts a shared stretch once for each extent that points to it. So it is
/// exact where it is zero, which is when a segment is retired, but says too much of a segment with
/// shared content; how much of one is garbage is therefore measured here, by looking at all extents.
struct SegmentSurvey {
  private(set) var living: [SegmentNumber: Int64] = [:]
  /// Segments with content of files that a mount left out (`InodeState.Marks.leftOut`): not touched until
  /// a repair has brought those back.
  let kept: Set<SegmentNumber>

  var total: Int64 { living.values.reduce(0, +) }

  /// A range of bytes of a segment that some extent needs.
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
