import AlbumFormat
import AlbumModel
import AlbumStore

/// Content of data records that the catalog does not refer to. A check looks for it only if a part of the
/// journal is missing. Otherwise it is garbage of files that were changed or removed.
struct LooseContent {
  /// A record, and the ranges of its file for which it is the newest known.
  struct Piece {
    var loose: SegmentFindings.Loose
    var ranges: [Range<Int64>]
  }

  /// Newer content of a file that the catalog knows.
  struct Newer {
    /// The file that has the remaining content: the file itself, or the version of it that a mount left out.
    var base: InodeNumber
    var ranges: [Range<Int64>] = []
    /// Sorted by their sequence numbers.
    var pieces: [Piece] = []
  }

  private(set) var newer: [InodeNumber: Newer] = [:]
  /// Content of inodes that the catalog does not know, sorted by its sequence numbers.
  private(set) var unknown: [InodeNumber: [Piece]] = [:]

  var isEmpty: Bool { newer.isEmpty && unknown.isEmpty }

  /// `leftOut` maps a file that shows an earlier version to the version that a mount left out. No inode with
  /// a number up to `known` is lost, and none in `gone`. Content that was written after `loss` is not lost
  /// either.
  init(
    _ findings: [SegmentFindings], _ catalog: borrowing Catalog,
    leftOut: [InodeNumber: InodeNumber], known: UInt64,
    gone: Set<InodeNumber>, until loss: JournalLoss?
  ) {
    let sequences = Sequences(findings)
    // The newest sequence number of each file.
    var newest: [InodeNumber: UInt64?] = [:]
    for loose in findings.flatMap(\.loose).sorted(by: { $0.record.sequence < $1.record.sequence }) {
      let inode = loose.record.inode
      if let loss, loose.record.sequence >= loss.sequenceEnd { continue }
      let base = leftOut[inode] ?? inode
      if let index = catalog.index(of: base) {
        if newest[inode] == nil {
          newest[inode] = .some(
            sequences.newest(catalog.extents(of: index, from: 0, to: .max)))
        }
        let ranges = LooseContent.newerRanges(
          loose, index, catalog, sequences, newest: newest[inode] ?? nil)
        if ranges.isEmpty { continue }
        newer[inode, default: Newer(base: base)].ranges += ranges
        newer[inode]?.pieces.append(Piece(loose: loose, ranges: ranges))
      } else if inode.rawValue > known, inode.rawValue < loss?.inodeEnd ?? .max,
        !gone.contains(inode)
      {
        let record = loose.record
        let range = record.offset..<record.offset + Int64(record.length)
        unknown[inode, default: []].append(Piece(loose: loose, ranges: [range]))
      }
    }
    for inode in newer.keys { newer[inode]?.ranges.joinNeighbours() }
  }

  /// Returns the ranges in which the record is newer than the catalog's content, or in which that content
  /// cannot be read.
  private static func newerRanges(
    _ loose: SegmentFindings.Loose, _ index: InodeIndex, _ catalog: borrowing Catalog,
    _ sequences: Sequences, newest: UInt64?
  ) -> [Range<Int64>] {
    let record = loose.record
    guard catalog.state(index).kind == .regular else { return [] }
    var ranges: [Range<Int64>] = []
    var position = record.offset
    let end = record.offset + Int64(record.length)
    // A file without content was emptied, or the catalog knows of no write to it.
    let isNewInHoles =
      newest.map { $0 < record.sequence } ?? (catalog.state(index).contentVersion == 0)
    for extent in catalog.extents(of: index, from: position, to: end) {
      if isNewInHoles, extent.offset > position { ranges.append(position..<extent.offset) }
      // The lost part of the journal may have moved content that cannot be read here.
      if sequences.newest([extent]).map({ $0 < record.sequence }) ?? true {
        ranges.append(extent.offset..<extent.end)
      }
      position = extent.end
    }
    if isNewInHoles, position < end { ranges.append(position..<end) }
    return ranges
  }

  /// The sequence numbers of the records that extents refer to.
  private struct Sequences {
    private var bySegment: [SegmentNumber: [Int: UInt64]] = [:]

    init(_ findings: [SegmentFindings]) {
      for segment in findings { bySegment[segment.segment] = segment.sequences }
    }

    func newest(_ extents: [Extent]) -> UInt64? {
      var newest: UInt64?
      for extent in extents {
        let known = bySegment[extent.segment] ?? [:]
        for offset in RecordUse(inode: .root, extent: extent).offsets {
          if let sequence = known[offset] { newest = max(newest ?? 0, sequence) }
        }
      }
      return newest
    }
  }
}

extension [Range<Int64>] {
  /// Sorts ranges and joins those that touch or overlap.
  mutating func joinNeighbours() {
    var joined: [Range<Int64>] = []
    for range in sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
      if let last = joined.last, last.upperBound >= range.lowerBound {
        joined[joined.count - 1] =
          last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    self = joined
  }
}

/// A file put together from its records: each byte from the newest.
struct LostFile {
  let inode: InodeNumber
  let map: ExtentMap
  let size: Int64

  /// `pieces` are sorted by sequence number. `map` and `size` are what the catalog knows of the file.
  init(
    _ inode: InodeNumber, _ pieces: [LooseContent.Piece], over map: ExtentMap = ExtentMap(),
    size: Int64 = 0
  ) {
    self.inode = inode
    let layers = pieces.flatMap { piece in
      piece.ranges.map { piece.loose.extent.clipped(from: $0.lowerBound, to: $0.upperBound) }
    }
    self.map = ExtentMap(map, under: layers)
    // A moved record holds the length that its file had when the record was first written. The file may have
    // been cut shorter since. A recovered file that is too long is better than one that is too short.
    self.size = max(
      size, pieces.last?.loose.record.fileLength ?? 0, self.map.extents.last?.end ?? 0)
  }
}

extension SegmentFindings.Loose {
  fileprivate var extent: Extent {
    Extent(
      offset: record.offset, length: Int64(record.length), segment: segment,
      grid: UInt32(offset / RecordLayout.grid), skip: 0)
  }
}
