internal import CFuse3
internal import Glibc
internal import Synchronization

/// How libfuse reads and writes the FUSE device: as it would by itself, except that the answer to
/// INIT gets what libfuse 3.14 has no word for, and that the driver learns when it was sent.
enum Device {
  static var io: fuse_custom_io {
    unsafe fuse_custom_io(
      writev: albumfs_device_write, read: cfuse3_read, splice_receive: nil, splice_send: nil)
  }

  /// The kernel orders an answer before the requests that come of it: what one thread made for `open`,
  /// another uses for `read`. Here that is said in the language's own terms, which know of no kernel: a
  /// release with each answer, an acquire with each request.
  static let answers = Atomic<UInt>(0)

  /// FUSE_HANDLE_KILLPRIV_V2 of linux/fuse.h: the driver drops set-id bits (`SetIDBits`). Without
  /// it the kernel asks before each single write(2) whether the file has capabilities to drop, which
  /// costs more than the write. Linux before 5.11 does not look at the bit and drops them itself.
  static let dropsSetID: UInt32 = 1 << 28

  /// Where `flags` stands in struct fuse_init_out.
  private static let flagsOffset = 12

  static func addFlags(toInitAnswer answer: iovec) {
    guard unsafe answer.iov_len >= flagsOffset + 4, let start = unsafe answer.iov_base else {
      return
    }
    let flags = unsafe start.load(fromByteOffset: flagsOffset, as: UInt32.self)
    unsafe start.storeBytes(of: flags | dropsSetID, toByteOffset: flagsOffset, as: UInt32.self)
  }
}

/// writev(2); the first message that goes out on a device is the answer to INIT, and the kernel has
/// taken it when the call returns. libfuse reads errno afterwards.
@c func albumfs_device_write(
  _ device: CInt, _ vectors: UnsafeMutablePointer<iovec>?, _ count: CInt,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  Device.answers.wrappingAdd(1, ordering: .releasing)
  let driver = unsafe Unmanaged<Driver>.fromOpaque(context!).takeUnretainedValue()
  if driver.isReady { return unsafe writev(device, vectors, count) }
  if count == 2 { unsafe Device.addFlags(toInitAnswer: vectors![1]) }
  let result = unsafe writev(device, vectors, count)
  if result > 0 && count == 2 { driver.becomeReady() }
  return result
}
