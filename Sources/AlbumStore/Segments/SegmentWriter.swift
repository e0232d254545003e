import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// One segment that is being filled. Records are sealed into an image of it in memory, by many
/// threads at once; `flush` writes what is sealed to the file, which is born at its full size with
/// a tail that looks random and that the space knows (`RecordCipher.fillTail`): so a reader can tell what was
/// not written yet when a file was copied from what was damaged since.
///
/// Invariants:
/// 1. `written` <= every offset that is reserved and not sealed; `written` <= `reserved`.
/// 2. What lies below `written` is in the file as it is in the image, and neither changes again.
/// 3. The first cell is kept for the seal (`SegmentSeal`): it is random as long as more may be written.
/// 4. The file's modification time is the checksum of what was written (`SegmentChecksum`).
/// 5. No offset is ever sealed twice. A write that failed (the disk is full, say) is tried again by
///    the next `flush`, with the very same bytes: `written` has not moved, the image keeps them.
final class SegmentWriter: Sendable {
  let id: SegmentID
  let name: SegmentName
  private let files: SegmentFiles
  private let image: SegmentImage
  /// Whether a full disk gives up the reserve for this segment.
  private let spendsReserve: Bool

  private struct State {
    var file: (any StorageFile)?
    /// Whether the file has its full size.
    var isBorn = false
    /// Where the next record goes: always on the grid.
    var reserved = SegmentSeal.reservedByteCount
    /// Offsets that are reserved and not sealed yet.
    var sealing: [Int] = []
    var written = SegmentSeal.reservedByteCount
    var isFlushing = false
    /// Of all that is in the file.
    var checksum = SegmentChecksum()
    /// The first 8 bytes of each cell of the tail that the file was born with, from the cell
    /// `tailStart` on: what is taken out of the checksum when a record replaces it.
    var tail: [UInt64] = []
    var tailStart = 0
    /// The first 8 bytes of the cell that is kept for the seal.
    var firstWord: UInt64 = 0
    /// No more records go in: a smaller one might still fit that came with the one for which the
    /// segment was full, and would never be written.
    var isEnded = false
  }
  private let state = Monitor(State(), rank: .segment)

  init(_ id: SegmentID, files: SegmentFiles, spendsReserve: Bool = true) {
    self.id = id
    self.files = files
    self.spendsReserve = spendsReserve
    name = files.name(id)
    image = files.images.take()
  }

  deinit { files.images.give(image) }

  /// How much is in use, in bytes.
  var used: Int { state.withLock { $0.reserved } }
  /// Whether no record is in it.
  var isEmpty: Bool { used == SegmentSeal.reservedByteCount }
  /// Whether no more records go in.
  var isEnded: Bool { state.withLock { $0.isEnded } }

  /// How much content a last data record may hold that fills the segment to its end, in bytes; nil
  /// where that is too little to cut content for: what is lost so is less than a 64th.
  var worthwhileRoom: Int? {
    let room = files.segmentSize - used
    if room < files.segmentSize / 64 { return nil }
    return room - RecordLayout.overhead - DataRecord.headerByteCount
  }

  /// Seals a record and answers its offset; nil where it does not fit any more. The plaintext may
  /// be larger than what the caller sees as content: its own header comes first.
  func append(_ plaintext: UnsafeRawBufferPointer, kind: RecordKind) -> Int? {
    let padded = RecordLayout.paddedByteCount(plaintext: plaintext.count)
    let reservation = state.withLock { state -> Int? in
      let offset = state.reserved
      if state.isEnded { return nil }
      if offset + padded > files.segmentSize { return nil }
      state.reserved += padded
      state.sealing.append(offset)
      return offset
    }
    guard let offset = reservation else { return nil }
    let sealed = RecordLayout.sealedByteCount(plaintext: plaintext.count)
    unsafe files.keys.cipher.seal(
      plaintext, kind: kind, segment: name, offset: Int64(offset),
      into: UnsafeMutableRawBufferPointer(rebasing: image.bytes[offset..<offset + sealed]))
    if sealed < padded {
      unsafe RandomFill.fill(
        UnsafeMutableRawBufferPointer(
          rebasing: image.bytes[(offset + sealed)..<(offset + padded)]))
    }
    state.withLock { state in
      if let place = state.sealing.firstIndex(of: offset) {
        state.sealing.swapAt(place, state.sealing.count - 1)
        state.sealing.removeLast()
      }
    }
    state.notifyAll()
    return offset
  }

  /// Writes everything that was reserved before the call. After it threw it may be called again.
  func flush() throws(StoreError) {
    let target = state.withLock { $0.reserved }
    while true {
      let next = state.waiting { state -> Step? in
        if state.written >= target { return .done }
        let sealed = state.sealing.min() ?? state.reserved
        if state.isFlushing || sealed < target { return nil }
        state.isFlushing = true
        return .write(from: state.written, to: sealed)
      }
      guard case .write(let from, let to) = next else { return }
      try write(from, to)
    }
  }

