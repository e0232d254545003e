/// A part of one 64 KiB chunk of a file: where bytes at a file offset lie. Pure arithmetic.
struct ChunkRange: Equatable {
  /// Bytes in a chunk, and the greatest content of a record.
  static let chunkByteCount = 65_536

  /// Number of the chunk: its file offset in units of `chunkByteCount`.
  let chunk: Int64
  /// Offsets in the chunk.
  let bytes: Range<Int>

  /// Offset of the range in the file.
  var offset: Int64 { chunk * Int64(ChunkRange.chunkByteCount) + Int64(bytes.lowerBound) }

  /// The first part of `count` bytes (at least one) at `offset`: as far as its chunk goes.
  init(first count: Int, at offset: Int64) {
    let size = Int64(ChunkRange.chunkByteCount)
    chunk = offset / size
    let lower = Int(offset % size)
    bytes = lower..<min(lower + count, ChunkRange.chunkByteCount)
  }
}
