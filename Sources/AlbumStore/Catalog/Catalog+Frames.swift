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
  var segments: Set<SegmentNumber> = []
  var properties: Set<SpaceProperty> = []
  var counters = false

  var isEmpty: Bool {
    inodes.isEmpty && gone.isEmpty && entries.isEmpty && segments.isEmpty && properties.isEmpty
      && !counters
  }
}

/// A few disjoint ranges of offsets; too many become one.
struct ChangedRanges {
  private(set) var ranges: [Range<Int64>] = []

  mutating func insert(_ new: Range<Int64>) {
    var merged = new
    ranges.removeAll { old in
      guard old.lowerBound <= merged.upperBound, merged.lowerBound <= old.upperBound else {
        return false
      }
      merged = min(old.lowerBound, merged.lowerBound)..<max(old.upperBound, merged.upperBound)
      return true
    }
    ranges.append(merged)
    if ranges.count > 64, let low = ranges.map(\.lowerBound).min(),
      let high = ranges.map(\.upperBound).max()
    {
      ranges = [low..<high]
    }
  }
}

extension Catalog {
  /// Whether there is anything for a frame to state.
  package var hasChanges: Bool { !changes.isEmpty }

  mutating func note(_ index: InodeIndex, _ what: InodeRecord.Dirty) {
    if isReplaying { return }
    if inodes[index].dirty.isEmpty { changes.inodes.append(index) }
    inodes[index].dirty.insert(what)
  }

  mutating func noteEntry(_ name: [UInt8], in directory: InodeIndex) {
    if isReplaying { return }
    changes.entries.append((inodes[directory].state.number, name))
  }

  mutating func noteExtents(_ index: InodeIndex, _ from: Int64, _ to: Int64) {
    if isReplaying { return }
    note(index, .extents)
    changes.extents[index, default: ChangedRanges()].insert(from..<to)
  }

  /// Segments that the next frame states to be retired.
  var newlyRetired: [SegmentNumber] {
    changes.segments.filter { segments.accounts[$0]?.state == .retired }
  }

  /// Whether the next frame states something about a segment.
  func hasChanged(_ segment: SegmentNumber) -> Bool { changes.segments.contains(segment) }

  /// Takes what is to be stated and encodes it.
  package mutating func takeChanges() -> [UInt8] {
    var writer = ByteWriter()
    encodeCounters(into: &writer)
    for segment in changes.segments { encode(segment, into: &writer) }
    for property in changes.properties {
      JournalItem.property(property, properties[property] ?? 0).encode(into: &writer)
    }
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
      .data, segment, account?.state ?? .removed, retiredAt: account?.retiredAt ?? 0
    ).encode(into: &writer)
  }

  private mutating func encodeChanges(of index: InodeIndex, into writer: inout ByteWriter) {
    guard inodes.occupant(index.rawValue) != nil else { return }
    let record = inodes[index]
    if record.dirty.isEmpty { return }
    inodes[index].dirty = []
    let number = record.state.number
    if record.dirty.contains(.extents), let changed = changes.extents[index] {
      inodes[index].state.contentStatements = NumberLimits.following(
        record.state.contentStatements)
      for range in changed.ranges {
        let list = extents(of: index, from: range.lowerBound, to: range.upperBound)
        JournalItem.extents(number, from: range.lowerBound, to: range.upperBound, list)
          .encode(into: &writer)
      }
    }
    JournalItem.inode(inodes[index].state).encode(into: &writer)
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

  /// Everything about an inode but the names in it, for a checkpoint.
  func encodeWhole(_ index: InodeIndex, into writer: inout ByteWriter) {
    let record = inodes[index]
    let number = record.state.number
    JournalItem.inode(record.state).encode(into: &writer)
    let all = extents.all(record.extents)
    if !all.isEmpty {
      JournalItem.extents(number, from: 0, to: .max, all).encode(into: &writer)
    }
    guard let extra = extras[index] else { return }
    if !extra.symlinkTarget.isEmpty {
      JournalItem.symlink(number, target: extra.symlinkTarget).encode(into: &writer)
    }
    for (name, value) in extra.attributes {
      JournalItem.attribute(number, name: name, value: value).encode(into: &writer)
    }
  }
}
