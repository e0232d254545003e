import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

// Moves living content out of segments, for compaction and for segments that earlier sessions left
// half-filled. It decrypts records and seals them anew, because their associated data binds them to their
// place:
//
// 1. It looks up the references to content in these segments.
// 2. It copies each byte once, even if several extents share it, in whole records where pieces of a file are
//    adjacent.
// 3. It syncs the copies, so that the barrier after their frame has little to sync; no caller waits for
//    that.
// 4. It redirects every extent that still points to the original to the copy, a slice at a time. Between two
//    slices some sharers read the original and some the copy. The next commits append the frames: after the
//    copies, before the segment is retired.
//
// A copy carries the header values of the newest record that it was read from: inode, place in the file,
// write sequence. So an unused copy never looks newer than the content that replaced its original, if the
// catalog is rebuilt from records alone.

/// Content in a segment to be emptied does not decrypt.
struct UnreadableSegment: Error {
  let number: SegmentNumber
  let cause: StoreError
}

/// Empties some segments. For one thread.
struct Mover: ~Copyable {
  /// The size of one read, in bytes: whole records, so that each is decrypted once.
  private static let window = 16 * Int(DataRecord.contentLimit)

  private let compactor: Compactor
  private let segments: Set<SegmentNumber>
  /// The catalog's number for this emptying.
  private let emptying: Int
  private let buffer = SegmentImage(byteCount: ReadHeadroom.byteCount + Mover.window)
  private var relocations = Relocations()
  /// Every copy that was made: those that files got are held by these as well.
  private var copies: HeldExtents
  /// The number of bytes copied.
  private(set) var copied: Int64 = 0

  private init(_ compactor: Compactor, _ segments: Set<SegmentNumber>, _ emptying: Int) {
    self.compactor = compactor
    copies = HeldExtents(compactor.catalog)
    self.segments = segments
    self.emptying = emptying
  }

  /// The result of emptying.
  enum Outcome {
    /// Nothing in the catalog refers to these segments any more.
    case moved(bytes: Int64)
    /// Content of one does not decrypt; nothing was moved.
    case unreadable(UnreadableSegment)
  }

  /// Moves the living content of these segments. Throws if there is no room or a sync failed; then nothing
  /// was moved.
  static func empty(_ segments: [SegmentNumber], of compactor: Compactor) throws(StoreError)
    -> Outcome
  {
    compactor.letGoOfDetached()
    let segments = Set(segments)
    let emptying = compactor.catalog.withLock { $0.beginEmptying(segments) }
    defer { compactor.catalog.withLock { $0.endEmptying(emptying) } }
    var mover = Mover(compactor, segments, emptying)
    let references = mover.references()
    if let unreadable = try mover.copy(LivingParts.of(references)) {
      return .unreadable(unreadable)
    }
    try mover.apply(to: references)
    return .moved(bytes: mover.copied)
  }

  private func references() -> [Reference] {
    var found: [Reference] = []
    compactor.forEachExtent { state, extent in
      if segments.contains(extent.segment) {
        found.append(Reference(inode: state.number, extent: extent))
      }
    }
    return found
  }

  // MARK: Copying

  private mutating func copy(_ parts: [Reference]) throws(StoreError) -> UnreadableSegment? {
    do throws(StoreError) {
      var next = 0
      while next < parts.count {
        let stream = Mover.stream(in: parts, from: next)
        try copyStream(parts[stream])
        next = stream.upperBound
      }
      return nil
    } catch {
      if let unreadable { return unreadable }
      throw error
    }
  }

  /// Set if reading failed, but not writing.
  private var unreadable: UnreadableSegment?

  /// Parts that are adjacent in a file.
  private static func stream(in parts: [Reference], from first: Int) -> Range<Int> {
    var end = first + 1
    while end < parts.count, parts[end].inode == parts[first].inode,
      parts[end].extent.offset == parts[end - 1].extent.end
    {
      end += 1
    }
    return first..<end
  }

