package import AlbumModel

// The items of journal frames and of checkpoints. An item states the *new* state of one thing, never a
// difference. So replaying items over a newer state is harmless.
//
// An item is: type (u16) | length of the body in bytes (u32) | body. All numbers are
// little-endian. A reader may ignore an unknown type whose highest bit is set. For any other unknown type
// it must refuse the mount.
//
// | type | item | body |
// |---|---|---|
// | 1 | inode | 96 bytes, see `InodeState` |
// | 2 | inode gone | number u64 |
// | 3 | extents | number u64, from i64, to i64, then per extent: offset i64, length i64, segment u32, grid u32, skip u32. The content from `from` up to `to` lies in these and nowhere else; stretches in none are holes |
// | 4 | entry | directory u64, inode u64 (0: the name is gone), name |
// | 5 | symlink | number u64, target |
// | 6 | attribute | number u64, present u8, name length u8, name, value |
// | 7 | segment | kind u8, state u8 (1 living, 2 retired, 3 removed, 4 filling), number u32, birth u64, milliseconds i64 of `StoreTime` of its retirement |
// | 8 | counters | next inode u64, next data segment u32, next checkpoint segment u32, next write sequence u64: all numbers below are taken; at least 2, 1, 1, 1 |
// | 9 | barrier | number u64 of the last frame that is known to be on disk |
// | 10 | property | key u16, value u64: of the whole space, see `SpaceProperty` |
// | 11 | session | birth u64, first journal segment u32, first checkpoint segment u32: a session of this timeline; its segments have these numbers or greater ones, and lower ones than those of the session behind it. Both 0: nothing of it is left but data segments |
// | 12 | loss | 25 bytes, see `JournalLoss` |
// | 0x8001 | point | number u64, kind u8 (0: it is gone; 2: all up to it are gone; 1: `HistoryPoint`) |
// | 0x8002 | former place | number u64, present u8 (0: it has none, and nothing follows), else 1 and `FormerPlace` |
// | 0x8003 | past name | number u64, present u8, directory u64, child u64 (0: none), name: see `PastName` |

