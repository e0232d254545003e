import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// One segment that is being filled. Records are sealed into an image of it in memory, by many
/// threads at once; `flush` writes what is sealed to the file, which is born at its full size with
/// a random tail.
///
/// Invariants:
/// 1. `written` <= every offset that is reserved and not sealed; `written` <= `reserved`.
/// 2. What lies below `written` is in the file as it is in the image, and neither changes again.
/// 3. No offset of the file is written twice with records: after a write that failed the segment
///    is `broken` and nothing is written to it any more.
final class SegmentWriter: Sendable {
  let id: SegmentID
  let name: SegmentName
  private let files: SegmentFiles
  private let image: SegmentImage

  private struct State {
    var file: (any StorageFile)?
    /// Where the next record goes: always on the grid.
    var reserved = 0
    /// Offsets that are reserved and not sealed yet.
    var sealing: [Int] = []
    var written = 0
    var isFlushing = false
    /// No more records go in: a smaller one might still fit that came with the one for which the
    /// segment was full, and would never be written.
    var isEnded = false
    var broken: StoreError?
  }
  private let state = Monitor(State())

  init(_ id: SegmentID, files: SegmentFiles) {
    self.id = id
    self.files = files
    name = files.name(id)
    image = files.images.take()
  }

  deinit { files.images.give(image) }

  /// How much is in use, in bytes.
  var used: Int { state.withLock { $0.reserved } }

  /// Seals a record and answers its offset; nil where it does not fit any more. The plaintext may
  /// be larger than what the caller sees as content: its own header comes first.
  func append(_ plaintext: UnsafeRawBufferPointer, kind: RecordKind) throws(StoreError) -> Int? {
    let padded = RecordLayout.paddedByteCount(plaintext: plaintext.count)
    let reservation = try state.withLock { state throws(StoreError) -> Int? in
      if let broken = state.broken { throw broken }
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

  /// Writes everything that was reserved before the call.
  func flush() throws(StoreError) {
    let target = state.withLock { $0.reserved }
    while true {
      let next = try state.waiting { (state) throws(StoreError) -> Step? in
        if let broken = state.broken { throw broken }
        if state.written >= target { return .done }
        let sealed = state.sealing.min() ?? state.reserved
        if state.isFlushing || sealed < target { return nil }
        state.isFlushing = true
        return .write(from: state.written, to: sealed, file: state.file)
      }
      guard case .write(let from, let to, let file) = next else { return }
      try write(from, to, file)
    }
  }

  private enum Step {
    case done
    case write(from: Int, to: Int, file: (any StorageFile)?)
  }

  private func write(_ from: Int, _ to: Int, _ known: (any StorageFile)?) throws(StoreError) {
    var failure: StoreError?
    var file = known
    do throws(StoreError) {
      if file == nil { file = try files.create(id) }
      try write(from, to, into: file!, isBirth: known == nil)
    } catch { failure = error }
    let error = failure
    state.withLock { state in
      state.isFlushing = false
      state.file = file
      if let error { state.broken = error } else { state.written = to }
    }
    state.notifyAll()
    if let error { throw error }
  }

  private func write(_ from: Int, _ to: Int, into file: any StorageFile, isBirth: Bool)
    throws(StoreError)
  {
    do throws(Errno) {
      try unsafe file.write(
        UnsafeRawBufferPointer(rebasing: image.bytes[from..<to]), at: Int64(from))
      if isBirth, to < files.segmentSize {
        let scratch = files.images.take()
        defer { files.images.give(scratch) }
        let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: scratch.bytes[to...])
        unsafe RandomFill.fill(tail)
        try unsafe file.write(UnsafeRawBufferPointer(tail), at: Int64(to))
      }
    } catch {
      throw StoreError(writing: files.path(id), error)
    }
    files.noteWritten(id, file)
  }

  /// Ends the segment: writes all of it and gives it the time that all finished segments have. No
  /// more records go in.
  func finish() throws(StoreError) {
    state.withLock { $0.isEnded = true }
    try flush()
    guard let file = state.withLock({ $0.file }) else { return }
    try? file.setModificationTime(seconds: SegmentLayout.restingModificationTime)
    file.startWriteback()
  }

  /// Copies sealed bytes out of memory; what lies beyond the records is left as it is.
  func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, max(0, files.segmentSize - offset))
    unsafe buffer.copyMemory(
      from: UnsafeRawBufferPointer(rebasing: image.bytes[offset..<offset + count]))
    return count
  }
}
