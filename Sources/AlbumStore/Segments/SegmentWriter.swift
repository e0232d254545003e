import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// One segment that is being filled. Many threads seal records into its image in memory at once. `flush`
/// writes the sealed records to the file. The file starts at its full size, with a tail that looks random
/// and that the space can compute (`RecordCipher.fillTail`). So a reader can distinguish cells that were not
/// written yet when a file was copied from damaged ones. Touches its own segment alone. Any thread.
///
/// Invariants:
/// 1. `written` <= every offset that is reserved and not sealed; `written` <= `reserved`.
/// 2. Bytes below `written` are equal in the file and in the image, and never change again.
/// 3. The first cell is reserved for the seal (`SegmentSeal`): it is random until the segment is complete.
/// 4. The file's modification time is the checksum of its content (`SegmentChecksum`).
/// 5. No offset is ever sealed twice. If a write fails (on a full disk, say), the next `flush` repeats it
///    with the same bytes: `written` has not moved, and the image keeps them.
/// 6. `written` <= `counted`: a call on the file may fail after the one that wrote the bytes. The repetition
///    counts none of them twice.
final class SegmentWriter: Sendable {
  let id: SegmentID
  let name: SegmentName
  private let path: String
  private let files: SegmentFiles
  private let image: SegmentImage
  /// True if a full disk may give up the reserve for this segment.
  private let spendsReserve: Bool

  private struct State {
    var file: (any StorageFile)?
    /// True if the file has its full size.
    var isBorn = false
    /// The tail that the file is born with; nil once it is born.
    var preparation: TailPreparation?
    /// The offset of the next record, always on the grid.
    var reserved = SegmentSeal.reservedByteCount
    /// Offsets that are reserved and not sealed yet.
    var sealing: [Int] = []
    var written = SegmentSeal.reservedByteCount
    var isFlushing = false
    /// The file's checksum counts the records below, which are in the file.
    var counted = SegmentSeal.reservedByteCount
    /// The checksum of the file's content.
    var checksum = SegmentChecksum()
    /// The first 8 bytes of each cell of the file's tail, from the cell `tailStart` on. A record that
    /// replaces a cell removes them from the checksum.
    var tail: [UInt64] = []
    var tailStart = 0
    /// The first 8 bytes of the cell for the seal.
    var firstWord: UInt64 = 0
    /// No more records go in. Otherwise a smaller record could still fit after one that did not, and would
    /// never be written.
    var isEnded = false
  }
  private let state = Monitor(State(), rank: .segment)

  /// `preparation`: the tail that the file is likely to be born with.
  init(
    _ id: SegmentID, files: SegmentFiles, spendsReserve: Bool = true,
    preparation: TailPreparation? = nil
  ) {
    self.id = id
    self.files = files
    self.spendsReserve = spendsReserve
    name = files.name(id)
    path = files.path(id)
    image = files.images.take()
    state.withLock { $0.preparation = preparation }
  }

  deinit { files.images.give(image) }

  /// The number of bytes in use.
  var used: Int { state.withLock { $0.reserved } }
  /// The same without waiting; nil if a thread holds the lock.
  var usedAtOnce: Int? { state.withLockIfFree { $0.reserved } }
  /// True if it has no record.
  var isEmpty: Bool { used == SegmentSeal.reservedByteCount }
  /// True if its file was born with a tail of an eighth or more. The last record may leave a little room.
  var hadTail: Bool {
    state.withLock { state in
      state.isBorn && state.tailStart * RecordLayout.grid <= files.segmentSize / 8 * 7
    }
  }
  /// True if it takes no more records.
  var isEnded: Bool { state.withLock { $0.isEnded } }

  /// The most content for a last data record that fills the segment, in bytes; nil if that is too little to
  /// cut content for: the loss is less than a 64th.
  var worthwhileRoom: Int? {
    let room = files.segmentSize - used
    if room < files.segmentSize / 64 { return nil }
    return room - RecordLayout.overhead - DataRecord.headerByteCount
  }

  /// Seals a record and returns its offset; nil if it does not fit any more. The plaintext includes the
  /// record's header, so it may be longer than the content.
  func append(_ plaintext: UnsafeRawBufferPointer, kind: RecordKind) -> Int? {
    guard let offset = reserve([plaintext.count]).first else { return nil }
    unsafe seal(plaintext, kind: kind, at: offset)
    return offset
  }