/// Everything about an inode except its content, names and extended attributes:
///
/// number u64 | size i64 | accessed i64 | modified i64 | changed i64 (`Timestamp`) |
/// thumbnail u64 | content version u64 | mode u16 (as in `st_mode`) | marks u16 | links u32 |
/// owner u32 | group u32 | device u32 | thumbnail state u8 | thumbnail reason u8 | 2 zero bytes |
/// content statements u64 | 8 zero bytes.
package struct InodeState: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 96

  package var number: InodeNumber
  /// In bytes.
  package var size: Int64 = 0
  package var accessed = Timestamp(nanoseconds: 0)
  package var modified = Timestamp(nanoseconds: 0)
  package var changed = Timestamp(nanoseconds: 0)
  /// The inode of the thumbnail of this content; 0: none.
  package var thumbnail = InodeNumber(0)
  /// Rises with each change of the content.
  package var contentVersion: UInt64 = 0
  package var mode: UInt16
  package var marks = Marks()
  /// The number of names, plus one for a thumbnail that its photo refers to. For a directory 1, or 0 after
  /// its removal.
  package var links: UInt32 = 0
  package var owner: UInt32 = 0
  package var group: UInt32 = 0
  package var device: UInt32 = 0
  package var thumbnailState = ThumbnailState.none
  /// Why the thumbnail failed: the raw value of a `ThumbnailFailure`; 0 in every other state.
  package var thumbnailReason: UInt8 = 0
  /// The number of frames that stated the place of its content, this one included. If an earlier frame is
  /// lost, the count shows whether that frame stated content of this file.
  package var contentStatements: UInt64 = 0

  package init(number: InodeNumber, kind: FileKind, permissions: UInt16) {
    self.number = number
    mode = UInt16(kind.rawValue) << 12 | permissions & 0o7777
  }

  package var kind: FileKind { FileKind(rawValue: UInt8(mode >> 12)) ?? .regular }
  package var permissions: UInt16 {
    get { mode & 0o7777 }
    set { mode = mode & 0o170000 | newValue & 0o7777 }
  }

  /// Properties of an inode besides its type.
  package struct Marks: OptionSet, Sendable, BitwiseCopyable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// A directory that is an album.
    package static let album = Marks(rawValue: 1)
    /// The directory of an album's originals.
    package static let photoDirectory = Marks(rawValue: 2)
    /// The directory of an album's thumbnails. A subdirectory of Photo has a twin in it, marked `implicit`
    /// alone.
    package static let thumbDirectory = Marks(rawValue: 4)
    /// Made by albumfs and not used by anybody yet: an explicit mkdir takes it over.
    package static let implicit = Marks(rawValue: 8)
    /// albumfs made the content from a photo.
    package static let madeThumbnail = Marks(rawValue: 16)
    /// A file without a name. It is a version of another file, or a new file, of which content was missing
    /// from the store at a mount. It stays until a repair brings it back.
    package static let leftOut = Marks(rawValue: 32)
    /// An open created or emptied the file, and it has not been closed or synced since. If the content
    /// written after that is missing, the file must not fall back to being empty.
    package static let beingWritten = Marks(rawValue: 64)
    /// A photo that had content and changed later. albumfs shows its thumbnail instead of a file that the
    /// user put into Thumb.
    package static let thumbnailGoesFirst = Marks(rawValue: 128)

    /// An album's Photo or Thumb: either mark.
    package static let albumPart = Marks(rawValue: 2 | 4)

    // Every request asks for marks. The generic functions of OptionSet take several times as long from
    // another module, because it calls them through witness tables.

    package func contains(_ others: Marks) -> Bool { rawValue & others.rawValue == others.rawValue }

    package func isDisjoint(with others: Marks) -> Bool { rawValue & others.rawValue == 0 }
  }

  /// The attribute of an inode marked `leftOut` that records why, since when and where it was.
  package static let leftOutPath = Array("albumfs.left-out".utf8)

  /// The state of a photo's thumbnail.
  package enum ThumbnailState: UInt8, Sendable, BitwiseCopyable {
    case none = 0
    /// Waits to be made.
    case pending = 1
    case made = 2
    /// Could not be made from this content. albumfs does not try again by itself.
    case failed = 3
    /// Removed by the user. It comes back when the photo changes.
    case removed = 4
  }

  func encode(into writer: inout ByteWriter) {
    writer.write(number.rawValue)
    writer.write(size)
    writer.write(accessed.nanoseconds)
    writer.write(modified.nanoseconds)
    writer.write(changed.nanoseconds)
    writer.write(thumbnail.rawValue)
    writer.write(contentVersion)
    writer.write(mode)
    writer.write(marks.rawValue)
    writer.write(links)
    writer.write(owner)
    writer.write(group)
    writer.write(device)
    writer.write(thumbnailState.rawValue)
    writer.write(thumbnailReason)
    writer.write(UInt16(0))
    writer.write(contentStatements)
    writer.write(UInt64(0))
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    number = try reader.readInode()
    size = try reader.read()
    accessed = Timestamp(nanoseconds: try reader.read())
    modified = Timestamp(nanoseconds: try reader.read())
    changed = Timestamp(nanoseconds: try reader.read())
    thumbnail = try reader.readOptionalInode() ?? InodeNumber(0)
    contentVersion = try reader.read()
    mode = try reader.read()
    marks = Marks(rawValue: try reader.read())
    links = try reader.read()
    owner = try reader.read()
    group = try reader.read()
    device = try reader.read()
    let state: UInt8 = try reader.read()
    thumbnailReason = try reader.read()
    _ = try reader.read(count: 2)
    contentStatements = try reader.read()
    _ = try reader.read(count: 8)
    guard let known = ThumbnailState(rawValue: state) else {
      throw FormatError("inode with unknown thumbnail state \(state)")
    }
    thumbnailState = known
    guard FileKind(rawValue: UInt8(mode >> 12)) != nil, size >= 0,
      contentVersion <= NumberLimits.inode, contentStatements <= NumberLimits.inode
    else {
      throw FormatError("inode with impossible fields")
    }
    if number == .root, kind != .directory { throw FormatError("a root that is no directory") }
  }
}

