import AlbumFormat
import AlbumModel

// What a frame states: the new state of all that was touched since the last one, read from the
// catalog at the moment when the frame is made. So a frame is a consistent instant, many
// operations on one thing cost one item, and no operation builds items of its own.

/// What the next frame must state.
struct PendingChanges {
  /// Places that were touched; one whose inode is gone or noted anew counts once at most, since
  /// what is to be stated stands in the record itself.
  var inodes: [InodeIndex] = []
  /// Inodes that are no more.
  var gone: [InodeNumber] = []
  /// Names whose inode changed; may hold one twice.
  var entries: [(directory: InodeNumber, name: [UInt8])] = []
  /// Stretches of content whose extents changed.
  var extents: [InodeIndex: ChangedRanges] = [:]
  /// How many extents were placed and stretches emptied: no more than a few times as many are to be
  /// stated.
  var extentCount = 0
  var segments: Set<SegmentNumber> = []
  var properties: Set<SpaceProperty> = []
  /// These wait for the next frame, unless `statesSessions`.
  var sessions: Set<SegmentBirth> = []
  var statesSessions = false
  var counters = false
  var loss = false

  var isEmpty: Bool {
    inodes.isEmpty && gone.isEmpty && entries.isEmpty && segments.isEmpty && properties.isEmpty
      && !counters && !loss && !(statesSessions && !sessions.isEmpty)
  }
}

/// Disjoint ranges of offsets. What was inserted last is put in order with the rest when there is as much
/// of it: so n insertions take O(n log n) steps, and there are at most twice as many ranges as needed.
struct ChangedRanges {
  /// In order, none meeting the next.
  private var ordered: [Range<Int64>] = []
  private var recent: [Range<Int64>] = []

  /// All of them in order, none meeting the next.
  var ranges: [Range<Int64>] {
    var all = self
    all.order()
    return all.ordered
  }

  mutating func insert(_ new: Range<Int64>) {
    // Who writes on in order needs one range.
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
  /// Whether there is anything for a frame to state.
  var hasChanges: Bool { !changes.isEmpty }

  /// Whether the next frame states so many extents that who changes content is to append it now
  /// (`Space.commitIfCrowded`), rather than the keeper in its time.
  var isCrowded: Bool { changes.extentCount >= 4 * Catalog.extentsPerSlice }

  mutating func note(_ index: InodeIndex, _ what: InodeRecord.Dirty) {
    if isReplaying { return }
    if inodes[index].dirty.isEmpty { changes.inodes.append(index) }
    inodes[index].dirty.insert(what)
  }

  mutating func noteEntry(_ name: [UInt8], in directory: InodeIndex) {
    if isReplaying { return }
    changes.entries.append((inodes[directory].state.number, name))
  }

  mutating func noteExtents(_ index: InodeIndex, _ from: Int64, _ to: Int64, count: Int) {
    if isReplaying { return }
    note(index, .extents)
    changes.extentCount += 1 + count
    changes.extents[index, default: ChangedRanges()].insert(from..<to)
  }

  /// Segments that the next frame states to be retired.
  var newlyRetired: [SegmentNumber] {
    changes.segments.filter { segments.accounts[$0]?.state == .retired }
  }

  /// Whether the next frame states something about a segment.
  func hasChanged(_ segment: SegmentNumber) -> Bool { changes.segments.contains(segment) }

  /// Takes what is to be stated and encodes it. A frame is one instant, so this cannot be sliced: it
  /// touches as many extents as were changed since the last frame, not as many as the files have.
  mutating func takeChanges() -> [UInt8] {
    extents.steps.permit(16 * changes.extentCount)
    var writer = ByteWriter()
    encodeCounters(into: &writer)
    for segment in changes.segments { encode(segment, into: &writer) }
    for property in changes.properties {
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
    for number in changes.gone { JournalItem.inodeGone(number).encode(into: &writer) }
    changes = PendingChanges()
    return writer.bytes
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
    // Before its extents: the count of statements tells whether they are older than what is known.
    JournalItem.inode(inodes[index].state).encode(into: &writer)
    if record.dirty.contains(.extents), let changed = changes.extents[index] {
      for range in changed.ranges {
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

  /// Everything about an inode but names and content, for a checkpoint.
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
