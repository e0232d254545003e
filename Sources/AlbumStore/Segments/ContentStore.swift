import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// Which of the segments that are being filled gets a record. Thumbnails have one of their own where each
/// segment that is read is a request to a server: an album shows them all at once, without the photos.
package enum ContentLane: Sendable { case files, thumbnails }

/// Seals the content of files into data segments and reads it back. Touches data segments, through
/// `SegmentWriter` and `SegmentFiles`, and nothing else; it does not know the catalog or the journal. Any
/// thread.
///
/// Locks: `tail` (rank `openSegments`) is never held while a record is sealed, decrypted, read or written.
/// `births` (rank `newSegment`) is held while a segment is begun, which includes the check for room on the
/// disk.
final class ContentStore: Sendable {
  let files: SegmentFiles
  let scratch: ScratchPool

  struct Tail {
    /// The segments for new records.
    var current: [ContentLane: SegmentWriter] = [:]
    /// Writers whose image may hold bytes that are not in a file yet, including `current`.
    var open: [SegmentNumber: SegmentWriter] = [:]
    /// Writers that could not write. Their records are read from their images until they are written
    /// elsewhere.
    var givenUp: [SegmentNumber: SegmentWriter] = [:]
    /// Full writers whose file may lose what it got, because the store lies on a network: until they are
    /// synced, their content can be written anew from their images.
    var unproven: [SegmentNumber: SegmentWriter] = [:]
    /// The number of calls that are sealing a record into a segment or have not yet returned its place.
    var appending: [SegmentNumber: Int] = [:]
    /// The tail of the next segment, if it is likely to be born before it is full.
    var nextTail: TailPreparation?
    /// True if the last segment was born before it was full, as when files are closed one after the other.
    var expectsTail = true

    /// A segment gets no new records. Returns false if it got none any more.
    @discardableResult
    mutating func leave(_ number: SegmentNumber) -> Bool {
      guard let lane = current.first(where: { $0.value.id.number == number })?.key else {
        return false
      }
      current[lane] = nil
      return true
    }
  }
  let tail = Monitor(Tail(), rank: .openSegments)
  private let births = Mutex((), rank: .newSegment)

  init(files: SegmentFiles) {
    self.files = files
    scratch = ScratchPool(
      byteCount: ContentStore.recordsPerRead * Int(DataRecord.fullGridCount) * RecordLayout.grid,
      kept: 4)
  }

  /// The greatest stretch for one read: 1 MiB and the rest of the last record.
  static let recordsPerRead = 17
  static let recordStride = Int(DataRecord.fullGridCount) * RecordLayout.grid

  // MARK: Writing

  /// Seals one record, see `Space.append`. `begin` returns the number of a new segment, and throws if the
  /// disk is full. `lane` chooses the segment. `finished` receives a segment that is full and written; `held`
  /// receives the record, before its segment can be considered empty. With `mayCut` the record may hold only
  /// the start of the content, if that fills a segment.
  func append(
    _ content: UnsafeMutableRawBufferPointer, header: DataRecord, mayCut: Bool = false,
    lane: ContentLane = .files,
    begin: () throws(StoreError) -> SegmentNumber,
    finished: (SegmentNumber) -> Void, held: (Extent) -> Void
  ) throws(StoreError) -> Extent {
    while true {
      let writer = try enter(lane, begin)
      var extent = unsafe seal(content, header, in: writer)
      if mayCut, extent == nil { extent = unsafe sealBeginning(content, header, in: writer) }
      if let extent { held(extent) }
      leave(writer)
      if let extent { return extent }
      try retire(writer, finished)
    }
  }

  /// Reserves places in one segment for data records with so many bytes of content, one behind the other; as
  /// many as fit, perhaps none. The caller seals each with `seal`. Until then a flush of the segment waits,
  /// so the caller waits for nothing in between.
  func reserve(
    _ byteCounts: [Int], begin: () throws(StoreError) -> SegmentNumber
  ) throws(StoreError) -> [RecordPlace] {
    let writer = try enter(.files, begin)
    let places = writer.reserve(byteCounts.map { DataRecord.headerByteCount + $0 }).map {
      RecordPlace(writer: writer, offset: $0)
    }
    if places.isEmpty {
      leave(writer)
    } else {
      tail.withLock { $0.appending[writer.id.number]! += places.count - 1 }
    }
    return places
  }

