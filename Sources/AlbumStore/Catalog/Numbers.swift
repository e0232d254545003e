import AlbumFormat
package import AlbumModel

// Numbers of inodes, segments, checkpoints and write sequences are used once and never again, because they
// identify records. Frames state them ahead, so that a crash wastes some numbers but uses none twice; a
// session that ends states them exactly. If frames are lost or cut, their numbers may be unknown, and the
// space continues above all of them.

/// An amount of numbers of each kind.
struct NumberGap: Sendable {
  var inodes: UInt64
  var sequences: UInt64
  var dataSegments: UInt32
  var checkpointSegments: UInt32

  static let none = NumberGap(inodes: 0, sequences: 0, dataSegments: 0, checkpointSegments: 0)

  /// The numbers that frames reserve ahead, in a session that has used `used` numbers of data segments: as
  /// many again. So a killed session that wrote little wastes few. A session that writes much reserves more
  /// than it can use in 5 seconds.
  static func reserve(used: UInt32) -> NumberGap {
    NumberGap(
      inodes: 1 << 20, sequences: 1 << 24, dataSegments: min(max(used, 8), 1 << 10),
      checkpointSegments: 8)
  }

  /// For lost frames that may have used numbers.
  static let lostFrames = NumberGap(
    inodes: 1 << 20, sequences: 1 << 24, dataSegments: 1 << 10, checkpointSegments: 1 << 10)

  /// For a missing end of the journal. Segments are not included, because they can be counted.
  static let lostEnd = NumberGap(
    inodes: 1 << 20, sequences: 1 << 24, dataSegments: 0, checkpointSegments: 0)
}

extension SpaceCounters {
  /// The counters increased by a gap, within the limits.
  func ahead(by gap: NumberGap) -> SpaceCounters {
    var ahead = withinLimits
    ahead.nextInode += gap.inodes
    ahead.nextSequence += gap.sequences
    ahead.nextDataSegment += gap.dataSegments
    ahead.nextCheckpointSegment += gap.checkpointSegments
    return ahead.withinLimits
  }

  /// The greater value of each.
  func orLater(_ other: SpaceCounters) -> SpaceCounters {
    var later = self
    later.nextInode = max(nextInode, other.nextInode)
    later.nextSequence = max(nextSequence, other.nextSequence)
    later.nextDataSegment = max(nextDataSegment, other.nextDataSegment)
    later.nextCheckpointSegment = max(nextCheckpointSegment, other.nextCheckpointSegment)
    return later
  }
}

extension Catalog {
  /// The greatest inode number that was ever stated.
  package var greatestInode: UInt64 {
    var greatest: UInt64 = 0
    for raw in 0..<inodes.upperBound {
      if let index = inodes.occupant(raw) {
        greatest = max(greatest, inodes[index].state.number.rawValue)
      }
    }
    return greatest
  }

  /// The next inode's number. Skips one in use, whatever the counters say.
  package mutating func takeInodeNumber() -> InodeNumber {
    while inodes.find(InodeNumber(counters.nextInode)) != nil { counters.nextInode += 1 }
    defer { counters.nextInode += 1 }
    replenishReserve()
    return InodeNumber(counters.nextInode)
  }

  /// False if no data segment was ever made. A killed session may have wasted numbers, and counts too.
  var hasHadContent: Bool {
    let first = SpaceCounters().ahead(by: .reserve(used: 0))
    return !segments.accounts.isEmpty || counters.nextDataSegment > first.nextDataSegment
  }

  /// The next data segment's number.
  mutating func takeDataSegment() -> SegmentNumber {
    while segments.accounts[SegmentNumber(counters.nextDataSegment)] != nil {
      counters.nextDataSegment += 1
    }
    if firstDataSegment == nil { firstDataSegment = counters.nextDataSegment }
    defer { counters.nextDataSegment += 1 }
    replenishReserve()
    return SegmentNumber(counters.nextDataSegment)
  }

  mutating func takeCheckpointSegment() -> SegmentNumber {
    defer { counters.nextCheckpointSegment += 1 }
    replenishReserve()
    return SegmentNumber(counters.nextCheckpointSegment)
  }

  /// Takes `count` consecutive write sequence numbers; returns the first.
  mutating func takeSequence(count: UInt64) -> UInt64 {
    defer { counters.nextSequence += count }
    replenishReserve()
    return counters.nextSequence
  }

  /// Counters above the numbers of all inodes and data segments in the catalog. Visits every inode.
  var numbersInUse: SpaceCounters {
    var used = SpaceCounters()
    used.nextInode = greatestInode + 1
    used.nextDataSegment = (segments.accounts.keys.max()?.rawValue ?? 0) + 1
    return used
  }

  /// Continues above the numbers before `used`, and skips `gap` more. Returns true if that changed anything;
  /// a frame must then state it.
  @discardableResult
  mutating func skipNumbers(before used: SpaceCounters, leavingOut gap: NumberGap = .none) -> Bool {
    let next = counters.orLater(used).ahead(by: gap)
    if next == counters { return false }
    counters = next
    if !isReplaying { changes.counters = true }
    return true
  }

  /// The numbers that the next frame reserves ahead.
  private var reserveGap: NumberGap {
    let first = firstDataSegment ?? counters.nextDataSegment
    return .reserve(used: counters.nextDataSegment - min(first, counters.nextDataSegment))
  }

  /// Reserves more when half of the reserved numbers are used.
  mutating func replenishReserve() {
    if isReplaying { return }
    let gap = reserveGap
    if counters.nextInode + gap.inodes / 2 > reserved.nextInode
      || counters.nextSequence + gap.sequences / 2 > reserved.nextSequence
      || counters.nextDataSegment + gap.dataSegments / 2 > reserved.nextDataSegment
      || counters.nextCheckpointSegment >= reserved.nextCheckpointSegment
    {
      changes.counters = true
    }
  }

  /// Makes the last frame of a session state the exact counters, so that the next session wastes no numbers.
  mutating func releaseReserve() {
    if reserved == counters { return }
    changes.counters = true
    isClosing = true
  }

  mutating func encodeCounters(into writer: inout ByteWriter) {
    if !changes.counters { return }
    reserved = counters.ahead(by: isClosing ? .none : reserveGap)
    JournalItem.counters(reserved).encode(into: &writer)
  }
}
