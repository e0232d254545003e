import AlbumFormat
import AlbumModel

// A frame records the new state of everything that changed since the last frame. It reads that state from the
// catalog when it is made. So a frame is a consistent instant, many operations on one thing cost one item,
// and no operation builds items.

/// The changes that the next frame must record.
struct PendingChanges {
  /// Touched places. A place whose inode is gone, or that was added twice, counts at most once, because the
  /// record itself contains what to state.
  var inodes: [InodeIndex] = []
  /// Removed inodes.
  var gone: [InodeNumber] = []
  /// Names whose inode changed; may contain one twice.
  var entries: [EntryPlace] = []
  /// Inodes whose former place changed; may contain one twice.
  var formers: [InodeNumber] = []
  /// Points that came or went.
  var points: [PointStatement] = []
  /// Past names that came, went or changed.
  var pastNames: [PastNameKey] = []
  /// Replay dropped the past up to this number. That waits for a frame with other content.
  var forgottenPast: InodeNumber?
  /// Stretches of content whose extents changed.
  var extents: [InodeIndex: ChangedRanges] = [:]
  /// The number of placed extents and emptied stretches. A frame holds at most a few times as many.
  var extentCount = 0
  var segments: Set<SegmentNumber> = []
  var properties: Set<SpaceProperty> = []
  /// These wait for a frame with other content.
  var waitingProperties: Set<SpaceProperty> = []
  /// These wait for a frame with other content, unless `statesSessions`.
  var sessions: Set<SegmentBirth> = []
  var statesSessions = false
  var counters = false
  var loss = false

  /// How many things other than extents the frame states, about.
  var recordCount: Int {
    inodes.count + gone.count + entries.count + formers.count + pastNames.count
  }

  var isEmpty: Bool {
    inodes.isEmpty && gone.isEmpty && entries.isEmpty && formers.isEmpty && points.isEmpty
      && pastNames.isEmpty && segments.isEmpty
      && properties.isEmpty && !counters && !loss && !(statesSessions && !sessions.isEmpty)
  }
}

/// Disjoint ranges of offsets. Recent insertions are merged when they are as many as the rest: so n
/// insertions take O(n log n) steps, and there are at most twice as many ranges as needed.
struct ChangedRanges {
  /// In order; no two touch.
  private var ordered: [Range<Int64>] = []
  private var recent: [Range<Int64>] = []

  /// All ranges in order; no two touch.
  var ranges: [Range<Int64>] {
    var all = self
    all.order()
    return all.ordered
  }

  mutating func insert(_ new: Range<Int64>) {
    // A sequential writer needs one range.
    if let last = recent.last, last.lowerBound <= new.upperBound,
      new.lowerBound <= last.upperBound
    {
      recent[recent.count - 1] =
        min(last.lowerBound, new.lowerBound)..<max(last.upperBound, new.upperBound)
      return
    }
    recent.append(new)
    if recent.count > max(64, ordered.count) { order() }
  }

  private mutating func order() {
    recent.sort { $0.lowerBound < $1.lowerBound }
    var merged: [Range<Int64>] = []
    merged.reserveCapacity(ordered.count + recent.count)
    var (old, new) = (ordered[...], recent[...])
    while true {
      let takesOld = old.first.map { $0.lowerBound <= new.first?.lowerBound ?? .max } ?? false
      guard let next = takesOld ? old.popFirst() : new.popFirst() else { break }
      if let last = merged.last, next.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
      } else {
        merged.append(next)
      }
    }
    (ordered, recent) = (merged, [])
  }
}

extension Catalog {
  /// True if the next frame has something to state.
  var hasChanges: Bool { !changes.isEmpty }

  /// True if the next frame has so many extents, or so much else, that the caller that changes content should
  /// append it now (`Space.commitIfCrowded`), without waiting for the keeper.
  var isCrowded: Bool {
    changes.extentCount >= 4 * Catalog.extentsPerSlice
      || changes.recordCount >= Catalog.recordsPerFrame
  }

  /// A frame with so many other things is crowded.
  private static let recordsPerFrame = 4096

  mutating func markDirty(_ index: InodeIndex, _ what: InodeRecord.Dirty) {
    if isReplaying { return }
    if inodes[index].dirty.isEmpty { changes.inodes.append(index) }
    inodes[index].dirty.insert(what)
  }

  mutating func enqueueEntry(_ name: FileName, in directory: InodeIndex) {
    if isReplaying { return }
    changes.entries.append(EntryPlace(directory: inodes[directory].state.number, name: name))
  }

  mutating func enqueueExtents(_ index: InodeIndex, _ from: Int64, _ to: Int64, count: Int) {
    if isReplaying { return }
    markDirty(index, .extents)
    changes.extentCount += 1 + count
    changes.extents[index, default: ChangedRanges()].insert(from..<to)
  }

  /// Segments that the next frame will state as retired.
  var newlyRetired: [SegmentNumber] {
    changes.segments.filter { segments.accounts[$0]?.state == .retired }
  }

