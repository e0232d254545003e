internal import AlbumModel
internal import CFuse3
internal import Glibc
internal import Posix
internal import Synchronization

/// A session of libfuse whose requests come over rings.
///
/// `@unchecked` because libfuse processes requests of a session on any thread.
@safe struct RingSession: @unchecked Sendable {
  private let raw: OpaquePointer

  init(_ raw: OpaquePointer) { unsafe self.raw = raw }

  /// True for a request that takes longer than to wake a thread: a large part of a file.
  static func isLong(_ request: UnsafeMutableRawBufferPointer) -> Bool {
    unsafe cfuse3_data_size(request.baseAddress, request.count) >= 128 << 10
  }

  func process(_ request: UnsafeMutableRawBufferPointer) {
    var buffer = unsafe fuse_buf()
    unsafe buffer.size = request.count
    unsafe buffer.mem = request.baseAddress
    unsafe cfuse3_translate(request.baseAddress, request.count)
    unsafe fuse_session_process_buf(raw, &buffer)
  }

  /// True for a request that `RingConnection.provoke` made the kernel send. It expects no reply.
  static func isProvoked(_ request: UnsafeMutableRawBufferPointer) -> Bool {
    unsafe cfuse3_operation(request.baseAddress) == UInt32(CFUSE3_RETRIEVED)
  }

  /// Ends the loop that serves the device. On a thread of that loop.
  func end() { unsafe fuse_session_exit(raw) }
}

/// A connection with the kernel, for the threads that serve it.
struct RingConnection: Sendable {
  let session: RingSession
  let device: CInt

  private static let provoked = Atomic<UInt64>(0)

  /// Makes the kernel send a request on the queue of the processor on which the caller runs. Returns false if
  /// the kernel does not know this file.
  func provoke(with file: InodeNumber) throws(Errno) -> Bool {
    // Only even numbers name requests. The kernel's own never get as large.
    let number = RingConnection.provoked.wrappingAdd(1, ordering: .relaxed).newValue
    var retrieval = cfuse3_retrieval()
    let size = MemoryLayout.size(ofValue: retrieval)
    retrieval.message.length = UInt32(size)
    retrieval.message.code = Int32(CFUSE3_RETRIEVE)
    retrieval.unique = 1 << 63 | number << 1
    retrieval.inode = file.rawValue
    if unsafe write(device, &retrieval, size) == size { return true }
    let error = Errno.last
    if error == .noEntry { return false }
    throw error
  }
}

/// Serves the requests that come over the ring of one thread. That thread replies to each of them, because
/// the ring belongs to it.
@safe final class RingThread {
  private let ring: Ring
  private let queue: RingQueue
  private let rings: Rings
  /// True from a request to its reply.
  private var isOpen = false
  private var isBound = false
  private var connection: RingConnection?

  /// Call it on the thread itself.
  init(_ rings: Rings, _ queue: RingQueue, stop: StopEvent) throws(Errno) {
    ring = try Ring(stop: stop)
    self.rings = rings
    self.queue = queue
  }

  /// That of the calling thread; nil on threads that serve no ring.
  static var current: RingThread? {
    guard let stored = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<RingThread>.fromOpaque(stored).takeUnretainedValue()
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    unsafe _ = pthread_key_create(&key, nil)
    return key
  }()

  func register(_ connection: RingConnection) throws(Errno) {
    try ring.register(connection.device, queue: queue.number)
    queue.isFree()
  }

  /// Serves requests until the connection ends or the threads are stopped. Throws if the ring fails
  /// meanwhile.
  func serve(_ connection: RingConnection) throws(Errno) {
    self.connection = connection
    unsafe _ = pthread_setspecific(RingThread.key, Unmanaged.passUnretained(self).toOpaque())
    defer { _ = pthread_setspecific(RingThread.key, nil) }
    while true {
      switch ring.wait() {
      case .stop: return
      case .failed(.again), .failed(.interrupted): break
      case .failed(let error) where error.endsConnection: return
      case .failed(let error): throw error
      case .request:
        rings.begin(on: queue)
        serveRequest(connection.session)
        queue.isFree()
      }
      ring.handBack(connection.device, queue: queue.number)
    }
  }

  private func serveRequest(_ session: RingSession) {
    guard let request = unsafe ring.request() else { return ring.reply(error: -EIO) }
    if unsafe RingSession.isProvoked(request) { return ring.reply(error: 0) }
    if let trace = rings.trace { unsafe trace.came(UnsafeRawBufferPointer(request)) }
    bind(unless: unsafe RingSession.isLong(request))
    isOpen = true
    unsafe session.process(request)
    // The kernel expects the entry back even if libfuse has no reply to this kind of request.
    if isOpen { ring.reply(error: 0) }
    isOpen = false
  }

  /// The caller of a short request waits on the processor of the queue: on another one, each request wakes
  /// two processors. The caller of a long one reads on meanwhile, and would share its processor with this
  /// thread.
  private func bind(unless isLong: Bool) {
    if isBound != isLong { return }
    isBound = !isLong
    if isLong { PosixThread.unbind() } else { PosixThread.bind(toProcessor: queue.number) }
  }

  /// Takes a message that libfuse sends to the kernel. Returns its size if it is the reply to the thread's
  /// request; nil if it must go over the device.
  func take(_ vectors: UnsafeBufferPointer<iovec>) -> Int? {
    guard isOpen, unsafe ring.isReply(vectors) else { return nil }
    isOpen = false
    if let size = unsafe ring.reply(vectors) { return size }
    ring.reply(error: -EIO)
    return -1
  }

  /// Room for a reply, from which the reply need not be copied; nil if there is not as much.
  func room(_ count: Int) -> UnsafeMutableRawBufferPointer? {
    let payload = unsafe ring.payload
    if count > payload.count { return nil }
    return unsafe UnsafeMutableRawBufferPointer(rebasing: payload[..<count])
  }

  /// Waits until the kernel has written out pages of these files, which `body` asks for; returns its result.
  /// Sees first that another thread can serve the kernel's writes, since they may come on the queue of this
  /// one. Returns false, without running the body, if there is none.
  ///
  /// The kernel passes a request that found no free thread to a thread that replies to another one, never to
  /// one that starts. If all others wait, nobody would ever serve it. So `provoke` makes the kernel send a
  /// request to a free thread, whose reply fetches the next of the queue.
  func waitForPages(of files: [InodeNumber], _ body: () -> Bool) -> Bool {
    guard let connection, rings.beginWaiting(on: queue) else { return false }
    defer { queue.endWaiting() }
    bind(unless: false)
    do throws(Errno) {
      for file in files where try connection.provoke(with: file) {
        return body()
      }
      // The kernel has no pages of files that it does not know.
      return true
    } catch {
      return false
    }
  }
}

extension Errno {
  /// True if the kernel has ended the connection, as after an unmount.
  fileprivate var endsConnection: Bool {
    self == Errno(ENOTCONN) || self == Errno(ECONNABORTED) || self == Errno(ECANCELED)
      || self == Errno(ENODEV)
  }
}
