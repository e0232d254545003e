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
  private let scratch: ScratchPool

  private struct Tail {
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
  private let tail = Monitor(Tail(), rank: .openSegments)
  private let births = Mutex((), rank: .newSegment)

  init(files: SegmentFiles) {
    self.files = files
    scratch = ScratchPool(
      byteCount: ContentStore.recordsPerRead * Int(DataRecord.fullGridCount) * RecordLayout.grid,
      kept: 4)
  }

  /// The greatest stretch for one read: 1 MiB and the rest of the last record.
  private static let recordsPerRead = 17
  private static let recordStride = Int(DataRecord.fullGridCount) * RecordLayout.grid

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
    let plaintext = unsafe UnsafeMutableRawBufferPointer(
      start: content.baseAddress! - DataRecord.headerByteCount,
      count: content.count + DataRecord.headerByteCount)
    unsafe header.encode(into: plaintext)
    guard let offset = unsafe writer.append(UnsafeRawBufferPointer(plaintext), kind: .data)
    else { return nil }
    return Extent(
      offset: header.offset, length: Int64(content.count), segment: writer.id.number,
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
        let writer = SegmentWriter(
          SegmentID(kind: .data, number: number), files: files, preparesTail: true)
        tail.withLock { tail in
          tail.current[lane] = writer
          tail.open[number] = writer
        }
      }
    }
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
    tail.withLock { tail in
      tail.open[number] = nil
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

  // MARK: Reading

  /// Reads the whole of an extent, see `Space.read`.
  func read(_ extent: Extent, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) {
    var origin = RecordOrigin()
    try unsafe read(extent, into: buffer, noting: &origin)
  }

  /// The same; also collects in `origin` the headers of the records.
  func read(
    _ extent: Extent, into buffer: UnsafeMutableRawBufferPointer, noting origin: inout RecordOrigin
  ) throws(StoreError) {
    precondition(Int64(buffer.count) == extent.length)
    let limit = Int64(ContentStore.recordsPerRead - 1) * DataRecord.contentLimit
    var position: Int64 = 0
    while position < extent.length {
      let part = extent.clipped(
        from: extent.offset + position, to: extent.offset + min(position + limit, extent.length))
      let target = unsafe UnsafeMutableRawBufferPointer(
        rebasing: buffer[Int(position)..<Int(position + part.length)])
      try unsafe readPart(part, into: target, noting: &origin)
      position += part.length
    }
  }

  /// Begins to load the records of an extent, where they are not in memory.
  func loadAhead(_ extent: Extent) {
    guard let source = try? source(of: extent.segment), let file = source.file else { return }
    let base = Int64(extent.grid) * Int64(RecordLayout.grid)
    let records = (Int64(extent.skip) + extent.length - 1) / DataRecord.contentLimit + 1
    file.loadAhead(base..<base + records * Int64(ContentStore.recordStride))
  }

  private func readPart(
    _ extent: Extent, into buffer: UnsafeMutableRawBufferPointer, noting origin: inout RecordOrigin
  ) throws(StoreError) {
    let source = try source(of: extent.segment)
    let into = Int64(extent.skip) + extent.length
    let last = Int((into - 1) / DataRecord.contentLimit)
    let lastContent = Int(into - Int64(last) * DataRecord.contentLimit)
    let wanted =
      last * ContentStore.recordStride
      + RecordLayout.sealedByteCount(plaintext: DataRecord.headerByteCount + lastContent)
    let base = Int(extent.grid) * RecordLayout.grid
    let image = scratch.take()
    defer { scratch.give(image) }
    let sealed = unsafe UnsafeMutableRawBufferPointer(rebasing: image.bytes[..<wanted])
    try unsafe source.read(into: sealed, at: base)
    var done = 0
    for record in 0...last {
      let start = record * ContentStore.recordStride
      let skip = record == 0 ? Int(extent.skip) : 0
      let count = min(Int(DataRecord.contentLimit) - skip, buffer.count - done)
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
      origin.include(
        try unsafe open(
          image, start, available: wanted - start, base + start, source, skip: skip, into: target))
      done += count
    }
  }

  /// Decrypts the record at `start` of the scratch image (`offset` in its segment) and copies the content
  /// from `skip` on.
  private func open(
    _ image: SegmentImage, _ start: Int, available: Int, _ offset: Int, _ source: Source,
    skip: Int, into target: UnsafeMutableRawBufferPointer
  ) throws(StoreError) -> DataRecord {
    let cipher = files.keys.cipher
    let front = unsafe UnsafeRawBufferPointer(rebasing: image.bytes[start..<start + available])
    guard let (kind, byteCount) = unsafe cipher.header(of: front), kind == .data,
      byteCount >= DataRecord.headerByteCount + skip + target.count
    else { throw source.damaged(offset) }
    let length = RecordLayout.sealedByteCount(plaintext: byteCount)
    if length > available {
      // The extent ends within this record, which continues after the bytes that were read.
      guard start + length <= image.byteCount else { throw source.damaged(offset) }
      let rest = unsafe UnsafeMutableRawBufferPointer(
        rebasing: image.bytes[(start + available)..<(start + length)])
      try unsafe source.read(into: rest, at: offset + available)
    }
    let sealed = unsafe UnsafeMutableRawBufferPointer(
      rebasing: image.bytes[start..<start + length])
    let isWhole = byteCount == DataRecord.headerByteCount + target.count
    let header =
      unsafe isWhole
      ? openInPlace(sealed, byteCount, source.name, offset, target)
      : openWithin(sealed, byteCount, source.name, offset, skip, target)
    guard let header else { throw source.damaged(offset) }
    return header
  }

  /// For the whole content of a record: decrypts it at its destination. Its header lands on the 40 bytes
  /// before, which are restored afterwards.
  private func openInPlace(
    _ sealed: UnsafeMutableRawBufferPointer, _ byteCount: Int, _ name: SegmentName, _ offset: Int,
    _ target: UnsafeMutableRawBufferPointer
  ) -> DataRecord? {
    let header = DataRecord.headerByteCount
    let start = unsafe target.baseAddress! - header
    return unsafe withUnsafeTemporaryAllocation(
      byteCount: header, alignment: 8
    ) { saved in
      unsafe saved.baseAddress!.copyMemory(from: start, byteCount: header)
      defer { unsafe start.copyMemory(from: saved.baseAddress!, byteCount: header) }
      let plaintext = unsafe UnsafeMutableRawBufferPointer(start: start, count: byteCount)
      guard
        unsafe files.keys.cipher.open(
          UnsafeRawBufferPointer(sealed), kind: .data, byteCount: byteCount, segment: name,
          offset: Int64(offset), into: plaintext)
      else { return nil }
      return unsafe DataRecord(
        decoding: UnsafeRawBufferPointer(rebasing: plaintext[..<header]),
        plaintextByteCount: byteCount)
    }
  }

  /// For a part of a record: decrypts it at its place, copies the part and wipes the rest.
  private func openWithin(
    _ sealed: UnsafeMutableRawBufferPointer, _ byteCount: Int, _ name: SegmentName, _ offset: Int,
    _ skip: Int, _ target: UnsafeMutableRawBufferPointer
  ) -> DataRecord? {
    let start = RecordLayout.ciphertextOffset
    let plaintext = unsafe UnsafeMutableRawBufferPointer(
      rebasing: sealed[start..<start + byteCount])
    defer { unsafe erase(plaintext) }
    guard
      unsafe files.keys.cipher.open(
        UnsafeRawBufferPointer(sealed), kind: .data, byteCount: byteCount, segment: name,
        offset: Int64(offset), into: plaintext),
      let header = unsafe DataRecord(
        decoding: UnsafeRawBufferPointer(plaintext), plaintextByteCount: byteCount)
    else { return nil }
    let from = DataRecord.headerByteCount + skip
    unsafe target.copyMemory(
      from: UnsafeRawBufferPointer(rebasing: plaintext[from..<from + target.count]))
    return header
  }

  /// True if all records of an extent decrypt. Throws if the disk returns an error.
  func decrypts(_ extent: Extent) throws(StoreError) -> Bool {
    let image = scratch.take()
    defer { scratch.give(image, wiping: image.byteCount) }
    let piece = ContentStore.recordsPerRead - 1
    var origin = RecordOrigin()
    var position = extent.offset
    while position < extent.end {
      let next = min(extent.end, position + Int64(piece) * DataRecord.contentLimit)
      let target = unsafe UnsafeMutableRawBufferPointer(
        rebasing: image.bytes[
          DataRecord.headerByteCount..<(DataRecord.headerByteCount + Int(next - position))])
      do throws(StoreError) {
        try unsafe readPart(
          extent.clipped(from: position, to: next), into: target, noting: &origin)
      } catch {
        if [.damaged, .missing, .misplaced].contains(error.code) { return false }
        throw error
      }
      position = next
    }
    return true
  }

  /// The same for recovery, to which an extent that the disk cannot read counts as whole, so that recovery
  /// continues: reading the file returns the error, and a check names the file.
  func decryptsOrIsUnreadable(_ extent: Extent) throws(StoreError) -> Bool {
    do throws(StoreError) { return try decrypts(extent) } catch {
      if error.code != .inputOutput { throw error }
      return true
    }
  }

  // MARK: Where a segment is

  /// The source of a segment's bytes: its image while it is being written, otherwise its file.
  private struct Source {
    let name: SegmentName
    let writer: SegmentWriter?
    let file: (any StorageFile)?

    var path: String { SegmentPath.path(of: name) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
      var count = 0
      if let writer {
        count = unsafe writer.copy(at: offset, into: buffer)
      } else if let file {
        do throws(Errno) { count = try unsafe file.read(into: buffer, at: Int64(offset)) } catch {
          throw StoreError(reading: path, error)
        }
      }
      if count < buffer.count { throw damaged(offset) }
    }

    func damaged(_ offset: Int) -> StoreError {
      StoreError(
        .damaged,
        "a record at byte \(offset) of a segment does not decrypt: the file was changed, "
          + "cut short or damaged outside albumfs; restore it from a backup of the store",
        path: path)
    }
  }

  private func source(of number: SegmentNumber) throws(StoreError) -> Source {
    if number == Extent.lostSegment {
      throw StoreError(
        .damaged,
        "the part of the journal that recorded this part of the file is damaged; "
          + "restore the file from a backup, or write it anew")
    }
    let id = SegmentID(kind: .data, number: number)
    let name = files.name(id)
    if let writer = tail.withLock({ $0.open[number] ?? $0.givenUp[number] }) {
      return Source(name: name, writer: writer, file: nil)
    }
    return Source(name: name, writer: nil, file: try files.open(id))
  }
}

/// The header values of the newest of some records. A copy of their content carries these values, so that it
/// never looks newer than the original.
struct RecordOrigin {
  private(set) var sequence: UInt64 = 0
  private(set) var fileLength: Int64 = 0

  mutating func include(_ header: DataRecord) {
    if header.sequence < sequence { return }
    sequence = header.sequence
    fileLength = header.fileLength
  }
}
