package import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// The end of the journal, where the next frame continues.
struct JournalPosition: Sendable {
  var segment = SegmentNumber(0)
  var birth = SegmentBirth.none
  var frame = FrameNumber.none
  var hash = [UInt8](repeating: 0, count: JournalFrame.hashByteCount)
  /// The offset of the next frame in `segment`.
  var offset = 0
  var checkpoint = CheckpointReference()
  var formerCheckpoint = CheckpointReference()
  /// The journal segments before `segment`, the newest first.
  var ancestors: [JournalHead.Ancestor] = []
  /// The missing part of the journal that no repair has cleared.
  var loss: JournalLoss?
}

/// Appends frames to the journal and begins its segments. Writes journal segments through `SegmentWriter` and
/// `SegmentFiles`, and nothing else; it does not know the catalog. Calls `syncAll` where data must be on disk
/// first. Not thread-safe: `Durability.journal` guards it.
struct JournalWriter {
  private(set) var position: JournalPosition
  private var writer: SegmentWriter?
  /// Full. It ends when its successor is written, so that its seal proves that there is one.
  private var predecessor: SegmentWriter?
  private let files: SegmentFiles
  private let boot: BootIdentity
  private let fence: Fence
  /// The number of the newest existing journal segment, including dead ones.
  private(set) var newest: SegmentNumber
  /// Bytes of the journal segments that replay would read.
  private(set) var byteCount: Int
  /// Items that no frame holds yet, oldest first.
  private var waiting: [[UInt8]] = []
  /// True if the rest of the first of them continues a frame.
  private var isContinued = false
  /// True if the last `write` failed and left data in `waiting` or in the segment's image.
  private var isBehind = false

  /// True if `write` has something to do.
  var hasWaiting: Bool { isBehind || !waiting.isEmpty }

  init(
    _ position: JournalPosition, newest: SegmentNumber, byteCount: Int, files: SegmentFiles,
    boot: BootIdentity, fence: Fence
  ) {
    self.boot = boot
    self.fence = fence
    self.position = position
    self.newest = newest
    self.byteCount = byteCount
    self.files = files
  }

  /// Queues items for one frame, or for several that count only together.
  mutating func enqueue(_ items: [UInt8]) { waiting.append(items) }

  /// Appends frames with all queued items and writes them to the segment. The records that they refer to are
  /// in their segments already. Calls `syncAll` when a new segment must begin: it syncs everything that was
  /// written, because the head of the new segment confirms the old one. After an error it may be called
  /// again, and continues where it stopped.
  mutating func write(syncAll: () throws(StoreError) -> Void) throws(StoreError) {
    isBehind = true
    while let items = waiting.first {
      let count = min(JournalFrame.itemByteLimit, items.count)
      let frame = JournalFrame(
        number: position.frame.next, previousHash: position.hash, continues: count < items.count,
        isContinuation: isContinued, time: files.clock.now, items: Array(items[..<count]))
      try append(frame, syncAll)
      isContinued = count < items.count
      if isContinued { waiting[0].removeFirst(count) } else { waiting.removeFirst() }
    }
    try writer?.flush()
    try endPredecessor()
    isBehind = false
  }

  private mutating func append(_ frame: JournalFrame, _ syncAll: () throws(StoreError) -> Void)
    throws(StoreError)
  {
    let plaintext = frame.encoded()
    let padded = RecordLayout.paddedByteCount(plaintext: plaintext.count)
    if writer == nil { try begin(syncAll) }
    var offset = seal(plaintext, .frame)
    if offset == nil {
      try begin(syncAll)
      offset = seal(plaintext, .frame)
    }
    guard let offset else {
      throw StoreError(.inputOutput, "a frame of \(padded) bytes is larger than a segment")
    }
    position.frame = frame.number
    position.hash = Digest.blake2b(plaintext)
    position.offset = offset + padded
  }

  /// Begins the next journal segment: its head records the end of the one before.
  mutating func begin(
    spendsReserve: Bool = true, _ syncAll: () throws(StoreError) -> Void
  ) throws(StoreError) {
    try fence.take(spendsReserve: spendsReserve)
    try endPredecessor()
    try writer?.flush()
    try syncAll()
    newest.rawValue += 1
    var head = JournalHead(number: newest)
    head.predecessor = position.segment
    head.predecessorBirth = position.birth
    head.cutFrame = position.frame
    head.cutOffset = UInt64(position.offset)
    head.cutHash = position.hash
    head.checkpoint = position.checkpoint
    head.formerCheckpoint = position.formerCheckpoint
    head.ancestors = position.ancestors
    head.loss = position.loss.map(JournalHead.LossMark.init)
    head.time = files.clock.now
    head.boot = boot
    let id = SegmentID(kind: .journal, number: newest)
    position.birth = files.bear(id)
    position.ancestors = Array(head.lineage.prefix(JournalHead.ancestorLimit))
    predecessor = writer
    predecessor?.end()
    writer = SegmentWriter(id, files: files, spendsReserve: spendsReserve)
    byteCount += files.segmentSize
    position.segment = newest
    for _ in 0..<2 {
      guard let offset = seal(head.encoded(), .journalHead) else { break }
      position.offset = offset + RecordLayout.paddedByteCount(plaintext: JournalHead.byteCount)
    }
    try writer?.flush()
    try endPredecessor()
  }

  private mutating func endPredecessor() throws(StoreError) {
    try predecessor?.finish()
    predecessor = nil
  }

  /// Makes replay start at this checkpoint: begins a segment that names it. With `keepsFormer` the previous
  /// checkpoint stays as a spare.
  mutating func adopt(
    _ checkpoint: CheckpointReference, keepsFormer: Bool = true,
    syncAll: () throws(StoreError) -> Void
  ) throws(StoreError) {
    position.formerCheckpoint = keepsFormer ? position.checkpoint : CheckpointReference()
    position.checkpoint = checkpoint
    let journals = Int(newest.rawValue) + 1 - Int(checkpoint.firstJournal.rawValue)
    byteCount = journals * files.segmentSize
    try begin(syncAll)
  }

  /// Sets the loss that heads record from the next segment on.
  mutating func setLoss(_ loss: JournalLoss?) { position.loss = loss }

  /// Heads from the next segment on name no former checkpoint.
  mutating func giveUpFormerCheckpoint() { position.formerCheckpoint = CheckpointReference() }

  /// True if this session has begun a segment.
  var isBegun: Bool { writer != nil }

  /// Gives up the segment, and items that no frame holds yet: a checkpoint will hold them.
  mutating func abandon() {
    waiting = []
    isContinued = false
    isBehind = false
    writer = nil
    predecessor = nil
  }

  /// Ends the journal for this session.
  mutating func finish() throws(StoreError) {
    try endPredecessor()
    try writer?.finish(.endOfSession)
    writer = nil
  }

  private func seal(_ plaintext: [UInt8], _ kind: RecordKind) -> Int? {
    writer?.append(plaintext, kind: kind)
  }
}

extension BootIdentity {
  /// The identity of this machine's current run: a hash of what Linux calls the boot id.
  package static let current: BootIdentity = {
    guard let id = try? readWholeFile("/proc/sys/kernel/random/boot_id"), id.count >= 36 else {
      return .unknown
    }
    return BootIdentity(bytes: Array(Digest.blake2b(id)[..<byteCount]))
  }()
}