/// The numbers of the first journal and checkpoint segments that a session may have made.
package struct SessionStart: Equatable, Sendable, BitwiseCopyable {
  package var journal: SegmentNumber
  package var checkpoint: SegmentNumber

  package init(journal: SegmentNumber, checkpoint: SegmentNumber) {
    self.journal = journal
    self.checkpoint = checkpoint
  }

  /// Nothing of the session is left.
  package static let gone = SessionStart(
    journal: SegmentNumber(0), checkpoint: SegmentNumber(0))
}

/// A property of the whole space.
package enum SpaceProperty: UInt16, Sendable {
  /// Long edge of a thumbnail, in pixels.
  case thumbnailEdge = 1
  /// How long deleted files stay, in days.
  case keptDays = 2
  /// How long they stay even on a full disk, in days.
  case guaranteedDays = 3
  /// 0: the space keeps no deleted files; 1: it does.
  case keepsDeleted = 4
  /// Milliseconds that the use clock leaves out of store time, see `UseClock`.
  case skippedTime = 5
  /// The birth of the newest session that recorded what its changes took from the points. If a newer one
  /// has written, a release without points did, and they are unknown.
  case pointSession = 6
}

/// The use of a segment.
package enum SegmentState: UInt8, Sendable, BitwiseCopyable {
  case living = 1
  /// Nothing in it is needed; it waits for its removal.
  case retired = 2
  case removed = 3
  /// In use, and begun by the session that states it. If another session finds it so, it was never finished,
  /// and that session moves what lives in it.
  case filling = 4
}

/// The next free numbers of a space. A space reserves numbers ahead, so that a crash cannot make it use one
/// twice.
package struct SpaceCounters: Equatable, Sendable, BitwiseCopyable {
  package var nextInode: UInt64 = 2
  package var nextDataSegment: UInt32 = 1
  package var nextCheckpointSegment: UInt32 = 1
  package var nextSequence: UInt64 = 1
  package init() {}

  /// The counters clipped to the limits of a journal, so that a reader accepts them. The lower limits are the
  /// values at birth, because 0 means none and inode 1 is the root.
  package var withinLimits: SpaceCounters {
    let first = SpaceCounters()
    var counters = self
    counters.nextInode = min(max(nextInode, first.nextInode), NumberLimits.counter)
    counters.nextSequence = min(max(nextSequence, first.nextSequence), NumberLimits.counter)
    counters.nextDataSegment = min(
      max(nextDataSegment, first.nextDataSegment), NumberLimits.segmentCounter)
    counters.nextCheckpointSegment = min(
      max(nextCheckpointSegment, first.nextCheckpointSegment), NumberLimits.segmentCounter)
    return counters
  }
}

