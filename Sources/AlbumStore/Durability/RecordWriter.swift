import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// Seals content of files into records of data segments. Begins a data segment only when the head of the
/// session's journal is on disk and the disk has room. Any thread.
///
/// Calls `Durability` and `ContentStore` with no lock held.
final class RecordWriter: SpacePart, Sendable {
  let context: SpaceContext
  private let durability: Durability
  private let sequences = Mutex((next: UInt64(0), end: UInt64(0)), rank: .sequences)

  init(_ durability: Durability) {
    self.durability = durability
    context = durability.context
  }

  /// Seals up to 64 KiB of a file's content as one record and returns its place. The extent is held until
  /// the caller passes it to `Catalog.replaceExtents` or `Catalog.letGo`. Overwrites the 64 bytes before
  /// `content` (`ReadHeadroom.byteCount`), but not the content. The record may be only in memory until
  /// `commit`.
  func append(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64, in lane: ContentLane = .files
  ) throws(StoreError) -> HeldExtents {
    let header = newRecord(content.count, of: inode, at: offset, fileLength)
    return HeldExtents(try unsafe seal(content, header, mayCut: false, in: lane), catalog)
  }

  /// The same, in two records if the first fills a segment.
  func appendPieces(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64
  ) throws(StoreError) -> HeldExtents {
    let header = newRecord(content.count, of: inode, at: offset, fileLength)
    let first = try unsafe seal(content, header, mayCut: true)
    var held = HeldExtents(first, catalog)
    if first.end < offset + Int64(content.count) {
      held.add(try unsafe appendRest(content, of: inode, behind: first, fileLength))
    }
    return held
  }

  /// Reserves places one behind the other for records with so many bytes of content, as many as the current
  /// segment has room for. So threads that seal a file's records together leave them in one extent.
  func reserve(_ byteCounts: [Int]) throws(StoreError) -> [RecordPlace] {
    try health.requireWritable()
    return try durability.reclaims.whenThereIsRoom { () throws(StoreError) in
      try announce(isMoved: false)
      return try content.reserve(byteCounts, begin: beginSegment)
    }
  }

  /// Does what `append` does, at a reserved place.
  func append(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64, place: RecordPlace
  ) -> HeldExtents {
    let header = newRecord(content.count, of: inode, at: offset, fileLength)
    let extent = unsafe self.content.seal(content, header: header, at: place) { extent in
      catalog.withLock { $0.hold(extent) }
    }
    return HeldExtents(extent, catalog)
  }

  /// Seals a copy, because the bytes before it are content that other threads may be reading.
  private func appendRest(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, behind first: Extent,
    _ fileLength: Int64
  ) throws(StoreError) -> HeldExtents {
    let rest = unsafe UnsafeRawBufferPointer(rebasing: content[Int(first.length)...])
    let copy = SegmentImage(byteCount: ReadHeadroom.byteCount + rest.count)
    defer { unsafe erase(copy.bytes) }
    let target = unsafe UnsafeMutableRawBufferPointer(
      rebasing: copy.bytes[ReadHeadroom.byteCount...])
    unsafe target.copyMemory(from: rest)
    return try unsafe append(target, of: inode, at: first.end, fileLength: fileLength)
  }

  private func newRecord(
    _ byteCount: Int, of inode: InodeNumber, at offset: Int64, _ fileLength: Int64
  ) -> DataRecord {
    DataRecord(
      inode: inode, offset: offset, length: UInt32(byteCount), sequence: takeSequence(),
      fileLength: fileLength)
  }

  /// Seals content under a complete header; with `mayCut` perhaps only its start. The extent is held. Moved
  /// content may use more of a full disk, because moving it frees room.
  func seal(
    _ content: UnsafeMutableRawBufferPointer, _ header: DataRecord, mayCut: Bool,
    isMoved: Bool = false, in lane: ContentLane = .files
  ) throws(StoreError) -> Extent {
    precondition(content.count > 0 && content.count <= Int(DataRecord.contentLimit))
    try health.requireWritable()
    if isMoved {
      return try unsafe sealOnce(
        content, header, mayCut: mayCut, isMoved: true, laneOfMoved(header))
    }
    return try durability.reclaims.whenThereIsRoom { () throws(StoreError) in
      try unsafe sealOnce(
        content, header, mayCut: mayCut, isMoved: false, hasLanes ? lane : .files)
    }
  }

  /// On a disk, a segment more that is half full at the end of a session would cost room.
  private var hasLanes: Bool { files.directory.relay != nil }

  /// Where moved content of a file goes.
  private func laneOfMoved(_ header: DataRecord) -> ContentLane {
    if !hasLanes { return .files }
    let isThumbnail = catalog.withLock { catalog in
      catalog.index(of: header.inode).map { catalog.state($0).marks.contains(.madeThumbnail) }
    }
    return isThumbnail ?? false ? .thumbnails : .files
  }

  private func sealOnce(
    _ content: UnsafeMutableRawBufferPointer, _ header: DataRecord, mayCut: Bool, isMoved: Bool,
    _ lane: ContentLane
  ) throws(StoreError) -> Extent {
    try announce(isMoved: isMoved)
    return try unsafe self.content.append(
      content, header: header, mayCut: mayCut, lane: lane,
      begin: isMoved ? beginSegmentForMove : beginSegment,
      finished: { number in self.catalog.withLock { $0.setState(of: number, to: .living) } },
      held: { extent in catalog.withLock { $0.hold(extent) } })
  }

  private func announce(isMoved: Bool) throws(StoreError) {
    try durability.outlasting { () throws(StoreError) in
      try durability.announceSession(leaving: isMoved ? 1 : nil)
    }
  }

  /// Takes numbers from the catalog a thousand at a time.
  private func takeSequence() -> UInt64 {
    sequences.withLock { range in
      if range.next == range.end {
        range.next = catalog.withLock { $0.takeSequence(count: 1024) }
        range.end = range.next + 1024
      }
      defer { range.next += 1 }
      return range.next
    }
  }

  private func beginSegment() throws(StoreError) -> SegmentNumber {
    try room.require()
    room.endShortage()
    return takeSegment()
  }

  private func beginSegmentForMove() throws(StoreError) -> SegmentNumber {
    try room.require(leaving: 1)
    return takeSegment()
  }

  private func takeSegment() -> SegmentNumber {
    catalog.withLock { catalog in
      let number = catalog.takeDataSegment()
      let id = SegmentID(kind: .data, number: number)
      catalog.setState(of: number, to: .filling, birth: files.bear(id))
      return number
    }
  }
}
