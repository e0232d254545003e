/// The bytes of one file that nobody has sealed yet, by chunk; in each chunk one stretch without a
/// gap. Not thread-safe.
struct DirtyChunks {
  /// More than so many partly filled chunks are not kept: the oldest is left behind.
  static let partialLimit = 8

  /// Oldest first.
  private(set) var chunks: [ChunkBuffer] = []

  var isEmpty: Bool { chunks.isEmpty }

  /// Takes bytes over. Answers the chunks that are to be sealed for it, in their order.
  mutating func put(
    _ bytes: UnsafeRawBufferPointer, at place: ChunkRange, from pool: ChunkPool
  ) -> [ChunkBuffer] {
    var leaving: [ChunkBuffer] = []
    var position = chunks.firstIndex { $0.chunk == place.chunk }
    if let found = position, !chunks[found].joins(place.bytes) {
      leaving.append(chunks.remove(at: found))
      position = nil
    }
    let chunk = position.map { chunks[$0] } ?? ChunkBuffer(chunk: place.chunk, from: pool)
    unsafe chunk.put(bytes, at: place.bytes)
    if chunk.isFull {
      if let position { chunks.remove(at: position) }
      leaving.append(chunk)
    } else if position == nil {
      chunks.append(chunk)
      if chunks.count > DirtyChunks.partialLimit { leaving.append(chunks.removeFirst()) }
    }
    return leaving
  }

  /// Gives all of them away.
  mutating func takeAll() -> [ChunkBuffer] {
    defer { chunks = [] }
    return chunks
  }
}
