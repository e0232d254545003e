import AlbumModel
import Posix

/// Memory for the content of one record, with the headroom that the store wants; wiped at its end.
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