  /// Seals one record at its reserved place. `held` receives it as in `append`.
  func seal(
    _ content: UnsafeMutableRawBufferPointer, header: DataRecord, at place: RecordPlace,
    held: (Extent) -> Void
  ) -> Extent {
    let plaintext = unsafe ContentStore.plaintext(content, header)
    unsafe place.writer.seal(plaintext, kind: .data, at: place.offset)
    let extent = ContentStore.extent(header, place.writer, at: place.offset)
    held(extent)
    leave(place.writer)
    return extent
  }

  /// Seals as much as fills the segment; nil if that is too little to be worthwhile.
  private func sealBeginning(
    _ content: UnsafeMutableRawBufferPointer, _ header: DataRecord, in writer: SegmentWriter
  ) -> Extent? {
    guard let room = writer.worthwhileRoom, room < content.count else { return nil }
    var shorter = header
    shorter.length = UInt32(room)
    return unsafe seal(
      UnsafeMutableRawBufferPointer(rebasing: content[..<room]), shorter, in: writer)
  }

  /// Returns nil if the segment has no room for it.
  private func seal(
    _ content: UnsafeMutableRawBufferPointer, _ header: DataRecord, in writer: SegmentWriter
  ) -> Extent? {
    let plaintext = unsafe ContentStore.plaintext(content, header)
    guard let offset = unsafe writer.append(plaintext, kind: .data) else { return nil }
    return ContentStore.extent(header, writer, at: offset)
  }

  /// Puts the header into the bytes before the content.
  private static func plaintext(
    _ content: UnsafeMutableRawBufferPointer, _ header: DataRecord
  ) -> UnsafeRawBufferPointer {
    let plaintext = unsafe UnsafeMutableRawBufferPointer(
      start: content.baseAddress! - DataRecord.headerByteCount,
      count: content.count + DataRecord.headerByteCount)
    unsafe header.encode(into: plaintext)
    return UnsafeRawBufferPointer(plaintext)
  }

  private static func extent(
    _ header: DataRecord, _ writer: SegmentWriter, at offset: Int
  ) -> Extent {
    Extent(
      offset: header.offset, length: Int64(header.length), segment: writer.id.number,
      grid: UInt32(offset / RecordLayout.grid), skip: 0)
  }

  /// Returns the writer for new records. The caller then calls `leave`.
  private func enter(
    _ lane: ContentLane, _ begin: () throws(StoreError) -> SegmentNumber
  ) throws(StoreError) -> SegmentWriter {
    while true {
      let entered = tail.withLock { tail in
        let current = tail.current[lane]
        if let current { tail.appending[current.id.number, default: 0] += 1 }
        return current
      }
      if let entered { return entered }
      try births.withLock { _ throws(StoreError) in
        if tail.withLock({ $0.current[lane] != nil }) { return }
        let number = try begin()
        let id = SegmentID(kind: .data, number: number)
        let writer = SegmentWriter(id, files: files, preparation: takeTail(of: id))
        tail.withLock { tail in
          tail.current[lane] = writer
          tail.open[number] = writer
        }
      }
    }
  }

  private func takeTail(of id: SegmentID) -> TailPreparation? {
    let name = files.name(id)
    let (ready, isExpected) = tail.withLock { tail in
      defer { tail.nextTail = nil }
      return (tail.nextTail, tail.expectsTail)
    }
    if let ready, ready.name == name { return ready }
    if !isExpected { return nil }
    return TailPreparation(of: name, files.keys.cipher, images: files.images)
  }

  /// Has the tail of the next segment computed if this one was born before it was full and files still come:
  /// while programs read their next file, a processor is free.
  private func prepareNextTail() {
    let (current, isDone) = tail.withLock { ($0.current[.files], $0.nextTail != nil) }
    guard let current, !isDone, current.hadTail, current.used >= files.segmentSize / 4 else {
      return
    }
    let number = SegmentNumber(current.id.number.rawValue &+ 1)
    let name = files.name(SegmentID(kind: .data, number: number), files.session)
    let next = TailPreparation(of: name, files.keys.cipher, images: files.images)
    tail.withLock { $0.nextTail = next }
  }

  /// Returns memory, when nobody uses the space.
  func rest() {
    let unused = tail.withLock { $0.nextTail.take() }
    // It gives its image back first.
    _ = consume unused
    files.rest()
  }

  private func leave(_ writer: SegmentWriter) {
    let isAwaited = tail.withLock { tail in
      let number = writer.id.number
      tail.appending[number]! -= 1
      if tail.appending[number] == 0 { tail.appending[number] = nil }
      return tail.givenUp[number] != nil
    }
    if isAwaited { tail.notifyAll() }
  }

