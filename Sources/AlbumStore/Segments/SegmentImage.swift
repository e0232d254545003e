import AlbumFormat
import AlbumSecrets
import Posix

/// The bytes of one segment in memory, all encrypted. Its creator owns it; its users' locks guard passing it
/// between threads.
@safe final class SegmentImage: @unchecked Sendable {  // see above
  let bytes: UnsafeMutableRawBufferPointer
  let byteCount: Int
  /// The number of bytes that were read.
  var used = 0
  /// The disk returned an error for some bytes; these are zero.
  var hasReadErrors = false

  init(byteCount: Int) {
    self.byteCount = byteCount
    unsafe bytes = .allocate(byteCount: byteCount, alignment: 4096)
  }

  deinit { unsafe bytes.deallocate() }

  /// Overwrites all of it: it held something in clear.
  func wipe() { unsafe erase(bytes) }

  /// A copy of all of it.
  var content: [UInt8] { unsafe [UInt8](bytes) }

  /// The checksum of all of it.
  var checksum: SegmentChecksum { unsafe SegmentChecksum(UnsafeRawBufferPointer(bytes)) }

  /// At most `count` of the bytes that were read, from `offset` on.
  func bytes(at offset: Int, count: Int) -> [UInt8] {
    let start = min(offset, used)
    return unsafe [UInt8](bytes[start..<min(used, start + count)])
  }

  /// Reads a file from its beginning; returns how much there was.
  func read(_ file: any StorageFile) throws(Errno) -> Int {
    try unsafe file.read(into: bytes, at: 0)
  }

  /// Reads the readable blocks of a file. The others become zeros, so that no record decrypts there.
  func readAround(_ file: any StorageFile) {
    let block = 4096
    hasReadErrors = true
    used = 0
    for start in stride(from: 0, to: byteCount, by: block) {
      let part = unsafe UnsafeMutableRawBufferPointer(
        rebasing: bytes[start..<min(byteCount, start + block)])
      do throws(Errno) {
        let count = try unsafe file.read(into: part, at: Int64(start))
        used = start + count
        if count < part.count { return }
      } catch {
        unsafe part.initializeMemory(as: UInt8.self, repeating: 0)
        used = start + part.count
      }
    }
  }
}

/// Large buffers for reuse: allocating such memory from the kernel costs more than reading into it. Any
/// thread.
final class ScratchPool: Sendable {
  private let kept: Int
  private let byteCount: Int
  private let free = Mutex<[SegmentImage]>([], rank: .leaf)

  /// Keeps up to `kept` unused buffers.
  init(byteCount: Int, kept: Int) {
    self.byteCount = byteCount
    self.kept = kept
  }

  func take() -> SegmentImage {
    free.withLock { $0.popLast() } ?? SegmentImage(byteCount: byteCount)
  }

  /// Takes a buffer back; wipes its first `wiping` bytes, which held plaintext.
  func give(_ image: SegmentImage, wiping: Int = 0) {
    if wiping > 0 {
      unsafe erase(UnsafeMutableRawBufferPointer(rebasing: image.bytes[..<wiping]))
    }
    free.withLock { if $0.count < kept { $0.append(image) } }
  }

  /// Returns unused buffers to the kernel, but for `count`.
  func shrink(to count: Int) {
    _ = free.withLock { free in
      defer { free = Array(free.prefix(count)) }
      return free.dropFirst(count)
    }
  }
}
