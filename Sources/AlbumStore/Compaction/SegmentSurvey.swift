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

extension Space {
  /// Looks at all extents. What changes meanwhile may be seen or not.
  func survey() -> SegmentSurvey {
    var stretches: [SegmentSurvey.Stretch] = []
    var kept: Set<SegmentNumber> = []
    forEachExtent { state, extent in
      if state.marks.contains(.leftOut) { kept.insert(extent.segment) }
      let bytes = extent.occupied
      stretches.append(
        SegmentSurvey.Stretch(
          segment: extent.segment.rawValue, start: UInt32(clamping: bytes.lowerBound),
          end: UInt32(clamping: bytes.upperBound)))
    }
    return SegmentSurvey(stretches, kept: kept)
  }

  /// Calls `body` under the catalog's lock with all extents of all files, a slice at a time.
  func forEachExtent(_ body: (InodeState, Extent) -> Void) {
    var cursor = InodeCursor()
    while !cursor.isAtEnd {
      catalog.withLock { catalog in
        catalog.walk(&cursor, count: 2 * Catalog.extentsPerSlice) { slice in
          let state = catalog.state(slice.index)
          for extent in slice.extents { body(state, extent) }
        }
      }
    }
  }

  /// Lets go of all content that files do not have any more, a slice at a time.
  func letGoOfDetached() {
    while catalog.withLock({ $0.letGoOfDetached(limit: 2 * Catalog.extentsPerSlice) }) {}
  }
}