  private enum Step {
    case done
    case write(from: Int, to: Int)
  }

  /// A full disk gives up a reserved segment for what was sealed already.
  private func write(_ from: Int, _ to: Int) throws(StoreError) {
    var failure: StoreError?
    repeat {
      do throws(StoreError) {
        try writeOnce(from, to)
        failure = nil
      } catch { failure = error }
    } while failure?.isShortage == true && spendsReserve && files.spendReserve()
    let error = failure
    if let error, !error.isShortage { files.suspect(id) }
    state.withLock { state in
      state.isFlushing = false
      if error == nil { state.written = to }
    }
    state.notifyAll()
    if let error { throw error }
  }

  private func writeOnce(_ from: Int, _ to: Int) throws(StoreError) {
    var (file, isBorn) = state.withLock { ($0.file, $0.isBorn) }
    if file == nil {
      let made = try files.create(id)
      state.withLock { $0.file = made }
      file = made
    }
    do throws(Errno) {
      if isBorn {
        try write(from..<to, file!)
      } else {
        try bear(to, file!)
        isBorn = true
      }
      try file!.setModificationTime(seconds: state.withLock { $0.checksum.time })
    } catch {
      throw StoreError(writing: files.path(id), error)
    }
    files.noteWritten(id, file!)
    try files.requireInPlace(id, file!)
  }

  /// Writes records over the tail.
  private func write(_ range: Range<Int>, _ file: any StorageFile) throws(Errno) {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: image.bytes[range])
    try unsafe file.write(bytes, at: Int64(range.lowerBound))
    state.withLock { state in
      for cell in range.lowerBound / RecordLayout.grid..<range.upperBound / RecordLayout.grid {
        state.checksum.add(state.tail[cell - state.tailStart])
      }
      unsafe state.checksum.add(bytes)
    }
  }

  /// The first write: the whole file, up to `end` from the image, else the tail. In one call: whoever copies
  /// the file finds it empty or whole, so that one which is cut short is damaged.
  private func bear(_ end: Int, _ file: any StorageFile) throws(Errno) {
    let records = unsafe UnsafeRawBufferPointer(
      rebasing: image.bytes[SegmentSeal.reservedByteCount..<end])
    let first = unsafe UnsafeMutableRawBufferPointer(
      rebasing: image.bytes[..<SegmentSeal.reservedByteCount])
    unsafe RandomFill.fill(first)
    let scratch = files.images.take()
    defer { files.images.give(scratch) }
    let tail = unsafe UnsafeMutableRawBufferPointer(
      rebasing: scratch.bytes[end..<files.segmentSize])
    unsafe files.keys.cipher.fillTail(tail, of: name, from: end)
    unsafe UnsafeMutableRawBufferPointer(rebasing: scratch.bytes[..<end]).copyMemory(
      from: UnsafeRawBufferPointer(rebasing: image.bytes[..<end]))
    try unsafe file.write(UnsafeRawBufferPointer(scratch.bytes), at: 0)
    var checksum = unsafe SegmentChecksum(UnsafeRawBufferPointer(first))
    unsafe checksum.add(records)
    unsafe checksum.add(UnsafeRawBufferPointer(tail))
    let words = stride(from: 0, to: tail.count, by: RecordLayout.grid).map {
      UInt64(littleEndian: unsafe tail.loadUnaligned(fromByteOffset: $0, as: UInt64.self))
    }
    state.withLock { state in
      state.isBorn = true
      state.checksum = checksum
      state.tail = words
      state.tailStart = end / RecordLayout.grid
      state.firstWord = UInt64(littleEndian: unsafe first.loadUnaligned(as: UInt64.self))
    }
  }

  /// No more records go in.
  func end() { state.withLock { $0.isEnded = true } }

  /// Ends the segment: writes all of it. With the next sync it gets its seal.
  func finish(_ reason: SegmentSeal.Reason = .full) throws(StoreError) {
    end()
    try flush()
    let ended = state.withLock { state -> EndedSegment? in
      guard let file = state.file, state.isBorn else { return nil }
      state.tail = []
      return EndedSegment(
        file: file, seal: SegmentSeal(time: files.clock.now, reason: reason),
        checksum: state.checksum, firstWord: state.firstWord)
    }
    guard let ended else { return }
    files.noteEnded(id, ended)
    ended.file.startWriteback()
  }

  /// Copies sealed bytes out of memory; what lies beyond the records is left as it is.
  func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, max(0, files.segmentSize - offset))
    unsafe buffer.copyMemory(
      from: UnsafeRawBufferPointer(rebasing: image.bytes[offset..<offset + count]))
    return count
  }
}
