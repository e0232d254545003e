/// The unsealed bytes of one file, by chunk. Each chunk has one range without gaps. Not thread-safe.
struct DirtyChunks {
  /// The limit of partly filled chunks; beyond it the oldest is sealed.
  static let partialLimit = 8

  /// Oldest first.
  private(set) var chunks: [ChunkBuffer] = []

  var isEmpty: Bool { chunks.isEmpty }

  /// Takes the bytes. Returns the chunks that must now be sealed, in order.
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

  /// Removes and returns all chunks.
  mutating func takeAll() -> [ChunkBuffer] {
    defer { chunks = [] }
    return chunks
  }
}
