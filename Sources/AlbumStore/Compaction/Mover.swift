import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

// Moving living content out of segments, for compaction and for what earlier sessions left
// half-filled. Records are opened and sealed anew, since the associated data binds them to their
// place:
//
// 1. Who refers to content in these segments is looked up.
// 2. Each byte of it is copied once, however many share it, in whole records as far as pieces of a
//    file follow one another.
// 3. The copies are synced, so that the barrier behind their frame has little to sync; nobody waits for
//    that.
// 4. Every extent that still points to what was copied is made to point to the copy, a slice at a time:
//    between two of them some sharers read the original and some the copy. The frames are appended by
//    the next commits: behind the copies, before the segment is retired.
//
// A copy says of itself what the newest of the records says that it was read from: inode, place in
// the file, write sequence. So one that was made in vain never passes for newer than what replaced
// its original, should the catalog be built from records alone.

/// Content in a segment to be emptied does not open.
struct UnreadableSegment: Error {
  let number: SegmentNumber
  let cause: StoreError
}

/// Empties some segments. Used by one thread.
struct Mover: ~Copyable {
  /// What is read at a time, in bytes: whole records, so that each is opened once.
  private static let window = 16 * Int(DataRecord.contentLimit)

  private let compactor: Compactor
  private let segments: Set<SegmentNumber>
  /// What the catalog calls this.
  private let emptying: Int
  private let buffer = SegmentImage(byteCount: ReadHeadroom.byteCount + Mover.window)
  private var relocations = Relocations()
  /// Every copy that was made: those that files got are held by these as well.
  private var copies: HeldExtents
  /// Bytes that were copied.
  private(set) var copied: Int64 = 0

  private init(_ compactor: Compactor, _ segments: Set<SegmentNumber>, _ emptying: Int) {
    self.compactor = compactor
    copies = HeldExtents(compactor.catalog)
    self.segments = segments
    self.emptying = emptying
  }

  /// What came of it.
  enum Outcome {
    /// Nothing refers to these segments any more, but for what is not in the catalog yet.
    case moved(bytes: Int64)
    /// Content of one does not open; nothing was moved.
    case unreadable(UnreadableSegment)
  }

  /// Moves what lives in these segments. Throws when there is no room or a sync failed; then nothing
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

  /// Set when reading failed, and not writing.
  private var unreadable: UnreadableSegment?

  /// Parts that follow one another in a file.
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

  /// Seals what was read; sealing a record clobbers the end of the one before, which is sealed.
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
      note(pieces, to: copy)
      copied += copy.length
      offset = copy.end
    }
  }

  private mutating func note(_ pieces: [Extent], to copy: Extent) {
    for piece in pieces where piece.offset < copy.end && piece.end > copy.offset {
      let (lower, upper) = (max(piece.offset, copy.offset), min(piece.end, copy.end))
      relocations.note(
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
    // Backwards, so that what follows one another in a file is moved in that order.
    var ranges = references.reversed().map { ContentRange($0.inode, $0.extent) }
    while !ranges.isEmpty {
      compactor.catalog.withLock {
        $0.applyMoves(relocations, to: &ranges, limit: Catalog.extentsPerSlice)
      }
      // Who came to share such content meanwhile.
      if ranges.isEmpty { ranges = compactor.catalog.withLock { $0.takeSharers(emptying) } }
    }
  }
}
