internal import Glibc
import Posix

/// Random bytes, made 8 KiB at a time: a ChaCha20 keystream under a fresh key from the kernel. A system call
/// for each record's nonce would cost more than sealing a small record. The pool wipes the bytes that it
/// hands out, and each key once it is used.
///
/// The memory is marked MADV_WIPEONFORK. A child process finds it zeroed, and therefore empty, and can never
/// use a nonce of its parent. Thread-safe. The only slow work under the lock is the refill: one system
/// call and some 5 µs for every 340 nonces.
package enum RandomPool {
  private static let lock = Mutex<Reserve>(Reserve(), rank: .random)

  /// Fills a small buffer.
  package static func take(_ buffer: UnsafeMutableRawBufferPointer) {
    lock.withLock { unsafe $0.take(buffer) }
  }

  /// Its memory: the number of bytes left, as UInt64, then random bytes that are used from their end.
  @safe private struct Reserve: ~Copyable, @unchecked Sendable {
    // @unchecked because the memory is this struct's alone, and the struct is in a Mutex.
    private let memory: UnsafeMutableRawPointer?
    private static let headByteCount = 64
    private static let byteCount = 8192

    init() {
      let mapped = unsafe mmap(
        nil, Reserve.byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
      if unsafe mapped == MAP_FAILED {
        unsafe memory = nil
        return
      }
      unsafe _ = madvise(mapped, Reserve.byteCount, MADV_DONTDUMP)
      unsafe _ = mlock(mapped, Reserve.byteCount)
      // Without the mark a fork could repeat nonces; one system call for each nonce is better than that.
      if unsafe madvise(mapped, Reserve.byteCount, MADV_WIPEONFORK) != 0 {
        unsafe _ = munmap(mapped, Reserve.byteCount)
        unsafe memory = nil
        return
      }
      unsafe memory = mapped
    }

    deinit {
      if let memory = unsafe memory { unsafe _ = munmap(memory, Reserve.byteCount) }
    }

    mutating func take(_ buffer: UnsafeMutableRawBufferPointer) {
      guard let memory = unsafe memory, buffer.count <= 256 else {
        unsafe Sodium.random(buffer)
        return
      }
      var left = unsafe Int(memory.load(as: UInt64.self))
      if left < buffer.count { left = unsafe Reserve.refill(memory) }
      left -= buffer.count
      let source = unsafe UnsafeMutableRawBufferPointer(
        start: memory + Reserve.headByteCount + left, count: buffer.count)
      unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(source))
      unsafe Sodium.wipe(source)
      unsafe memory.storeBytes(of: UInt64(left), as: UInt64.self)
    }

    private static func refill(_ memory: UnsafeMutableRawPointer) -> Int {
      let room = Reserve.byteCount - Reserve.headByteCount
      var key: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
      unsafe withUnsafeMutableBytes(of: &key) { key in
        unsafe Sodium.random(key)
        unsafe Sodium.keystream(
          UnsafeMutableRawBufferPointer(start: memory + Reserve.headByteCount, count: room),
          key: UnsafeRawPointer(key.baseAddress!))
        unsafe Sodium.wipe(key)
      }
      return room
    }
  }
}

/// Random bytes in bulk, as for chaff: a ChaCha20 keystream under a fresh random key for each 4 MiB, some
/// GB/s. Thread-safe.
package enum RandomFill {
  private static let keyedByteCount = 4 << 20

  package static func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe bytes.withUnsafeMutableBytes { unsafe fill($0) }
    return bytes
  }

  package static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    guard buffer.count > 256 else {
      if buffer.count > 0 { unsafe RandomPool.take(buffer) }
      return
    }
    var start = 0
    while start < buffer.count {
      let end = min(start + keyedByteCount, buffer.count)
      unsafe fillOnce(UnsafeMutableRawBufferPointer(rebasing: buffer[start..<end]))
      start = end
    }
  }

  private static func fillOnce(_ buffer: UnsafeMutableRawBufferPointer) {
    var key: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    unsafe withUnsafeMutableBytes(of: &key) { key in
      unsafe RandomPool.take(key)
      unsafe Sodium.keystream(buffer, key: UnsafeRawPointer(key.baseAddress!))
      unsafe Sodium.wipe(key)
    }
  }
}