package enum JournalItem: Equatable, Sendable {
  case inode(InodeState)
  case inodeGone(InodeNumber)
  case extents(InodeNumber, from: Int64, to: Int64, [Extent])
  case entry(directory: InodeNumber, name: FileName, inode: InodeNumber?)
  case symlink(InodeNumber, target: [UInt8])
  case attribute(InodeNumber, name: [UInt8], value: [UInt8]?)
  case segment(SegmentKind, SegmentNumber, SegmentBirth, SegmentState, retiredAt: StoreTime)
  case counters(SpaceCounters)
  case barrier(FrameNumber)
  case property(SpaceProperty, UInt64)
  case session(SegmentBirth, SessionStart)
  case loss(JournalLoss?)
  case point(PointStatement)
  case former(InodeNumber, FormerPlace?)
  case pastName(PastName, isPresent: Bool)
  /// An item of an unknown type that a reader may ignore.
  case ignorable

  /// Type and length before each body, in bytes.
  static let headerByteCount = 6

  /// Appends the item.
  package func encode(into writer: inout ByteWriter) {
    let start = writer.bytes.count
    writer.write(type)
    writer.write(UInt32(0))
    encodeBody(into: &writer)
    let length = writer.bytes.count - start - JournalItem.headerByteCount
    writer.patch(UInt32(length), at: start + 2)
  }

  private var type: UInt16 {
    switch self {
    case .inode: 1
    case .inodeGone: 2
    case .extents: 3
    case .entry: 4
    case .symlink: 5
    case .attribute: 6
    case .segment: 7
    case .counters: 8
    case .barrier: 9
    case .property: 10
    case .session: 11
    case .loss: 12
    case .point: 0x8001
    case .former: 0x8002
    case .pastName: 0x8003
    case .ignorable: 0x8000
    }
  }

  /// True if the first of these items is a barrier.
  package static func beginWithBarrier(_ items: [UInt8]) -> Bool {
    items.count >= headerByteCount
      && UInt16(items[0]) | UInt16(items[1]) << 8 == JournalItem.barrier(.none).type
  }

  private func encodeBody(into writer: inout ByteWriter) {
    switch self {
    case .inode(let state): state.encode(into: &writer)
    case .inodeGone(let number): writer.write(number.rawValue)
    case .extents(let number, let from, let to, let extents):
      writer.write(number.rawValue)
      writer.write(from)
      writer.write(to)
      for extent in extents {
        writer.write(extent.offset)
        writer.write(extent.length)
        writer.write(extent.segment.rawValue)
        writer.write(extent.grid)
        writer.write(extent.skip)
      }
    case .entry(let directory, let name, let inode):
      writer.write(directory.rawValue)
      writer.write(inode?.rawValue ?? 0)
      writer.write(name.bytes)
    case .symlink(let number, let target):
      writer.write(number.rawValue)
      writer.write(target)
    case .attribute(let number, let name, let value):
      writer.write(number.rawValue)
      writer.write(UInt8(value == nil ? 0 : 1))
      writer.write(UInt8(name.count))
      writer.write(name)
      writer.write(value ?? [])
    case .segment(let kind, let number, let birth, let state, let retiredAt):
      writer.write(kind.rawValue)
      writer.write(state.rawValue)
      writer.write(number.rawValue)
      writer.write(birth.rawValue)
      writer.write(retiredAt.milliseconds)
    case .counters(let counters):
      writer.write(counters.nextInode)
      writer.write(counters.nextDataSegment)
      writer.write(counters.nextCheckpointSegment)
      writer.write(counters.nextSequence)
    case .barrier(let frame): writer.write(frame.rawValue)
    case .property(let key, let value):
      writer.write(key.rawValue)
      writer.write(value)
    case .session(let birth, let start):
      writer.write(birth.rawValue)
      writer.write(start.journal.rawValue)
      writer.write(start.checkpoint.rawValue)
    case .loss(let loss): JournalLoss.encode(loss, into: &writer)
    case .former(let number, let place):
      writer.write(number.rawValue)
      writer.write(UInt8(place == nil ? 0 : 1))
      place?.encode(into: &writer)
    case .point(let statement): statement.encode(into: &writer)
    case .pastName(let name, let isPresent): name.encode(isPresent: isPresent, into: &writer)
    case .ignorable: break
    }
  }

  /// Reads the next item. Throws if it is malformed, or unknown and not ignorable.
  package init(from reader: inout ByteReader) throws(FormatError) {
    let type: UInt16 = try reader.read()
    let length: UInt32 = try reader.read()
    var body = try reader.slice(count: Int(length))
    self = try JournalItem.decode(type: type, &body)
    if case .ignorable = self { return }
    if !body.isAtEnd { throw FormatError("item of type \(type) is too long") }
  }

  private static func decode(type: UInt16, _ body: inout ByteReader) throws(FormatError)
    -> JournalItem
  {
    switch type {
    case 1: return .inode(try InodeState(from: &body))
    case 2: return .inodeGone(try body.readInode())
    case 3: return try decodeExtents(&body)
    case 4:
      let directory = try body.readInode()
      let inode = try body.readOptionalInode()
      let bytes = try body.read(count: body.remaining)
      do throws(FileName.Invalid) {
        return .entry(directory: directory, name: try FileName(bytes), inode: inode)
      } catch {
        throw FormatError("entry with a name that is none: \(error)")
      }
    case 5:
      return .symlink(
        try body.readInode(), target: try body.read(count: body.remaining))
    case 6:
      let number = try body.readInode()
      let present: UInt8 = try body.read()
      let nameLength: UInt8 = try body.read()
      let name = try body.read(count: Int(nameLength))
      let value = try body.read(count: body.remaining)
      return .attribute(number, name: name, value: present == 0 ? nil : value)
    case 7:
      let kind: UInt8 = try body.read()
      let state: UInt8 = try body.read()
      guard let kind = SegmentKind(rawValue: kind), let state = SegmentState(rawValue: state) else {
        throw FormatError("segment of unknown kind or state")
      }
      return .segment(
        kind, try body.readSegment(), try body.readBirth(), state, retiredAt: try body.readTime())
    case 8:
      var counters = SpaceCounters()
      counters.nextInode = try body.read()
      counters.nextDataSegment = try body.read()
      counters.nextCheckpointSegment = try body.read()
      counters.nextSequence = try body.read()
      if counters != counters.withinLimits {
        throw FormatError("counters beyond what a space can use")
      }
      return .counters(counters)
    case 9: return .barrier(try body.readFrame())
    case 10:
      let key: UInt16 = try body.read()
      let value: UInt64 = try body.read()
      return SpaceProperty(rawValue: key).map { .property($0, value) } ?? .ignorable
    case 11:
      let birth = try body.readBirth()
      return .session(
        birth, SessionStart(journal: try body.readSegment(), checkpoint: try body.readSegment()))
    case 12: return .loss(try JournalLoss.decode(from: &body))
    case 0x8001: return try PointStatement.decode(from: &body).map { .point($0) } ?? .ignorable
    case 0x8002: return try decodeFormer(&body)
    case 0x8003:
      let (name, isPresent) = try PastName.decode(from: &body)
      return .pastName(name, isPresent: isPresent)
    case 0x8000...: return .ignorable
    default:
      throw FormatError("item of unknown type \(type): written by a newer albumfs")
    }
  }

  private static func decodeFormer(_ body: inout ByteReader) throws(FormatError) -> JournalItem {
    let number = try body.readInode()
    let present: UInt8 = try body.read()
    if present == 0 { return .former(number, nil) }
    return try FormerPlace.decode(from: &body).map { .former(number, $0) } ?? .ignorable
  }

  private static func decodeExtents(_ body: inout ByteReader) throws(FormatError) -> JournalItem {
    let number = try body.readInode()
    let from: Int64 = try body.read()
    let to: Int64 = try body.read()
    if from < 0 || to < from { throw FormatError("extents of an impossible range") }
    var extents: [Extent] = []
    extents.reserveCapacity(body.remaining / 28)
    var end = from
    while !body.isAtEnd {
      let extent = Extent(
        offset: try body.read(), length: try body.read(), segment: try body.readSegment(),
        grid: try body.read(), skip: try body.read())
      guard extent.offset >= end, extent.length > 0, extent.length <= to - extent.offset,
        extent.fitsSegment
      else { throw FormatError("extents of inode \(number.rawValue) overlap or leave their range") }
      end = extent.end
      extents.append(extent)
    }
    return .extents(number, from: from, to: to, extents)
  }
}
