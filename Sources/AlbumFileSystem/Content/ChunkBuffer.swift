import AlbumModel
import Posix

import struct Synchronization.Atomic

/// A range of bytes in one 64 KiB chunk of a file. Pure arithmetic.
struct ChunkRange: Equatable {
  /// Bytes in a chunk, and the greatest content of a record.
  static let chunkByteCount = 65_536

  /// Number of the chunk: its file offset in units of `chunkByteCount`.
  let chunk: Int64
  /// Offsets in the chunk.
  let bytes: Range<Int>

  /// Offset of the range in the file.
  var offset: Int64 { chunk * Int64(ChunkRange.chunkByteCount) + Int64(bytes.lowerBound) }

  /// The first part of `count` bytes (at least one) at `offset`, up to the end of its chunk.
  init(first count: Int, at offset: Int64) {
    let size = Int64(ChunkRange.chunkByteCount)
    chunk = offset / size
    let lower = Int(offset % size)
    bytes = lower..<min(lower + count, ChunkRange.chunkByteCount)
  }
}

/// Memory for one chunk of a file in plaintext, with the room before it that sealing needs. It is wiped
/// before another file gets it.
// @unchecked because: guarded by the lock of its FileContent; while sealing it does not change.
@safe final class ChunkBuffer: @unchecked Sendable {
  let chunk: Int64
  /// The bytes that it holds, as offsets in the chunk.
  private(set) var range: Range<Int>
  private let memory: ChunkMemory
  private let pool: ChunkPool

  init(chunk: Int64, from pool: ChunkPool) {
    self.chunk = chunk
    self.pool = pool
    range = 0..<0
    memory = pool.take()
  }

  deinit {
    memory.wipe(range)
    pool.giveBack(memory)
  }

  /// The file offset of its first byte.
  var offset: Int64 { chunk * Int64(ChunkRange.chunkByteCount) + Int64(range.lowerBound) }
  var end: Int64 { offset + Int64(range.count) }
  var isFull: Bool { range.count == ChunkRange.chunkByteCount }

  /// True if bytes at `other` leave no gap to the bytes that it holds.
  func joins(_ other: Range<Int>) -> Bool {
    range.isEmpty || (other.lowerBound <= range.upperBound && range.lowerBound <= other.upperBound)
  }

  /// Copies bytes to `target`, which joins the range.
  func put(_ bytes: UnsafeRawBufferPointer, at target: Range<Int>) {
    unsafe memory.content(target).copyMemory(from: bytes)
    range =
      range.isEmpty
      ? target
      : min(range.lowerBound, target.lowerBound)..<max(range.upperBound, target.upperBound)
  }

  /// Copies the bytes that it holds of the file's [from, from + buffer.count) to their places in the buffer.
  func copy(_ part: Range<Int>, into buffer: UnsafeMutableRawBufferPointer, from: Int64) {
    let start = chunk * Int64(ChunkRange.chunkByteCount)
    let lower = max(start + Int64(part.lowerBound), from)
    let upper = min(start + Int64(part.upperBound), from + Int64(buffer.count))
    if lower >= upper { return }
    let source = unsafe memory.content(Int(lower - start)..<Int(upper - start))
    unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[Int(lower - from)..<Int(upper - from)])
      .copyMemory(from: UnsafeRawBufferPointer(source))
  }

  /// Its bytes, with `ReadHeadroom.byteCount` bytes before them that may be overwritten.
  var content: UnsafeMutableRawBufferPointer { unsafe memory.content(range) }
}

/// One piece of memory for a chunk.
@safe struct ChunkMemory: @unchecked Sendable {  // owned by one ChunkBuffer or by the pool
  private let base: UnsafeMutableRawPointer

  init() {
    unsafe base = .allocate(
      byteCount: ReadHeadroom.byteCount + ChunkRange.chunkByteCount, alignment: 64)
  }

  func content(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(
      start: base + ReadHeadroom.byteCount + range.lowerBound, count: range.count)
  }

  /// Overwrites a part and the headroom before it, where sealing may have left something.
  func wipe(_ range: Range<Int>) {
    unsafe erase(
      UnsafeMutableRawBufferPointer(
        start: base + range.lowerBound, count: range.count + ReadHeadroom.byteCount))
  }

  func deallocate() { unsafe base.deallocate() }
}

/// The memory of all chunks of a space. Any thread.
final class ChunkPool: Sendable {
  /// The greatest number of unused chunks that it keeps: 4 MiB.
  static let spareLimit = 64
  /// If more chunks than this are in use (8 MiB), a write leaves nothing unsealed.
  static let comfortableCount = 128

  /// If more chunks than this are in use (12 MiB), a writer waits for other threads that are sealing chunks
  /// of its file: a sealed chunk keeps its memory until all earlier ones are sealed.
  static let overfullCount = 192

  private let spare = Mutex<[ChunkMemory]>([], rank: .leaf)
  private let used = Atomic<Int>(0)

  deinit {
    for memory in spare.withLock({ $0 }) { memory.deallocate() }
  }

  var isCrowded: Bool { used.load(ordering: .relaxed) > ChunkPool.comfortableCount }

  var isOverfull: Bool { used.load(ordering: .relaxed) > ChunkPool.overfullCount }

  func take() -> ChunkMemory {
    used.wrappingAdd(1, ordering: .relaxed)
    return spare.withLock { $0.popLast() } ?? ChunkMemory()
  }

  func giveBack(_ memory: ChunkMemory) {
    used.wrappingSubtract(1, ordering: .relaxed)
    let isKept = spare.withLock { spare in
      if spare.count >= ChunkPool.spareLimit { return false }
      spare.append(memory)
      return true
    }
    if !isKept { memory.deallocate() }
  }
}

/// Memory for the content of one record, with the headroom that the store needs; wiped at its end.
@safe final class ScratchRecord {
  private let memory: UnsafeMutableRawBufferPointer

  /// At most `ChunkRange.chunkByteCount` bytes.
  init(byteCount: Int) {
    unsafe memory = .allocate(byteCount: byteCount + ReadHeadroom.byteCount, alignment: 64)
  }

  deinit {
    unsafe erase(memory)
    unsafe memory.deallocate()
  }

  var content: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[ReadHeadroom.byteCount...])
  }
}
