internal import CFuse3

/// The features that the driver and the kernel agree on at the start of a mount.
enum Capabilities {
  /// Requests of up to a mebibyte, the kernel's limit (256 pages).
  static let requestSize = UInt32(1 << 20)
  /// The limit of concurrent read-ahead and asynchronous direct requests.
  static let backgroundRequests = UInt32(64)

  /// `follows`: another session may change contents, and so the kernel owns no size and time. It drops pages
  /// of a file whose times differ from those that it knows.
  static func negotiate(
    _ connection: inout fuse_conn_info, accessControl: Bool, follows: Bool
  ) {
    connection.want = connection.want & ~refused | connection.capable & wanted
    if follows {
      connection.want &= ~bits(FUSE_CAP_WRITEBACK_CACHE)
      connection.want |= connection.capable & bits(FUSE_CAP_AUTO_INVAL_DATA)
    }
    if accessControl { connection.want |= connection.capable & bits(FUSE_CAP_POSIX_ACL) }
    connection.max_write = requestSize
    connection.max_readahead = requestSize
    connection.max_background = backgroundRequests
    connection.congestion_threshold = backgroundRequests / 4 * 3
    connection.time_gran = 1
  }

  private static let wanted = bits(
    // The page cache collects writes and sends a mebibyte at a time; the kernel owns size and times.
    FUSE_CAP_WRITEBACK_CACHE,
    // A listing includes the attributes if the reader has shown that it wants them.
    FUSE_CAP_READDIRPLUS, FUSE_CAP_READDIRPLUS_AUTO,
    FUSE_CAP_PARALLEL_DIROPS, FUSE_CAP_ASYNC_READ,
    // open(O_TRUNC) is one request, and one frame of the journal, instead of two.
    FUSE_CAP_ATOMIC_O_TRUNC,
    // A link's target never changes.
    FUSE_CAP_CACHE_SYMLINKS,
    // The file system applies the umask, because a default ACL replaces it.
    FUSE_CAP_DONT_MASK)

  private static let refused = bits(
    // Only albumfs itself changes contents behind the kernel's back, and it notifies the kernel. Asking for
    // attributes before each read, or dropping pages when times differ, would only cost time.
    FUSE_CAP_AUTO_INVAL_DATA,
    // The first protocol for set-id bits that a write must drop: the driver would drop them at each write
    // that arrives. But with the writeback cache a write arrives late and without its author, who may be
    // permitted to keep them. The second protocol has no such fault; `Device.dropsSetID` enables it without
    // libfuse.
    FUSE_CAP_HANDLE_KILLPRIV,
    // After a direct write of io_submit(2) the kernel would not drop pages that a reader cached meanwhile,
    // and they would stay stale. Without this feature it waits for the write, and drops them.
    FUSE_CAP_ASYNC_DIO,
    // Contents are produced in memory, so there is no file to splice from or to.
    FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE,
    // The kernel manages locks.
    FUSE_CAP_POSIX_LOCKS, FUSE_CAP_FLOCK_LOCKS,
    // Look-ups use names only; no NFS export.
    FUSE_CAP_EXPORT_SUPPORT,
    // With ACLs the kernel asks for those of each file that `ls -l` shows. So a mount has them only if
    // the user asks for them.
    FUSE_CAP_POSIX_ACL,
    FUSE_CAP_IOCTL_DIR)

  private static func bits(_ capabilities: CInt...) -> UInt32 {
    capabilities.reduce(0) { $0 | UInt32(bitPattern: $1) }
  }
}