  /// Writes out a full segment, on the thread that filled it. This slows that thread down.
  private func retire(_ writer: SegmentWriter, _ finished: (SegmentNumber) -> Void)
    throws(StoreError)
  {
    let isMine = tail.withLock { tail in
      tail.leave(writer.id.number)
    }
    if !isMine { return }
    do throws(StoreError) { try finish(writer, finished) } catch {
      // On a network: the writer has the records, and the next commit writes them anew.
      let wasAway = files.directory.outages != nil && files.suspects.contains(writer.id)
      if !wasAway { throw error }
    }
  }

  /// If it throws, the writer stays open, and the next flush tries again.
  private func finish(_ writer: SegmentWriter, _ finished: (SegmentNumber) -> Void)
    throws(StoreError)
  {
    try writer.finish()
    let number = writer.id.number
    let hadTail = writer.hadTail
    tail.withLock { tail in
      tail.open[number] = nil
      tail.expectsTail = hadTail
      if files.directory.outages != nil { tail.unproven[number] = writer }
    }
    finished(number)
    forgetProven()
    // The next sync finds and reports what this one does not sync.
    if tail.withLock({ $0.unproven.count }) > ContentStore.unprovenAtMost {
      try? files.sync([.data])
      forgetProven()
    }
  }

  private static let unprovenAtMost = 16

  /// Returns the memory of segments that are synced.
  func forgetProven() {
    if tail.withLock({ $0.unproven.isEmpty }) { return }
    let unsynced = files.unsyncedSegments
    tail.withLock { tail in
      tail.unproven = tail.unproven.filter {
        unsynced.contains(SegmentID(kind: .data, number: $0.key))
      }
    }
  }

  /// Writes every record that was sealed before the call to its file.
  func flush(finished: (SegmentNumber) -> Void) throws(StoreError) {
    for writer in tail.withLock({ Array($0.open.values) }) {
      if writer.isEnded { try finish(writer, finished) } else { try writer.flush() }
    }
    prepareNextTail()
  }

  /// Ends the open segments, however full they are. `isStated` returns true if frames refer to a segment;
  /// one that no frame refers to is garbage, and does not show how the session ended.
  func finish(_ isStated: (SegmentNumber) -> Bool) throws(StoreError) {
    let writers = tail.withLock { tail in
      tail.current = [:]
      return Array(tail.open.values)
    }
    for writer in writers {
      try writer.finish(isStated(writer.id.number) ? .endOfSession : .full)
    }
    tail.withLock { $0.open = [:] }
  }

  /// Ends a segment that may be half full: it gets no more records, and the next flush closes it.
  func end(_ number: SegmentNumber) {
    let writer = tail.withLock { tail in
      tail.leave(number)
      return tail.open[number]
    }
    guard let writer else { return }
    writer.end()
    tail.waiting { $0.appending[number] == nil ? () : nil }
  }

  /// Ends a segment: it gets no more records and no more writes. Returns when every thread that sealed a
  /// record there has returned its place.
  func giveUp(_ number: SegmentNumber) {
    let writer = tail.withLock { tail in
      tail.leave(number)
      let unproven = tail.unproven.removeValue(forKey: number)
      if let writer = tail.open.removeValue(forKey: number) ?? unproven {
        tail.givenUp[number] = writer
      }
      return tail.givenUp[number]
    }
    guard let writer else { return }
    writer.end()
    tail.waiting { $0.appending[number] == nil ? () : nil }
  }

  /// Nothing in a segment that was given up counts any more.
  func forget(_ number: SegmentNumber) { tail.withLock { $0.givenUp[number] = nil } }

  /// Segments that may still be written to, or that a thread is about to refer to.
  var openSegments: Set<SegmentNumber> {
    tail.withLock { Set($0.open.keys).union($0.givenUp.keys).union($0.appending.keys) }
  }

  /// The segments that get records, and how much of each is in use. Waits for no lock: nil, or nil bytes,
  /// where a thread holds it.
  var openSegmentsAtOnce: [(number: SegmentNumber, used: Int?)]? {
    tail.withLockIfFree { $0.open }.map { open in
      open.sorted { $0.key < $1.key }.map { ($0.key, $0.value.usedAtOnce) }
    }
  }

  /// Locks that threads hold.
  var heldLocks: [HeldLock] {
    [births.held(as: "new segment"), tail.held(as: "open segments")].compactMap {
      $0
    }
  }

  /// Free bytes in the segment for new records.
  var openRoom: Int {
    tail.withLock { $0.current[.files] }.map { files.segmentSize - $0.used } ?? 0
  }
}

/// The place of one data record in a segment, which a thread seals there, once.
package struct RecordPlace: Sendable {
  let writer: SegmentWriter
  let offset: Int
}
