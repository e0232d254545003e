internal import CFuse3
internal import Glibc
internal import Posix

/// Owns a libfuse session over an open FUSE device: answers what comes from it until the connection
/// ends. Ends with `deinit`, which closes the device.
@safe struct Session: ~Copyable {
  private let raw: OpaquePointer
  /// Kept alive for libfuse, which holds a plain pointer to it.
  private let driver: Driver

  /// The threads that answer requests at most, and how many of them stay when there is nothing to
  /// do. Each holds two buffers of a mebibyte.
  private static let threadLimit: UInt32 = 8
  private static let idleThreadLimit: UInt32 = 4

  /// Takes the device over.
  init(device: consuming FileDescriptor, driver: Driver) throws(MountError) {
    FuseLog.install()
    guard let raw = unsafe Session.make(driver) else { throw Session.failure("begin") }
    var io = Device.io
    guard unsafe fuse_session_custom_io(raw, &io, device.rawValue) == 0 else {
      unsafe fuse_session_destroy(raw)
      throw Session.failure("take the device over")
    }
    // libfuse closes it.
    _ = device.release()
    unsafe self.raw = raw
    self.driver = driver
  }

  deinit { unsafe fuse_session_destroy(raw) }

  /// What other threads may do with the session while it lives.
  var link: SessionLink { unsafe SessionLink(raw) }

  /// Answers requests with several threads; returns when the file system is unmounted, or after
  /// `SessionLink.exit`.
  func loop() throws(MountError) {
    guard let configuration = unsafe fuse_loop_cfg_create() else {
      throw MountError(.sessionFailed, "Out of memory.")
    }
    defer { unsafe fuse_loop_cfg_destroy(configuration) }
    unsafe fuse_loop_cfg_set_max_threads(configuration, Session.threadLimit)
    unsafe fuse_loop_cfg_set_idle_threads(configuration, Session.idleThreadLimit)
    let result = unsafe fuse_session_loop_mt(raw, configuration)
    if result < 0 { throw Session.failure("go on (\(Errno(-result)))") }
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
    let words = FuseLog.lastMessage
    return MountError(
      .sessionFailed, "libfuse could not \(what)\(words.isEmpty ? "." : ": \(words)")")
  }
}

/// What other threads may ask of a session, good while the session lives.
///
/// `@unchecked` because libfuse allows these calls from any thread.
@safe struct SessionLink: @unchecked Sendable {
  private let raw: OpaquePointer

  fileprivate init(_ raw: OpaquePointer) { unsafe self.raw = raw }

  /// The name, and whether it exists, is asked again when it is needed next. Waits for the lock that
  /// the kernel holds during a change of this directory.
  func expire(_ name: [UInt8], in directory: UInt64) {
    // libfuse hands the kernel one byte more than it is told: the zero at the end of a C string.
    unsafe (name + [0]).withUnsafeBytes { bytes in
      let start = unsafe bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
      let result = unsafe fuse_lowlevel_notify_expire_entry(
        raw, directory, start, name.count, FUSE_LL_EXPIRE_ONLY)
      // Linux before 6.2 does not tell apart what it forgets from what it only doubts.
      if result == -ENOSYS {
        unsafe _ = fuse_lowlevel_notify_inval_entry(raw, directory, start, name.count)
      }
    }
  }

  /// Attributes and pages, a directory's listing too. Dirty pages are written first, so it waits for
  /// the session's own threads.
  func invalidate(_ inode: UInt64) {
    unsafe _ = fuse_lowlevel_notify_inval_inode(raw, inode, 0, 0)
  }

  /// Attributes alone. Waits for nothing while the kernel uses the inode.
  func forgetAttributes(of inode: UInt64) {
    unsafe _ = fuse_lowlevel_notify_inval_inode(raw, inode, -1, 0)
  }

  /// Pages from an offset on: the kernel writes dirty ones out before it drops them. It asks the
  /// session's own threads to take them, and returns when they have.
  func writeOut(_ inode: UInt64, from offset: Int64) {
    unsafe _ = fuse_lowlevel_notify_inval_inode(raw, inode, off_t(offset), 0)
  }

  /// Ends the loop at once, with requests left open. To wake a thread of the loop the kernel is asked
  /// for nothing of the root's pages: the answer comes as a request.
  func exit() {
    unsafe fuse_session_exit(raw)
    unsafe _ = fuse_lowlevel_notify_retrieve(raw, 1, 0, 0, nil)
  }
}

/// What libfuse would print to standard error, kept for error messages instead.
enum FuseLog {
  private static let last = Mutex("")

  /// From now on, for the whole process; libfuse has one log.
  static func install() {
    last.withLock { $0 = "" }
    unsafe fuse_set_log_func { _, format, arguments in
      guard let format = unsafe format, let arguments = unsafe arguments else { return }
      var text = [CChar](repeating: 0, count: 512)
      let length = unsafe vsnprintf(&text, text.count, format, arguments)
      FuseLog.keep(text.prefix(Int(max(0, length))).map { UInt8(bitPattern: $0) })
    }
  }

  /// libfuse's latest words; empty when it said nothing.
  static var lastMessage: String { last.withLock { $0 } }

  private static func keep(_ bytes: [UInt8]) {
    let text = String(decoding: bytes.prefix { $0 != 0 && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    last.withLock { $0 = text }
  }
}
