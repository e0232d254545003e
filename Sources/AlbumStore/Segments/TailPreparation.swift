import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// The tail of a segment's file, which a thread of its own computes while the first records are sealed: the
/// `close` of a file waits for the birth of a segment, and half of that is the tail. The thread goes from the
/// end of the segment towards its beginning, whoever needs the tail comes to meet it. Any thread.
final class TailPreparation: Sendable {
  /// Some 0.2 ms of work.
  private static let pieceByteCount = 256 << 10
  /// A smaller segment has its tail sooner than a thread has started.
  static let leastSegment = 1 << 20

  private struct State {
    /// The caller of `withTail` computes what it needs of the bytes below.
    var low = SegmentSeal.reservedByteCount
    /// The thread computes the bytes from here on.
    var high: Int
    var isThreadAtWork = false
  }

  private let image: SegmentImage
  private let images: ScratchPool
  private let cipher: RecordCipher
  private let name: SegmentName
  private let state: Monitor<State>

  /// Without a thread, or where none can start, `withTail` computes all.
  init(of name: SegmentName, _ cipher: RecordCipher, images: ScratchPool, hasThread: Bool = true) {
    self.name = name
    self.cipher = cipher
    self.images = images
    image = images.take()
    state = Monitor(State(high: image.byteCount), rank: .leaf)
    guard hasThread else { return }
    try? PosixThread(name: "tail") { [weak self] in
      while self?.computeFromAbove() == true {}
    }.detach()
  }

  deinit { images.give(image) }

  /// Calls `body` with the bytes from `end`, a multiple of the grid, to the end of the segment.
  func withTail<Result>(
    from end: Int, _ body: (UnsafeRawBufferPointer) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    finish(from: end)
    return try unsafe body(UnsafeRawBufferPointer(rebasing: image.bytes[end...]))
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
  }
}
