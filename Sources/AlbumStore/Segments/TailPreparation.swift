import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// The tail of a segment's file, which a thread of its own computes before the file is born: the `close` of a
/// file waits for the birth of a segment, and half of that is the tail. The thread goes from the end of the
/// segment towards its beginning, whoever needs the tail comes to meet it. Any thread.
final class TailPreparation: Sendable {
  /// Some 0.2 ms of work.
  private static let pieceByteCount = 256 << 10
  /// A smaller segment has its tail sooner than a thread has started.
  private static let leastSegment = 1 << 20

  private struct State {
    /// The caller of `withTail` computes what it needs of the bytes below.
    var low = SegmentSeal.reservedByteCount
    /// The thread computes the bytes from here on.
    var high: Int
    var isThreadAtWork = false
    /// The first 8 bytes of each cell that is computed, for the checksum of the file.
    var words: [UInt64]
  }

  private let image: SegmentImage
  private let images: ScratchPool
  private let cipher: RecordCipher
  let name: SegmentName
  private let state: Monitor<State>

  /// Without a thread, for a small segment, or where no thread can start, `withTail` computes all.
  init(of name: SegmentName, _ cipher: RecordCipher, images: ScratchPool, hasThread: Bool = true) {
    self.name = name
    self.cipher = cipher
    self.images = images
    image = images.take()
    let words = [UInt64](repeating: 0, count: image.byteCount / RecordLayout.grid)
    state = Monitor(State(high: image.byteCount, words: words), rank: .leaf)
    guard hasThread, image.byteCount >= TailPreparation.leastSegment else { return }
    try? PosixThread(name: "tail") { [weak self] in
      while self?.computeFromAbove() == true {}
    }.detach()
  }

  deinit {
    // Orders the thread's last piece before what the next owner writes. The last reference does so too, and
    // ThreadSanitizer does not see that.
    state.withLock { _ in }
    images.give(image)
  }

  /// Calls `body` with the bytes from `end`, a multiple of the grid, to the end of the segment, and with the
  /// first 8 bytes of each of their cells.
  func withTail<Result>(
    from end: Int, _ body: (UnsafeRawBufferPointer, _ words: [UInt64]) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    finish(from: end)
    let words = state.withLock { Array($0.words[(end / RecordLayout.grid)...]) }
    return try unsafe body(UnsafeRawBufferPointer(rebasing: image.bytes[end...]), words)
  }

  private func finish(from end: Int) {
    var low = end
    while true {
      let piece = state.withLock { state -> Range<Int> in
        let piece = low..<max(low, min(low + TailPreparation.pieceByteCount, state.high))
        state.low = piece.upperBound
        return piece
      }
      if piece.isEmpty { break }
      compute(piece)
      low = piece.upperBound
    }
    state.waiting { $0.isThreadAtWork ? nil : () }
  }

  /// Returns false if nothing is left to do.
  private func computeFromAbove() -> Bool {
    let next = state.withLock { state -> Range<Int>? in
      let start = max(state.low, state.high - TailPreparation.pieceByteCount)
      if start >= state.high { return nil }
      defer { state.high = start }
      state.isThreadAtWork = true
      return start..<state.high
    }
    guard let piece = next else { return false }
    compute(piece)
    state.withLock { $0.isThreadAtWork = false }
    state.notifyAll()
    return true
  }

  private func compute(_ range: Range<Int>) {
    let part = unsafe UnsafeMutableRawBufferPointer(rebasing: image.bytes[range])
    unsafe cipher.fillTail(part, of: name, from: range.lowerBound)
    // While they are in the processor's cache.
    let words = (0..<part.count / RecordLayout.grid).map { cell in
      let offset = cell * RecordLayout.grid
      return UInt64(
        littleEndian: unsafe part.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    let first = range.lowerBound / RecordLayout.grid
    state.withLock { $0.words.replaceSubrange(first..<first + words.count, with: words) }
  }
}
