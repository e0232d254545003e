internal import AlbumModel
internal import Glibc

/// The memory in which a thread builds a reply: one buffer for each thread that serves requests of the
/// device, reused for each request and freed when the thread ends. A thread of a ring uses its ring's memory.
/// Both are aligned to pages, with room before them that the header of a record may overwrite.
@safe final class ReplyBuffer {
  /// The kernel's greatest request, in bytes.
  static let byteCount = 1 << 20

  private static let alignment = 4096
  private let memory: UnsafeMutableRawBufferPointer

  init(byteCount: Int) {
    precondition(ReadHeadroom.byteCount <= ReplyBuffer.alignment)
    unsafe memory = .allocate(
      byteCount: ReplyBuffer.alignment + byteCount, alignment: ReplyBuffer.alignment)
  }

  deinit { unsafe memory.deallocate() }

  private var room: Int { unsafe memory.count - ReplyBuffer.alignment }

  /// The calling thread's buffer of `count` bytes, with arbitrary content. Valid until the thread's next
  /// call.
  static func forThisThread(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if let room = unsafe RingThread.current?.room(count) { return unsafe room }
    let buffer = current(room: count)
    return unsafe UnsafeMutableRawBufferPointer(
      rebasing: buffer.memory[alignment..<alignment + count])
  }

  private static func current(room: Int) -> ReplyBuffer {
    if let stored = unsafe pthread_getspecific(key) {
      let held = unsafe Unmanaged<ReplyBuffer>.fromOpaque(stored)
      if unsafe held.takeUnretainedValue().room >= room { return unsafe held.takeUnretainedValue() }
      unsafe held.release()
    }
    let fresh = ReplyBuffer(byteCount: max(room, byteCount))
    unsafe _ = pthread_setspecific(key, Unmanaged.passRetained(fresh).toOpaque())
    return fresh
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    unsafe _ = pthread_key_create(&key) { stored in
      if let stored = unsafe stored { unsafe Unmanaged<ReplyBuffer>.fromOpaque(stored).release() }
    }
    return key
  }()
}
