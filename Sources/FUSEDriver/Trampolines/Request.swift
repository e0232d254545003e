internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3
internal import Glibc
internal import Posix
internal import Synchronization

/// One request of the kernel, which must get exactly one reply. Every `reply` consumes it. A request without
/// a reply gets EIO, so that no caller hangs.
///
/// Replies that hand something over return false if the kernel refused it, because the caller was interrupted
/// meanwhile. The driver then takes it back.
@safe struct Request: ~Copyable {
  private let raw: fuse_req_t

  /// `isUse` is false for requests by which nobody uses the space, such as those of df.
  init(_ raw: fuse_req_t?, isUse: Bool = true) {
    _ = Device.answers.load(ordering: .acquiring)
    unsafe self.raw = raw!
    if isUse { driver.use() }
  }

  deinit { unsafe _ = fuse_reply_err(raw, EIO) }

  var driver: Driver {
    unsafe Unmanaged<Driver>.fromOpaque(fuse_req_userdata(raw)!).takeUnretainedValue()
  }

  var fileSystem: FileSystem { driver.fileSystem }

  func requireUnlocked() throws(FSError) { try driver.openFiles.requireUnlocked() }

  var caller: KernelCaller {
    let context = unsafe fuse_req_ctx(raw)!.pointee
    return KernelCaller(
      user: context.uid, group: context.gid, umask: UInt16(context.umask & 0o777),
      thread: context.pid)
  }

  /// The supplementary groups of the caller; none if /proc does not show them.
  var callersGroups: [UInt32] {
    var groups = [gid_t](repeating: 0, count: 64)
    while true {
      let count = unsafe Int(fuse_req_getgroups(raw, CInt(groups.count), &groups))
      if count <= groups.count { return Array(groups.prefix(max(0, count))) }
      groups = [gid_t](repeating: 0, count: count)
    }
  }

  /// Returns an empty listing of at most `size` bytes for the reply to this request.
  func makeEntries(size: Int) -> DirectoryEntries {
    unsafe DirectoryEntries(for: raw, size: size)
  }

  // MARK: Replies

  consuming func reply(_ error: FSError, reading file: InodeNumber? = nil) {
    driver.logFailure(error, reading: file)
    unsafe _ = fuse_reply_err(raw, ErrnoTable.number(for: error.code).rawValue)
    discard self
  }

  consuming func reply(_ error: Errno) {
    unsafe _ = fuse_reply_err(raw, error.rawValue)
    discard self
  }

  /// Reports success without a result.
  consuming func replyDone() {
    unsafe _ = fuse_reply_err(raw, 0)
    discard self
  }

  /// Ends a FORGET, which gets no reply.
  consuming func replyNothing() {
    unsafe fuse_reply_none(raw)
    discard self
  }

  consuming func reply(_ entry: KernelEntry) -> Bool {
    var parameters = fuse_entry_param(entry)
    let result = unsafe fuse_reply_entry(raw, &parameters)
    discard self
    return result == 0
  }

  consuming func reply(_ entry: KernelEntry, opened info: UnsafePointer<fuse_file_info>) -> Bool {
    var parameters = fuse_entry_param(entry)
    let result = unsafe fuse_reply_create(raw, &parameters, info)
    discard self
    return result == 0
  }

  consuming func reply(opened info: UnsafePointer<fuse_file_info>) -> Bool {
    let result = unsafe fuse_reply_open(raw, info)
    discard self
    return result == 0
  }

  consuming func reply(_ attributes: Attributes) {
    let lifetime = driver.attributesLifetime(attributes)
    var status = stat(attributes)
    unsafe _ = fuse_reply_attr(raw, &status, lifetime)
    discard self
  }

  consuming func reply(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    let result = unsafe fuse_reply_buf(raw, start, bytes.count)
    discard self
    return result == 0
  }

  consuming func reply(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes {
      unsafe _ = fuse_reply_buf(raw, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
    }
    discard self
  }

  consuming func reply(written count: Int) {
    unsafe _ = fuse_reply_write(raw, count)
    discard self
  }

  /// Replies with the length of an extended attribute or of the list of their names.
  consuming func reply(attributeSize count: Int) {
    unsafe _ = fuse_reply_xattr(raw, count)
    discard self
  }

  consuming func reply(offset: Int64) {
    unsafe _ = fuse_reply_lseek(raw, off_t(offset))
    discard self
  }

  consuming func reply(_ capacity: FileSystemCapacity) {
    var status = statvfs(capacity)
    unsafe _ = fuse_reply_statfs(raw, &status)
    discard self
  }
}

/// A request that gets its reply later, from another thread.
///
/// @unchecked because any thread may reply to a request, and `take` gives it to just one.
final class WaitingRequest: @unchecked Sendable {
  private var request: Request?

  init(_ request: consuming Request) { self.request = consume request }

  /// Call it once.
  func take() -> Request { request.take()! }
}

/// The number that the kernel keeps for an open file: the address of an object, which is retained from open
/// to release. So no table is needed to find it.
@unsafe struct Handle<Object: AnyObject> {
  private let reference: Unmanaged<Object>

  /// Retains the object for the kernel.
  init(retaining object: Object) { unsafe reference = Unmanaged.passRetained(object) }

  /// Takes the number that the kernel passes with a request for the open file.
  init(_ info: UnsafePointer<fuse_file_info>?) {
    let number = unsafe UInt(info!.pointee.fh)
    unsafe reference = Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: number)!)
  }

  var number: UInt64 { UInt64(UInt(bitPattern: unsafe reference.toOpaque())) }
  var object: Object { unsafe reference.takeUnretainedValue() }

  /// Releases the object. The kernel does not use the number again.
  func take() -> Object { unsafe reference.takeRetainedValue() }
}
