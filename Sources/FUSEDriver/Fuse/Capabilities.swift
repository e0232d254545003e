internal import CFuse3

/// What the driver and the kernel agree on as a mount begins.
enum Capabilities {
  /// Requests of up to a mebibyte: the greatest that the kernel makes (256 pages).
  static let requestSize = UInt32(1 << 20)
  /// Read-ahead and asynchronous direct requests under way at once.
  static let backgroundRequests = UInt32(64)

  static func negotiate(_ connection: inout fuse_conn_info) {
    connection.want = connection.want & ~refused | connection.capable & wanted
    connection.max_write = requestSize
    connection.max_readahead = requestSize
    connection.max_background = backgroundRequests
    connection.congestion_threshold = backgroundRequests / 4 * 3
    connection.time_gran = 1
  }

  private static let wanted = bits(
    // Writes gather in the page cache and come a mebibyte at a time; the kernel owns size and times.
    FUSE_CAP_WRITEBACK_CACHE,
    // A listing brings the attributes along where the reader has shown that it wants them.
    FUSE_CAP_READDIRPLUS, FUSE_CAP_READDIRPLUS_AUTO,
    FUSE_CAP_PARALLEL_DIROPS, FUSE_CAP_ASYNC_READ,
    // open(O_TRUNC) is one request, and one frame of the journal, instead of two.
    FUSE_CAP_ATOMIC_O_TRUNC,
    // A link's target never changes.
    FUSE_CAP_CACHE_SYMLINKS)

  private static let refused = bits(
    // Nobody changes contents behind the kernel's back but albumfs itself, which says so: asking
    // for attributes before each read, or dropping pages as times differ, would only cost.
    FUSE_CAP_AUTO_INVAL_DATA,
    // The first protocol for set-id bits that a write must drop: the driver would have to drop them
    // at each write that arrives, but with the writeback cache it arrives late and without its
    // author, who may be one that keeps them. The second protocol has no such fault, and is agreed on
    // behind libfuse's back (`Device.dropsSetID`).
    FUSE_CAP_HANDLE_KILLPRIV,
    // When a direct write of io_submit(2) is done, the kernel drops no pages that somebody read
    // meanwhile: they would stay as they were. Without this it waits for the write, and drops them.
    FUSE_CAP_ASYNC_DIO,
    // Contents are made in memory, so there is no file to splice from or to.
    FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE,
    // Locks are the kernel's.
    FUSE_CAP_POSIX_LOCKS, FUSE_CAP_FLOCK_LOCKS,
    // Names are looked up by name alone; no NFS export.
    FUSE_CAP_EXPORT_SUPPORT,
    // The kernel applies the umask, and there are no ACLs that could replace it.
    FUSE_CAP_DONT_MASK, FUSE_CAP_POSIX_ACL,
    FUSE_CAP_IOCTL_DIR)

  private static func bits(_ capabilities: CInt...) -> UInt32 {
    capabilities.reduce(0) { $0 | UInt32(bitPattern: $1) }
  }
}
