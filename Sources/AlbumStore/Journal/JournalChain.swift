import AlbumFormat
import AlbumModel

/// A journal segment of history, and which of its frames count.
struct JournalLink: Sendable {
  var number: SegmentNumber
  /// The frame behind which it is dead; nil for the newest segment, and if the cut is unknown.
  var cut: FrameNumber?
  /// Set if `cut` is unknown: frames after this one do not count, and nothing shows which earlier ones should
  /// be here.
  var limit: FrameNumber?
}

// The one way from a journal segment to those before it: a mount, a copy that falls back, a salvage and a
// check all take it. Each segment is read once, however often it is looked at (`JournalTimelines.scan`).
// `JournalTimelines` has decided before, by a walk of its own, which segments are of this timeline.

extension JournalTimelines {
  /// The segments whose frames are history up to the end of `newest`, the oldest first. Goes down to `first`,
  /// as far as there are segments; those that a head names and that are not there are in it, too.
  ///
  /// - A head says which segment is before it, and where that ends.
  /// - Where the heads of a segment are lost, the one before it is the next that there is. It ends where the
  ///   nearest head that is known says so, else before the first frame of the segment behind it.
  /// - The chain ends where a head that is known does not name the next one that there is, and the store
  ///   holds segments of another copy: the next one may be that copy's.
  ///
  /// `believesCuts`: see `Precaution.statedCut`.
  mutating func chain(
    from newest: SegmentNumber, to first: SegmentNumber = SegmentNumber(1),
    believesCuts: Bool = true
  ) throws(StoreError) -> [JournalLink] {
    var links = [JournalLink(number: newest)]
    var known: JournalHead?
    while let link = links.last, link.number > first {
      let scan = try scan(link.number)
      known = scan.head ?? known
      if let head = scan.head {
        if head.predecessor.rawValue == 0 { break }
        let cut =
          believesCuts
          ? head.cutFrame : try self.scan(head.predecessor).frames.last?.frame.number
        links.append(JournalLink(number: head.predecessor, cut: cut))
      } else if let former = all.last(where: { $0.number < link.number })?.number {
        let stated = known?.cut(of: former)
        if known != nil, stated == nil, holdsOtherCopies { break }
        let cut = stated ?? scan.frames.first.map(\.frame.number.former)
        links.append(JournalLink(number: former, cut: cut, limit: link.cut ?? link.limit))
      } else {
        break
      }
    }
    return links.reversed()
  }

  /// The checkpoints that the heads of these segments name, the newest first.
  mutating func checkpoints(of chain: [JournalLink]) throws(StoreError) -> [CheckpointReference] {
    var references: [CheckpointReference] = []
    for link in chain.reversed() {
      guard let head = try scan(link.number).head else { continue }
      for reference in [head.checkpoint, head.formerCheckpoint]
      where reference.exists && !references.contains(reference) {
        references.append(reference)
      }
    }
    return references
  }

  /// The frame behind which these segments begin; nil where no frame is left of them.
  mutating func beginning(of chain: [JournalLink]) throws(StoreError) -> FrameNumber? {
    for link in chain {
      if let first = try scan(link.number).frames.first { return first.frame.number.former }
    }
    return nil
  }

  /// The latest time that these segments state.
  mutating func newestTime(of chain: [JournalLink]) throws(StoreError) -> StoreTime {
    var newest = StoreTime.none
    for link in chain {
      let scan = try scan(link.number)
      newest = max(newest, scan.head?.time ?? .none, scan.frames.map(\.frame.time).max() ?? .none)
    }
    return newest
  }
}

extension FrameNumber {
  fileprivate var former: FrameNumber { FrameNumber(max(1, rawValue) - 1) }
}

// The one way along the frames of a segment.

extension JournalScan {
  /// Returns the number of missing frames behind `lower` and up to `upper`.
  func missingFrames(behind lower: FrameNumber, upTo upper: FrameNumber) -> Int {
    if upper <= lower { return 0 }
    let found = Set(frames.map(\.frame.number)).filter { $0 > lower && $0 <= upper }
    return Int(clamping: upper.rawValue - lower.rawValue) - found.count
  }

  /// True if a frame of this segment is missing: between existing ones, or up to `end`, the last frame before
  /// the next segment.
  func lacksFrames(upTo end: FrameNumber) -> Bool {
    let numbers = frames.map(\.frame.number)
    guard let lower = head?.cutFrame ?? numbers.min()?.former else { return false }
    return missingFrames(behind: lower, upTo: max(end, numbers.max() ?? end)) > 0
  }

  /// Calls `body` with what frames state up to one, together where they count only together.
  func forEachStatement(upTo last: FrameNumber, _ body: (_ items: [UInt8], StoreTime) -> Void) {
    var items: [UInt8] = []
    for frame in frames.map(\.frame) where frame.number <= last {
      items = frame.isContinuation ? items + frame.items : frame.items
      if !frame.continues { body(items, frame.time) }
    }
  }
}