  /// Reserves the places of records, one behind the other, for plaintexts of these sizes. Returns the offsets
  /// of those that fit. The caller then seals each: `flush` waits for that.
  func reserve(_ byteCounts: [Int]) -> [Int] {
    state.withLock { state in
      if state.isEnded { return [] }
      var offsets: [Int] = []
      for byteCount in byteCounts {
        let padded = RecordLayout.paddedByteCount(plaintext: byteCount)
        if state.reserved + padded > files.segmentSize { break }
        offsets.append(state.reserved)
        state.reserved += padded
      }
      state.sealing += offsets
      return offsets
    }
  }

  /// Seals a record at its reserved place.
  func seal(_ plaintext: UnsafeRawBufferPointer, kind: RecordKind, at offset: Int) {
    let padded = RecordLayout.paddedByteCount(plaintext: plaintext.count)
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
  }

  /// The same of bytes that are no secret of a file.
  func append(_ plaintext: [UInt8], kind: RecordKind) -> Int? {
    unsafe plaintext.withUnsafeBytes { unsafe append($0, kind: kind) }
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

  /// On a full disk, gives up a reserved segment for records that are sealed already.
  private func write(_ from: Int, _ to: Int) throws(StoreError) {
    var error: StoreError?
    do throws(StoreError) {
      try files.findingRoom(spendsReserve: spendsReserve) { () throws(StoreError) in
        try writeOnce(from, to)
      }
    } catch let failure { error = failure }
    let isWritten = error == nil
    if let error, !error.isShortage { files.suspect(id) }
    state.withLock { state in
      state.isFlushing = false
      if isWritten { state.written = to }
    }
    state.notifyAll()
    if let error { throw error }
  }

  private func writeOnce(_ from: Int, _ to: Int) throws(StoreError) {
    var (file, isBorn, counted) = state.withLock { ($0.file, $0.isBorn, $0.counted) }
    if file == nil {
      let made = try files.create(id)
      files.trace?.record("segment-born \(id.words)")
      state.withLock { $0.file = made }
      file = made
    }
    do throws(Errno) {
      if !isBorn {
        try bear(to, file!)
      } else if counted < to {
        try write(max(from, counted)..<to, file!)
      }
      try file!.setModificationTime(state.withLock { $0.checksum.time })
    } catch {
      throw StoreError(writing: path, error)
    }
    files.enqueueForSync(id, file!)
    try files.requireInPlace(id, file!, at: path)
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
      state.counted = range.upperBound
    }
  }

  /// The first write: the whole file, from the image up to `end` and then the tail. It is one call, so that
  /// a copying tool finds the file empty or whole, and a truncated file is damage.
  private func bear(_ end: Int, _ file: any StorageFile) throws(Errno) {
    let written = unsafe UnsafeRawBufferPointer(rebasing: image.bytes[..<end])
    let first = unsafe UnsafeMutableRawBufferPointer(
      rebasing: image.bytes[..<SegmentSeal.reservedByteCount])
    unsafe RandomFill.fill(first)
    // In an image of its own: this one may get records behind `end` meanwhile.
    let preparation =
      state.withLock { $0.preparation }
      ?? TailPreparation(of: name, files.keys.cipher, images: files.images, hasThread: false)
    try unsafe preparation.withTail(from: end) { tail, words throws(Errno) in
      try unsafe file.write(written, tail, at: 0)
      var checksum = unsafe SegmentChecksum(written)
      for word in words { checksum.add(word) }
      state.withLock { state in
        state.isBorn = true
        state.counted = end
        state.checksum = checksum
        state.tail = words
        state.tailStart = end / RecordLayout.grid
        state.firstWord = UInt64(littleEndian: unsafe first.loadUnaligned(as: UInt64.self))
      }
    }
    state.withLock { $0.preparation = nil }
  }

  /// Ends the segment for new records.
  func end() { state.withLock { $0.isEnded = true } }

  /// Ends the segment and writes all of it. The next sync adds its seal.
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
    files.enqueueForSeal(id, ended)
    ended.file.startWriteback()
  }

  /// Copies sealed bytes from memory; leaves the buffer unchanged beyond the records.
  func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, max(0, files.segmentSize - offset))
    unsafe buffer.copyMemory(
      from: UnsafeRawBufferPointer(rebasing: image.bytes[offset..<offset + count]))
    return count
  }
}
