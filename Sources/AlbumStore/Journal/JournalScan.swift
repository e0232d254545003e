import AlbumFormat
import AlbumModel
import AlbumSecrets

/// The content of one journal segment, in the order of its offsets. Reading changes nothing.
struct JournalScan {
  struct Frame {
    var frame: JournalFrame
    var hash: [UInt8]
    /// The offset of the next frame.
    var end: Int
    /// True if there are unwritten cells between the previous frame and this one.
    var followsUnwritten = false
  }

  var head: JournalHead?
  /// Proves that the segment is complete; nil if it is not, or if that is unknown.
  var seal: SegmentSeal?
  /// The number of heads that decrypt, of two.
  var headCount = 0
  var frames: [Frame] = []
  /// The offset of the first frame.
  var start = 0
  /// True if the file has its full size and no sector of zeros, as it started.
  var isWhole = false
  /// True if the bytes after the last frame were not written yet, or if the segment is missing: a copy may
  /// lack frames at its end. Otherwise only damage removes frames.
  var isEndUnwritten = true
  /// True if the file has records of another kind: another segment is in its place.
  var holdsOtherKind = false
  /// Where the next record would begin, and the bytes there; no bytes if the segment is full.
  var end = 0
  var bytesAtEnd: [UInt8] = []

  /// For a missing segment.
  init() {}

  /// Walks the grid. Bytes that do not decrypt are random tail, a gap from a failed write, or damage; only
  /// the order of the frames shows which.
  init(_ id: SegmentID, files: SegmentFiles) throws(StoreError) {
    let image = files.images.take()
    defer { files.images.give(image) }
    if try !files.load(id, into: image) { return }
    seal = SegmentSeal(in: image, of: files.name(id), files.keys.cipher)
    isWhole = image.used == files.segmentSize && !image.hasEmptySector
    let cells = UnwrittenCells(image: image, name: files.name(id), cipher: files.keys.cipher)
    var walk = SegmentWalk(image, name: files.name(id), cipher: files.keys.cipher)
    var end = SegmentSeal.reservedByteCount
    while let record = walk.next() {
      defer { end = max(end, record.end) }
      switch record.kind {
      case .journalHead:
        if let found = try? JournalHead(decoding: record.plaintext), found.number == id.number {
          head = head ?? found
          headCount += 1
        }
        start = max(start, record.end)
      case .frame:
        let frame: JournalFrame
        do throws(FormatError) { frame = try JournalFrame(decoding: record.plaintext) } catch {
          throw StoreError(.unsupportedFeature, "journal: \(error)", path: files.path(id))
        }
        frames.append(
          Frame(
            frame: frame, hash: Digest.blake2b(record.plaintext), end: record.end,
            followsUnwritten: record.offset > end && cells.hasTail(in: end..<record.offset)))
      case .data, .checkpoint, .seal, .fence: break
      }
    }
    isEndUnwritten = end < files.segmentSize && cells.isUnwritten(at: end)
    self.end = end
    bytesAtEnd = image.bytes(at: end, count: JournalEnd.byteCount)
    if head == nil, frames.isEmpty { holdsOtherKind = image.hasContent(files.keys.cipher) }
  }
}

extension JournalScan {
  /// The last frame that was certainly on disk. The last barrier but one names it, because the last barrier
  /// began only after that one was synced.
  var provenFrame: FrameNumber {
    let barriers = frames.compactMap(\.frame.barrier)
    let stated = head?.cutFrame ?? .none
    return barriers.count < 2 ? stated : max(stated, barriers[barriers.count - 2])
  }

  /// The last frame whose content was all synced, as the last barrier says.
  var syncedFrame: FrameNumber {
    max(head?.cutFrame ?? .none, frames.compactMap(\.frame.barrier).last ?? .none)
  }

  /// Returns the last frame that every mount accepts which sees these frames and has replayed up to `cut`.
  /// The frames follow `cut` without a gap, and lack no content: either the last barrier says that they were
  /// synced, or all records to which they refer decrypt, which `decrypts` checks.
  func believedFrame(
    behind cut: FrameNumber, _ hash: [UInt8], decrypts: (JournalFrame) -> Bool
  ) -> FrameNumber {
    var (believed, reached, reachedHash) = (cut, cut, hash)
    for found in frames where found.frame.number > cut {
      if found.frame.number != reached.next || found.frame.previousHash != reachedHash { break }
      if found.frame.number > syncedFrame, !decrypts(found.frame) { break }
      (reached, reachedHash) = (found.frame.number, found.hash)
      if !found.frame.continues { believed = reached }
    }
    return believed
  }

