import AlbumFormat
import AlbumModel
import AlbumSecrets

/// What one journal segment holds, in the order of its offsets. Reading changes nothing.
struct JournalScan {
  struct Frame {
    var frame: JournalFrame
    var hash: [UInt8]
    /// Where the next frame would begin.
    var end: Int
    /// Between the one before and this one there are cells that were not written yet.
    var followsUnwritten = false
  }

  var head: JournalHead?
  /// Says that the segment was finished and is whole; nil: it was not, or nobody can tell.
  var seal: SegmentSeal?
  /// How many of the two heads open.
  var headCount = 0
  var frames: [Frame] = []
  /// Where the frames begin.
  var start = 0
  /// The file has its full size, and no sector of zeros: as it was born.
  var isWhole = false
  /// What follows the last frame was not written yet, or the segment is not there: frames at its end may be
  /// missing in a copy. Else nothing but damage takes them away.
  var isEndUnwritten = true
  /// Records of a segment of another kind are in the file: somebody put that in its place.
  var holdsOtherKind = false

  /// Of a segment that is not there.
  init() {}

  /// Walks the grid. What does not open is random tail, a stretch that a failed write left, or
  /// damage; which of them, only the order of the frames can tell.
  init(_ id: SegmentID, files: SegmentFiles) throws(StoreError) {
    guard let image = try files.contents(id) else { return }
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
      case .data, .checkpoint, .seal: break
      }
    }
    isEndUnwritten = end < files.segmentSize && cells.isUnwritten(at: end)
    if head == nil, frames.isEmpty { holdsOtherKind = image.hasContent(files.keys.cipher) }
  }
}

extension JournalScan {
  /// The last frame that is known to have been on disk: what the last barrier but one says, since
  /// the last one began only when that was synced.
  var provenFrame: FrameNumber {
    let barriers = frames.compactMap(\.frame.barrier)
    let stated = head?.cutFrame ?? .none
    return barriers.count < 2 ? stated : max(stated, barriers[barriers.count - 2])
  }

  /// The last frame of which all content was synced: what the last barrier says.
  var syncedFrame: FrameNumber {
    max(head?.cutFrame ?? .none, frames.compactMap(\.frame.barrier).last ?? .none)
  }

  /// Whether the segment was synced once, and so was on disk in its full size, head and tail.
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
  /// Whether the segment was on disk whole once, so that a head that does not open is damage; else it was
  /// born just before a crash.
  var wasBegun: Bool { isProvenDurable || seal != nil || holdsOtherKind }
}

/// Finds every record of a segment without the catalog.
struct SegmentWalk {
  struct Record {
    var kind: RecordKind
    var offset: Int
    /// Where the next record may begin.
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

  /// The next record that opens; nil at the end.
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
  /// Whether records of files or checkpoints begin anywhere. Their headers are not bound to the name of
  /// the segment, and random bytes do not look like them.
  fileprivate func hasContent(_ cipher: RecordCipher) -> Bool {
    stride(from: 0, through: used - RecordLayout.overhead, by: RecordLayout.grid).contains {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[$0..<used])
      let kind = unsafe cipher.header(of: rest)?.kind
      return kind == .data || kind == .checkpoint
    }
  }

  /// Whether 512 bytes on a grid of 512 are all zeros: never so in what was sealed or random.
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
