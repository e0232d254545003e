internal import CFuse3
internal import Glibc
internal import Synchronization

/// Replaces libfuse's reads and writes of the FUSE device. They do the same, except that the reply to INIT
/// gets flags that libfuse 3.14 does not know, that the driver learns when it was sent, and that replies to
/// requests that came over a ring go back there.
enum Device {
  static func io(isTraced: Bool) -> fuse_custom_io {
    var io = unsafe fuse_custom_io(
      writev: albumfs_device_write, read: cfuse3_read, splice_receive: nil, splice_send: nil)
    if isTraced { unsafe io.read = cfuse3_read_traced }
    return io
  }

  /// The kernel orders a reply before the requests that follow from it: one thread's object from `open` is
  /// used by another thread in `read`. The memory model of the language does not know that, so each reply is
  /// a release here, and each request an acquire.
  static let answers = Atomic<UInt>(0)

  /// FUSE_HANDLE_KILLPRIV_V2 of linux/fuse.h: the driver drops set-id bits (`SetIDBits`). Without it the
  /// kernel asks before each single write(2) whether the file has capabilities to drop, which costs more
  /// than the write. Linux before 5.11 ignores the bit and drops them itself.
  static let dropsSetID: UInt32 = 1 << 28

  /// FUSE_INIT_EXT: `flags2` counts too.
  private static let extendsFlags: UInt32 = 1 << 30
  /// FUSE_OVER_IO_URING, which is in `flags2`. A kernel that does not offer it ignores it.
  private static let usesRings: UInt32 = 1 << 9

  /// The offsets of `flags` and `flags2` in struct fuse_init_out.
  private static let flagsOffset = 12
  private static let moreFlagsOffset = 32

  static func addFlags(toInitAnswer answer: iovec, overRings: Bool) {
    guard unsafe answer.count >= moreFlagsOffset + 4, let start = unsafe answer.start else {
      return
    }
    func add(_ flags: UInt32, at offset: Int) {
      let others = unsafe start.load(fromByteOffset: offset, as: UInt32.self)
      unsafe start.storeBytes(of: others | flags, toByteOffset: offset, as: UInt32.self)
    }
    add(dropsSetID, at: flagsOffset)
    if !overRings { return }
    add(extendsFlags, at: flagsOffset)
    add(usesRings, at: moreFlagsOffset)
  }
}

/// writev(2), or the reply to a request of a ring. The first message on a device is the reply to INIT, and
/// the kernel has received it when the call returns. libfuse reads errno afterwards.
@c func albumfs_device_write(
  _ device: CInt, _ vectors: UnsafeMutablePointer<iovec>?, _ count: CInt,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  Device.answers.wrappingAdd(1, ordering: .releasing)
  let all = unsafe UnsafeBufferPointer(start: vectors, count: Int(count))
  let driver = unsafe Unmanaged<Driver>.fromOpaque(context!).takeUnretainedValue()
  if let trace = driver.trace { unsafe trace.replies(all) }
  if let size = unsafe RingThread.current?.take(all) { return size }
  if driver.isReady { return unsafe writev(device, vectors, count) }
  if count == 2 {
    unsafe Device.addFlags(toInitAnswer: vectors![1], overRings: driver.rings.arePrepared)
  }
  let result = unsafe writev(device, vectors, count)
  if result > 0 && count == 2 && driver.rings.connect(device) { driver.becomeReady() }
  return result
}

/// A request has come over the device of a mount that somebody watches (`cfuse3_read_traced`).
@c @implementation func albumfs_request_came(
  _ driver: UnsafeMutableRawPointer!, _ request: UnsafeRawPointer!, _ size: Int
) {
  let driver = unsafe Unmanaged<Driver>.fromOpaque(driver).takeUnretainedValue()
  unsafe driver.trace?.came(UnsafeRawBufferPointer(start: request, count: size))
}