  /// True if the segment was synced once, so that it was on disk in its full size.
  var isProvenDurable: Bool { frames.filter { $0.frame.barrier != nil }.count >= 2 }

  /// An unmount leaves no frames behind the head, or two barriers at the end.
  var endsByUnmount: Bool {
    guard let last = frames.last else { return true }
    guard frames.count >= 2, let barrier = frames[frames.count - 2].frame.barrier else {
      return false
    }
    return last.frame.barrier != nil && barrier.rawValue &+ 2 == last.frame.number.rawValue
  }
}

extension JournalFrame {
  /// The frame that this one says is on disk, if it is a barrier.
  var barrier: FrameNumber? {
    // A mount asks this of every frame, and few frames are worth decoding for it.
    guard JournalItem.beginWithBarrier(items) else { return nil }
    var found: FrameNumber?
    var count = 0
    try? decodeItems(items) { item in
      count += 1
      if case .barrier(let frame) = item { found = frame }
    }
    return count == 1 ? found : nil
  }
}

extension JournalScan {
  /// True if the whole segment was on disk once, so that a head that does not decrypt is damage. Otherwise
  /// the segment was begun just before a crash.
  var wasBegun: Bool { isProvenDurable || seal != nil || holdsOtherKind }
}

/// Finds every record of a segment without the catalog.
struct SegmentWalk {
  struct Record {
    var kind: RecordKind
    var offset: Int
    /// The earliest offset of the next record.
    var end: Int
    var plaintext: [UInt8]
  }

  private let image: SegmentImage
  private let name: SegmentName
  private let cipher: RecordCipher
  private var position = 0

  init(_ image: SegmentImage, name: SegmentName, cipher: RecordCipher) {
    self.image = image
    self.name = name
    self.cipher = cipher
  }

  /// The next record that decrypts; nil at the end.
  mutating func next() -> Record? {
    while position + RecordLayout.overhead <= image.used {
      let offset = position
      let rest = unsafe UnsafeRawBufferPointer(rebasing: image.bytes[offset..<image.used])
      if let (kind, byteCount) = unsafe cipher.header(of: rest),
        let plaintext = unsafe open(rest, kind, byteCount, offset)
      {
        position += RecordLayout.paddedByteCount(plaintext: byteCount)
        return Record(kind: kind, offset: offset, end: position, plaintext: plaintext)
      }
      position += RecordLayout.grid
    }
    return nil
  }

  private func open(_ rest: UnsafeRawBufferPointer, _ kind: RecordKind, _ count: Int, _ offset: Int)
    -> [UInt8]?
  {
    let sealed = RecordLayout.sealedByteCount(plaintext: count)
    guard sealed <= rest.count else { return nil }
    var isGenuine = false
    let plaintext = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      isGenuine = unsafe cipher.open(
        UnsafeRawBufferPointer(rebasing: rest[..<sealed]), kind: kind, byteCount: count,
        segment: name, offset: Int64(offset), into: UnsafeMutableRawBufferPointer(buffer))
      initialized = count
    }
    return isGenuine ? plaintext : nil
  }
}

extension SegmentImage {
  /// True if records of files or checkpoints begin anywhere. Their headers are not bound to the name of the
  /// segment, and random bytes do not look like headers.
  fileprivate func hasContent(_ cipher: RecordCipher) -> Bool {
    stride(from: 0, through: used - RecordLayout.overhead, by: RecordLayout.grid).contains {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[$0..<used])
      let kind = unsafe cipher.header(of: rest)?.kind
      return kind == .data || kind == .checkpoint
    }
  }

  /// True if a sector of 512 bytes is all zeros, which sealed or random bytes never are.
  fileprivate var hasEmptySector: Bool {
    var start = 0
    while start + 512 <= used {
      let sector = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<start + 512])
      if unsafe sector.loadUnaligned(as: UInt64.self) == 0, unsafe sector.allSatisfy({ $0 == 0 }) {
        return true
      }
      start += 512
    }
    return false
  }
}