  /// True if the next frame states something about a segment.
  func hasChanged(_ segment: SegmentNumber) -> Bool { changes.segments.contains(segment) }

  /// Takes and encodes the changes. A frame is one instant, so this cannot be sliced: it touches as many
  /// extents as have changed since the last frame, not as many as the files have.
  mutating func takeChanges() -> [UInt8] {
    extents.steps.permit(16 * (changes.extentCount + wholeExtentCount) + changes.recordCount)
    extents.steps.count(changes.recordCount)
    var writer = ByteWriter()
    encodeCounters(into: &writer)
    for segment in changes.segments { encode(segment, into: &writer) }
    for property in changes.properties.union(changes.waitingProperties) {
      JournalItem.property(property, properties[property] ?? 0).encode(into: &writer)
    }
    for session in changes.sessions {
      JournalItem.session(session, sessions[session] ?? .gone).encode(into: &writer)
    }
    if changes.loss { JournalItem.loss(loss).encode(into: &writer) }
    for index in changes.inodes { encodeChanges(of: index, into: &writer) }
    for change in changes.entries {
      guard let directory = inodes.find(change.directory) else { continue }
      let child = child(change.name, of: directory).map { inodes[$0].state.number }
      JournalItem.entry(directory: change.directory, name: change.name, inode: child)
        .encode(into: &writer)
    }
    for number in changes.formers { encodeFormer(of: number, into: &writer) }
    if let last = changes.forgottenPast {
      JournalItem.point(.allGone(upTo: last)).encode(into: &writer)
    }
    for statement in changes.points { JournalItem.point(statement).encode(into: &writer) }
    for key in changes.pastNames { encodePastName(key, into: &writer) }
    for number in changes.gone { JournalItem.inodeGone(number).encode(into: &writer) }
    changes = PendingChanges()
    return writer.bytes
  }

  /// The number of extents of the files that `statedRanges` states as a whole.
  private var wholeExtentCount: Int {
    if loss == nil { return 0 }
    return changes.extents.keys.reduce(0) { count, index in
      guard inodes.occupant(index.rawValue) != nil,
        !statedBehindLoss.contains(inodes[index].state.number)
      else { return count }
      return count + extentCount(of: index)
    }
  }

  func encode(_ segment: SegmentNumber, into writer: inout ByteWriter) {
    let account = segments.accounts[segment]
    JournalItem.segment(
      .data, segment, account?.birth ?? .none, account?.state ?? .removed,
      retiredAt: account?.retiredAt ?? .none
    ).encode(into: &writer)
  }

  private mutating func encodeChanges(of index: InodeIndex, into writer: inout ByteWriter) {
    guard inodes.occupant(index.rawValue) != nil else { return }
    let record = inodes[index]
    if record.dirty.isEmpty { return }
    inodes[index].dirty = []
    let number = record.state.number
    if record.dirty.contains(.extents), changes.extents[index] != nil {
      inodes[index].state.contentStatements = NumberLimits.following(
        record.state.contentStatements)
    }
    // Before its extents: the count of statements shows whether they are older than the known ones.
    JournalItem.inode(inodes[index].state).encode(into: &writer)
    if record.dirty.contains(.extents), let changed = changes.extents[index] {
      for range in statedRanges(changed, of: number) {
        let list = extents(of: index, from: range.lowerBound, to: range.upperBound)
        JournalItem.extents(number, from: range.lowerBound, to: range.upperBound, list)
          .encode(into: &writer)
      }
    }
    if record.dirty.contains(.symlink) {
      JournalItem.symlink(number, target: symlinkTarget(index)).encode(into: &writer)
    }
    if record.dirty.contains(.attributes) {
      for name in extras[index]?.changedAttributes ?? [] {
        JournalItem.attribute(number, name: name, value: attribute(name, of: index))
          .encode(into: &writer)
      }
      extras[index]?.changedAttributes = []
    }
  }

  /// The stretches of a file's content that the next frame states. While a part of the journal is missing,
  /// the first statement of each file in a session is whole. If the part comes back, its statements are then
  /// older than all content that the user saw here, and the two never mix in one file.
  private mutating func statedRanges(
    _ changed: ChangedRanges, of number: InodeNumber
  ) -> [Range<Int64>] {
    if loss == nil || !statedBehindLoss.insert(number).inserted { return changed.ranges }
    return [0..<Int64.max]
  }

  /// Encodes everything about an inode except names and content, for a checkpoint.
  func encodeWhole(_ index: InodeIndex, into writer: inout ByteWriter) {
    let number = inodes[index].state.number
    JournalItem.inode(inodes[index].state).encode(into: &writer)
    guard let extra = extras[index] else { return }
    if !extra.symlinkTarget.isEmpty {
      JournalItem.symlink(number, target: extra.symlinkTarget).encode(into: &writer)
    }
    for (name, value) in extra.attributes {
      JournalItem.attribute(number, name: name, value: value).encode(into: &writer)
    }
  }
}
