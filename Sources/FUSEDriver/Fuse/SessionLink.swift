internal import CFuse3
internal import Glibc

/// The interface of a session for other threads, valid while the session lives.
///
/// `@unchecked` because libfuse allows these calls from any thread.
@safe struct SessionLink: @unchecked Sendable {
  private let raw: OpaquePointer
  /// The thread that made the link and waits in `Session.loop`.
  private let thread = pthread_self()

  init(_ raw: OpaquePointer) { unsafe self.raw = raw }

  /// Makes the kernel look the name up again when it needs it next. Waits for the lock that the kernel holds
  /// during a change of this directory.
  func expire(_ name: [UInt8], in directory: UInt64) {
    // libfuse passes one byte more than the given length: the NUL of a C string.
    unsafe (name + [0]).withUnsafeBytes { bytes in
      let start = unsafe bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
      let result = unsafe fuse_lowlevel_notify_expire_entry(
        raw, directory, start, name.count, FUSE_LL_EXPIRE_ONLY)
      // Linux before 6.2 cannot expire an entry, only invalidate it.
      if result == -ENOSYS {
        unsafe _ = fuse_lowlevel_notify_inval_entry(raw, directory, start, name.count)
      }
    }
  }

  /// Makes the kernel look all names up again when it needs them next. Waits for no lock. Linux before 6.16
  /// does nothing.
  func expireAllNames() {
    // FUSE_NOTIFY_INC_EPOCH of linux/fuse.h, which libfuse 3.14 does not know: a message is a reply to no
    // request, with its code in place of the error.
    let code: Int32 = 8
    var message = cfuse3_message(length: 16, code: code, request: 0)
    unsafe _ = write(fuse_session_fd(raw), &message, 16)
  }

  /// Makes the kernel drop attributes and pages, also a directory's listing. The kernel writes dirty pages
  /// first, so this waits for the session's own threads.
  func invalidate(_ inode: UInt64) {
    unsafe _ = fuse_lowlevel_notify_inval_inode(raw, inode, 0, 0)
  }

  /// Makes the kernel drop attributes alone. Does not wait while the kernel uses the inode.
  func forgetAttributes(of inode: UInt64) {
    unsafe _ = fuse_lowlevel_notify_inval_inode(raw, inode, -1, 0)
  }

  /// Makes the kernel write out dirty pages from an offset on, and drop them. Returns when the session's own
  /// threads have served these writes.
  func writeOut(_ inode: UInt64, from offset: Int64) {
    unsafe _ = fuse_lowlevel_notify_inval_inode(raw, inode, off_t(offset), 0)
  }

  /// Ends the loop, with requests left open. In the loop libfuse waits for its threads, which wait in the
  /// kernel; a signal makes it look whether it should end. The signal is lost if it comes just before the
  /// wait: call this again until the loop has ended.
  func exit() {
    unsafe fuse_session_exit(raw)
    pthread_kill(thread, SIGURG)
  }
}
