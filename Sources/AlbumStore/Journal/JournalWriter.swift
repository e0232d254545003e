import AlbumFormat
import AlbumModel
import AlbumSecrets

/// Where the journal stands: what the next frame continues.
struct JournalPosition: Sendable {
  var segment = SegmentNumber(0)
  var frame = FrameNumber.none
  var hash = [UInt8](repeating: 0, count: JournalFrame.hashByteCount)
  /// In `segment`: where the next frame would begin.
  var offset = 0
  var checkpoint = CheckpointReference()
  var formerCheckpoint = CheckpointReference()
}

/// Appends frames. Not thread-safe: the lock of `Space.commit` guards it.
struct JournalWriter {
  private(set) var position: JournalPosition
  private var writer: SegmentWriter?
  private let files: SegmentFiles
  /// The number of the newest journal segment that exists, dead ones included.
  private(set) var newest: SegmentNumber
  /// Bytes of journal segments that replay would have to read.
  private(set) var byteCount: Int

  init(_ position: JournalPosition, newest: SegmentNumber, byteCount: Int, files: SegmentFiles) {
    self.position = position
    self.newest = newest
    self.byteCount = byteCount
    self.files = files
  }

  /// Appends items as one frame, or as several that count only together, and writes them to the
  /// segment. `syncAll` is called when a new segment must begin: it syncs everything that was
  /// written, since the head of the new one says so of the old.
  mutating func append(_ items: [UInt8], syncAll: () throws(StoreError) -> Void) throws(StoreError)
  {
    var start = 0
    repeat {
      let end = min(start + JournalFrame.itemByteLimit, items.count)
      let frame = JournalFrame(
        number: position.frame.next, previousHash: position.hash, continues: end < items.count,
        isContinuation: start > 0, items: Array(items[start..<end]))
      try append(frame, syncAll)
      start = end
    } while start < items.count
    try writer?.flush()
  }

  private mutating func append(_ frame: JournalFrame, _ syncAll: () throws(StoreError) -> Void)
    throws(StoreError)
  {
    let plaintext = frame.encoded()
    let padded = RecordLayout.paddedByteCount(plaintext: plaintext.count)
    if writer == nil { try begin(syncAll) }
    var offset = try seal(plaintext, .frame)
    if offset == nil {
      try begin(syncAll)
      offset = try seal(plaintext, .frame)
    }
    guard let offset else {
      throw StoreError(.inputOutput, "a frame of \(padded) bytes is larger than a segment")
    }
    position.frame = frame.number
    position.hash = Digest.blake2b(plaintext)
    position.offset = offset + padded
  }

  /// Begins the next journal segment: its head states where the one before ends.
  mutating func begin(_ syncAll: () throws(StoreError) -> Void) throws(StoreError) {
    try writer?.finish()
    try syncAll()
    newest.rawValue += 1
    var head = JournalHead(number: newest)
    head.predecessor = position.segment
    head.cutFrame = position.frame
    head.cutOffset = UInt64(position.offset)
    head.cutHash = position.hash
    head.checkpoint = position.checkpoint
    head.formerCheckpoint = position.formerCheckpoint
    writer = SegmentWriter(SegmentID(kind: .journal, number: newest), files: files)
    byteCount += files.segmentSize
    position.segment = newest
    for _ in 0..<2 {
      guard let offset = try seal(head.encoded(), .journalHead) else { break }
      position.offset = offset + RecordLayout.paddedByteCount(plaintext: JournalHead.byteCount)
    }
    try writer?.flush()
  }

  /// From now on replay starts at this checkpoint: begins a segment that says so.
  mutating func adopt(_ checkpoint: CheckpointReference, syncAll: () throws(StoreError) -> Void)
    throws(StoreError)
  {
    position.formerCheckpoint = position.checkpoint
    position.checkpoint = checkpoint
    byteCount = Int(newest.rawValue - checkpoint.firstJournal.rawValue + 1) * files.segmentSize
    try begin(syncAll)
  }

  /// Whether this session has begun a segment.
  var isBegun: Bool { writer != nil }

  /// Nothing is appended any more.
  mutating func finish() throws(StoreError) {
    try writer?.finish()
    writer = nil
  }

  private func seal(_ plaintext: [UInt8], _ kind: RecordKind) throws(StoreError) -> Int? {
    guard let writer else { return nil }
    var result: Result<Int?, StoreError> = .success(nil)
    unsafe plaintext.withUnsafeBytes { bytes in
      do throws(StoreError) {
        result = .success(try unsafe writer.append(bytes, kind: kind))
      } catch { result = .failure(error) }
    }
    return try result.get()
  }
}
