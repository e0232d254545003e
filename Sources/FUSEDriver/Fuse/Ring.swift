internal import CFuse3
internal import CUring
internal import Glibc
internal import Posix

/// One io_uring, over which the kernel passes the requests of one of its queues, one at a time; and the
/// memory for such a request and its reply. The thread that makes it must be the only one to use it. The
/// kernel closes the ring when that thread ends.
///
/// The memory has three parts: a page with the kernel's headers, a page of room, and the payload. `request`
/// copies the headers to the end of the room, so that a request lies there in one piece, and its payload,
/// which may be a mebibyte, stays where it is. A record that is read into the payload may overwrite the room.
@safe struct Ring: ~Copyable {
  enum Event {
    case request
    /// The stop event is raised.
    case stop
    /// The kernel returned the entry with an error: the connection has ended, or albumfs made a mistake.
    case failed(Errno)
  }

  /// The greatest payload that the kernel sends or takes, in bytes.
  private static let payloadSize = ReplyBuffer.byteCount
  private static let page = 4096
  private static let roomEnd = 2 * page
  /// The sizes of struct fuse_in_header and struct fuse_out_header.
  private static let inHeaderSize = 40
  private static let outHeaderSize = 16

  /// The memory that the kernel locks for each, in bytes.
  private static let lockedSize = 8192

  private let ring: UnsafeMutablePointer<io_uring>
  private let memory: UnsafeMutableRawPointer

  /// True if the user may lock memory for this many rings. The limit does not bind root.
  static func mayMake(_ count: Int) -> Bool {
    var limit = rlimit()
    unsafe _ = getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
    return geteuid() == 0 || limit.rlim_cur >= count * lockedSize
  }

  /// `stop` is the event that ends a wait.
  init(stop: StopEvent) throws(Errno) {
    unsafe ring = .allocate(capacity: 1)
    unsafe ring.initialize(to: io_uring())
    let result = unsafe curing_open(ring)
    if result < 0 {
      unsafe ring.deallocate()
      throw Errno(-result)
    }
    unsafe memory = .allocate(
      byteCount: Ring.roomEnd + Ring.payloadSize, alignment: Ring.page)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: Ring.page)
    unsafe curing_watch(ring, stop.descriptor)
  }

  deinit {
    unsafe curing_close(ring)
    unsafe ring.deallocate()
    unsafe memory.deallocate()
  }

  /// The room for a reply, with room before it for the header of a record.
  var payload: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(
      start: memory + Ring.roomEnd, count: Ring.payloadSize)
  }

  private var header: UnsafeMutablePointer<curing_header> {
    unsafe memory.assumingMemoryBound(to: curing_header.self)
  }

  /// Offers the kernel to serve requests of this queue.
  func register(_ device: CInt, queue: Int) throws(Errno) {
    let result = unsafe curing_register(
      ring, device, UInt32(queue), memory, payload.baseAddress, payload.count)
    if result < 0 { throw Errno(-result) }
  }

  /// Sends the prepared reply, and waits.
  func wait() -> Event {
    var result: CInt = 0
    let token = unsafe curing_wait(ring, &result)
    if token < 0 { return .failed(Errno(-token)) }
    if token == CInt(CURING_STOP) { return .stop }
    return result < 0 ? .failed(Errno(-result)) : .request
  }

  /// Returns the request in one piece, as a read of the device would; nil if its lengths contradict each
  /// other.
  func request() -> UnsafeMutableRawBufferPointer? {
    let length = unsafe Int(memory.load(as: UInt32.self))
    let operationSize = unsafe length - Ring.inHeaderSize - Int(header.pointee.payload_size)
    guard
      unsafe (0...MemoryLayout.size(ofValue: header.pointee.operation)).contains(operationSize),
      unsafe header.pointee.payload_size <= Ring.payloadSize
    else { return nil }
    let operation = unsafe memory + MemoryLayout<curing_header>.offset(of: \.operation)!
    let start = unsafe memory + (Ring.roomEnd - operationSize - Ring.inHeaderSize)
    unsafe start.copyMemory(from: memory, byteCount: Ring.inHeaderSize)
    unsafe (start + Ring.inHeaderSize).copyMemory(from: operation, byteCount: operationSize)
    return unsafe UnsafeMutableRawBufferPointer(start: start, count: length)
  }

  /// The number of the request that the kernel passed last.
  private var unique: UInt64 { unsafe memory.load(fromByteOffset: 8, as: UInt64.self) }

  /// True if a message to the kernel is the reply to the request that the kernel passed last.
  func isReply(_ vectors: UnsafeBufferPointer<iovec>) -> Bool {
    guard let header = unsafe vectors.first, unsafe header.count >= Ring.outHeaderSize else {
      return false
    }
    return unsafe header.start!.load(fromByteOffset: 8, as: UInt64.self) == unique
  }

  /// Prepares a reply: `vectors` are a struct fuse_out_header and its payload. Returns its size, or nil if it
  /// is too large.
  func reply(_ vectors: UnsafeBufferPointer<iovec>) -> Int? {
    let size = unsafe vectors.dropFirst().reduce(0) { unsafe $0 + $1.count }
    if size > Ring.payloadSize { return nil }
    var end = unsafe memory + Ring.roomEnd
    for index in 1..<max(1, vectors.count) {
      let vector = unsafe vectors[index]
      // A reply that was made in the payload is there already.
      if unsafe vector.count > 0 && vector.start != end {
        unsafe memmove(end, vector.start!, vector.count)
      }
      unsafe end += vector.count
    }
    unsafe memory.copyMemory(from: vectors[0].start!, byteCount: Ring.outHeaderSize)
    unsafe header.pointee.payload_size = UInt32(size)
    return Ring.outHeaderSize + size
  }

  /// Prepares a reply without a payload. `error` is 0, or a negative error number.
  func reply(error: CInt) {
    let unique = unique
    unsafe memory.storeBytes(of: UInt32(Ring.outHeaderSize), as: UInt32.self)
    unsafe memory.storeBytes(of: error, toByteOffset: 4, as: CInt.self)
    unsafe memory.storeBytes(of: unique, toByteOffset: 8, as: UInt64.self)
    unsafe header.pointee.payload_size = 0
  }

  /// Hands the entry with the prepared reply back to the kernel at the next `wait`. The kernel calls this
  /// COMMIT_AND_FETCH.
  func handBack(_ device: CInt, queue: Int) {
    unsafe curing_commit(ring, device, UInt32(queue), header.pointee.commit_id)
  }
}

/// An event that ends the waits of all rings. Any thread.
final class StopEvent: Sendable {
  fileprivate let descriptor: CInt

  init() throws(Errno) {
    descriptor = curing_event()
    if descriptor < 0 { throw .last }
  }

  deinit { close(descriptor) }

  func raise() { curing_raise(descriptor) }
}

/// Both C modules define this structure, and the compiler takes either for its owner. Other files use it by
/// these names, so that they need not import both.
extension iovec {
  var start: UnsafeMutableRawPointer? { unsafe iov_base }
  var count: Int { unsafe iov_len }
}
