internal import CFuse3
internal import Glibc
internal import Posix

/// Owns a libfuse session over an open FUSE device, and serves requests until the connection ends. Its
/// `deinit` closes the device.
@safe struct Session: ~Copyable {
  private let raw: OpaquePointer
  /// Kept alive for libfuse, which holds a plain pointer to it.
  private let driver: Driver

  /// The greatest number of threads that serve requests, and the number that stay when idle. Each holds two
  /// buffers of a mebibyte.
  private static let threadLimit: UInt32 = 8
  private static let idleThreadLimit: UInt32 = 4

  /// Takes ownership of the device.
  init(device: consuming FileDescriptor, driver: Driver) throws(MountError) {
    FuseLog.install()
    guard let raw = unsafe Session.make(driver) else { throw Session.failure("begin") }
    var io = Device.io(isTraced: driver.trace != nil)
    guard unsafe fuse_session_custom_io(raw, &io, device.rawValue) == 0 else {
      unsafe fuse_session_destroy(raw)
      throw Session.failure("take the device over")
    }
    // libfuse closes it.
    _ = device.release()
    unsafe self.raw = raw
    self.driver = driver
    driver.rings.attach(unsafe RingSession(raw))
  }

  deinit { unsafe fuse_session_destroy(raw) }

  /// The interface for other threads while the session lives. Call it on the thread that will call `loop`.
  var link: SessionLink { unsafe SessionLink(raw) }

  /// Serves requests with several threads. Returns when the file system is unmounted, or after
  /// `SessionLink.exit`. No thread serves a request any more then.
  func loop() throws(MountError) {
    defer { driver.rings.stop() }
    Session.letSignalsWake()
    guard let configuration = unsafe fuse_loop_cfg_create() else {
      throw .systemRefused("serve requests", .noMemory)
    }
    defer { unsafe fuse_loop_cfg_destroy(configuration) }
    unsafe fuse_loop_cfg_set_max_threads(configuration, Session.threadLimit)
    unsafe fuse_loop_cfg_set_idle_threads(configuration, Session.idleThreadLimit)
    let result = unsafe fuse_session_loop_mt(raw, configuration)
    if result < 0 { throw Session.failure("go on (\(Errno(-result)))") }
    if let fault = driver.rings.fault { throw .noRing(fault) }
  }

  /// Makes the signal of `SessionLink.exit` interrupt a wait. Nobody else uses that signal.
  private static func letSignalsWake() {
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_handler = { _ in }
    unsafe _ = sigaction(SIGURG, &action, nil)
  }

  private static func make(_ driver: Driver) -> OpaquePointer? {
    var operations = OperationTable.make()
    let context = unsafe Unmanaged.passUnretained(driver).toOpaque()
    return unsafe "albumfs".withCString { name in
      var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [UnsafeMutablePointer(mutating: name)]
      return unsafe arguments.withUnsafeMutableBufferPointer { list in
        var all = unsafe fuse_args(argc: 1, argv: list.baseAddress, allocated: 0)
        return unsafe fuse_session_new(
          &all, &operations, MemoryLayout<fuse_lowlevel_ops>.size, context)
      }
    }
  }

  private static func failure(_ what: String) -> MountError {
    .sessionFailed(action: what, words: FuseLog.lastMessage)
  }
}

/// Collects what libfuse would print to standard error, for error messages.
enum FuseLog {
  private static let last = Mutex("", rank: .leaf)

  /// Takes over libfuse's log for the whole process.
  static func install() {
    last.withLock { $0 = "" }
    unsafe fuse_set_log_func { _, format, arguments in
      guard let format = unsafe format, let arguments = unsafe arguments else { return }
      var text = [CChar](repeating: 0, count: 512)
      let length = unsafe vsnprintf(&text, text.count, format, arguments)
      FuseLog.keep(text.prefix(Int(max(0, length))).map { UInt8(bitPattern: $0) })
    }
  }

  /// The last message of libfuse; empty if there is none.
  static var lastMessage: String { last.withLock { $0 } }

  private static func keep(_ bytes: [UInt8]) {
    let text = String(decoding: bytes.prefix { $0 != 0 && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    last.withLock { $0 = text }
  }
}