  private mutating func copyStream(_ parts: ArraySlice<Reference>) throws(StoreError) {
    guard let first = parts.first, let last = parts.last else { return }
    var part = parts.startIndex
    var offset = first.extent.offset
    while offset < last.extent.end {
      let end = min(last.extent.end, offset + Int64(Mover.window))
      while parts[part].extent.end <= offset { part += 1 }
      let pieces = Mover.pieces(of: parts[part...], from: offset, to: end)
      let origin = try read(pieces, at: offset)
      try store(pieces, of: first.inode, from: offset, to: end, origin)
      offset = end
    }
  }

  private static func pieces(of parts: ArraySlice<Reference>, from: Int64, to: Int64) -> [Extent] {
    var pieces: [Extent] = []
    for part in parts {
      if part.extent.offset >= to { break }
      let lower = max(from, part.extent.offset)
      pieces.append(part.extent.clipped(from: lower, to: min(to, part.extent.end)))
    }
    return pieces
  }

  /// Reads from the end to the start, because reading a piece overwrites the bytes before it.
  private mutating func read(_ pieces: [Extent], at offset: Int64) throws(StoreError)
    -> RecordOrigin
  {
    var origin = RecordOrigin()
    for piece in pieces {
      let target = unsafe slice(piece.offset - offset, piece.length)
      do throws(StoreError) {
        try unsafe compactor.content.read(piece, into: target, noting: &origin)
      } catch {
        unreadable = UnreadableSegment(number: piece.segment, cause: error)
        throw error
      }
    }
    return origin
  }

  private func slice(_ start: Int64, _ count: Int64) -> UnsafeMutableRawBufferPointer {
    let first = ReadHeadroom.byteCount + Int(start)
    return unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[first..<first + Int(count)])
  }

  /// Seals the content that was read. Sealing a record overwrites the end of the one before, which is sealed
  /// already.
  private mutating func store(
    _ pieces: [Extent], of inode: InodeNumber, from: Int64, to: Int64, _ origin: RecordOrigin
  ) throws(StoreError) {
    defer { unsafe erase(slice(0, to - from)) }
    var offset = from
    while offset < to {
      let length = min(DataRecord.contentLimit, to - offset)
      let header = DataRecord(
        inode: inode, offset: offset, length: UInt32(length), sequence: origin.sequence,
        fileLength: origin.fileLength)
      let copy = try unsafe compactor.records.seal(
        slice(offset - from, length), header, mayCut: true, isMoved: true)
      copies.add(copy)
      recordCopy(of: pieces, to: copy)
      copied += copy.length
      offset = copy.end
    }
  }

  private mutating func recordCopy(of pieces: [Extent], to copy: Extent) {
    for piece in pieces where piece.offset < copy.end && piece.end > copy.offset {
      let (lower, upper) = (max(piece.offset, copy.offset), min(piece.end, copy.end))
      relocations.record(
        piece.clipped(from: lower, to: upper), to: copy.clipped(from: lower, to: upper))
    }
  }

  // MARK: Applying

  private mutating func apply(to references: [Reference]) throws(StoreError) {
    try compactor.durability.flushContent()
    try compactor.files.syncAhead(.data)
    relocations.order()
    if compactor.options.omitting.contains(.comparedMove) {
      compactor.catalog.withLock { $0.applyBlindly(relocations, to: references) }
    }
    // Backwards, so that adjacent content of a file moves in its order.
    var ranges = references.reversed().map { ContentRange($0.inode, $0.extent) }
    while !ranges.isEmpty {
      compactor.catalog.withLock {
        $0.applyMoves(relocations, to: &ranges, limit: Catalog.extentsPerSlice)
      }
      // Extents that began to share such content in the meantime.
      if ranges.isEmpty { ranges = compactor.catalog.withLock { $0.takeSharers(emptying) } }
    }
  }
}
