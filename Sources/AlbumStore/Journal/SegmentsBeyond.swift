import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// Segments in the store whose numbers were never given out, as far as the catalog knows. A crash can
/// leave some: segments are written before the frame that states them. Or the end of the journal is
/// missing; then what is in them must not be taken for garbage.
struct SegmentsBeyond: Equatable, Sendable {
  /// The greatest numbers that exist.
  private(set) var greatestData: UInt32?
  private(set) var greatestCheckpoint: UInt32?
  /// No crash leaves them so.
  private(set) var provesLostJournal = false

  /// How many numbers are looked at: more than a crash leaves, and than a session states ahead
  /// (`NumberGap.reserve(used:)`); fewer than are left out where the journal's end is lost (`lostEnd`).
  static let window: UInt32 = 2048
  /// A crash leaves what was written within 100 ms, and at most 5 s.
  private static let mostAfterCrash = 256

  /// `known` are segments that need not be looked for: where the store holds no others, no numbers
  /// are tried.
  init(
    _ counters: SpaceCounters, in listing: SegmentListing, files: SegmentFiles,
    known: [SegmentID] = []
  ) throws(StoreError) {
    var names = listing.names.subtracting(known.map(files.name))
    if names.isEmpty { return }
    let data = SegmentsBeyond.existing(.data, from: counters.nextDataSegment, &names, files)
    greatestData = data.last
    greatestCheckpoint =
      SegmentsBeyond.existing(.checkpoint, from: counters.nextCheckpointSegment, &names, files).last
    if data.count > SegmentsBeyond.mostAfterCrash {
      provesLostJournal = true
    } else if let last = data.last {
      let id = SegmentID(kind: .data, number: SegmentNumber(last))
      provesLostJournal = try SegmentsBeyond.wasFinishedHalfFull(id, files)
    }
  }

  /// Takes out of `names` those that are found, and looks no further when none is left.
  private static func existing(
    _ kind: SegmentKind, from first: UInt32, _ names: inout Set<SegmentName>, _ files: SegmentFiles
  ) -> [UInt32] {
    var found: [UInt32] = []
    var raw = first
    while raw < first + window && !names.isEmpty {
      let id = SegmentID(kind: kind, number: SegmentNumber(raw))
      if names.remove(files.name(id)) != nil { found.append(raw) }
      raw += 1
    }
    return found
  }

  /// A session that goes on finishes full segments only. One that is finished and not full was the
  /// last of a session that ended by an unmount, with frames that stated it.
  static func wasFinishedHalfFull(_ id: SegmentID, _ files: SegmentFiles)
    throws(StoreError) -> Bool
  {
    guard (try? files.isResting(files.path(id))) == true, let image = try files.contents(id) else {
      return false
    }
    var walk = SegmentWalk(image, name: files.name(id), cipher: files.keys.cipher)
    var end = 0
    while let record = walk.next() { end = record.end }
    let largest = RecordLayout.paddedByteCount(plaintext: RecordLayout.maximumPlaintext)
    return end > 0 && end + largest <= files.segmentSize
  }
}

extension Catalog {
  /// Data segments that hold something of this space.
  var knownSegments: [SegmentID] {
    segments.accounts.keys.map { SegmentID(kind: .data, number: $0) }
  }

  /// Goes on behind what exists. Where the end of the journal is missing, none of what it told of is
  /// given out again.
  mutating func stepOver(_ beyond: SegmentsBeyond) {
    var used = SpaceCounters()
    used.nextDataSegment = (beyond.greatestData ?? 0) + 1
    used.nextCheckpointSegment = (beyond.greatestCheckpoint ?? 0) + 1
    skipNumbers(before: used, leavingOut: beyond.provesLostJournal ? .lostEnd : .none)
  }
}
