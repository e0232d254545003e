package import AlbumModel
internal import CLinux
internal import Glibc

/// F_DUPFD_CLOEXEC of <fcntl.h>.
private let fcntlDuplicate: CInt = 1030

/// How `FileDescriptor` prevents a path from leading out of its directory.
package enum PathResolution: Sendable {
  /// With openat2(2), or stepwise on a kernel that lacks it.
  case byKernel
  /// One component at a time, as on a kernel before 5.6.
  case stepwise
}

/// Owns one open file descriptor. `close()` reports errors; `deinit` closes without reporting.
package struct FileDescriptor: ~Copyable, Sendable {
  package let rawValue: CInt

  /// Takes ownership of `rawValue`.
  package init(owning rawValue: CInt) { self.rawValue = rawValue }

  deinit { _ = Glibc.close(rawValue) }

  /// close(2). Closes the descriptor even when this throws.
  package consuming func close() throws(Errno) {
    let raw = rawValue
    discard self
    if Glibc.close(raw) == -1, Errno.last != .interrupted { throw .last }
  }

  /// Has a file system report what close(2) would report, such as a full disk, and keeps the descriptor, by
  /// closing a copy of it.
  package func flush() throws(Errno) {
    let (raw, copying) = (rawValue, fcntlDuplicate)
    try FileDescriptor(owning: retrying { fcntl(raw, copying, 0) }).close()
  }

  /// Passes ownership to the caller, who closes the descriptor.
  package consuming func release() -> CInt {
    let raw = rawValue
    discard self
    return raw
  }

  /// open(2), always with O_CLOEXEC.
  package init(
    open path: some SystemPath, _ flags: CInt, permissions: UInt32 = 0o600
  ) throws(Errno) {
    let path = path.cString
    rawValue = try retrying {
      unsafe clinux_openat(AT_FDCWD, path, flags | O_CLOEXEC, permissions)
    }
  }

  /// openat2(2), always with O_CLOEXEC. No part of the path, neither `..` nor a symbolic link, leads out of
  /// the directory. Reads through the descriptor do not change the access time if the kernel permits that,
  /// as it does for the owner of the file and for root.
  package init(
    open path: some SystemPath, in directory: borrowing FileDescriptor, _ flags: CInt,
    permissions: UInt32 = 0o600, resolution: PathResolution = .byKernel
  ) throws(Errno) {
    let (base, path) = (directory.rawValue, path.cString)
    func open(_ flags: CInt) throws(Errno) -> CInt {
      try retrying {
        switch resolution {
        case .byKernel: unsafe clinux_open_beneath(base, path, flags | O_CLOEXEC, permissions)
        case .stepwise:
          unsafe clinux_open_beneath_stepwise(base, path, flags | O_CLOEXEC, permissions)
        }
      }
    }
    // Leaves O_NOATIME out when this call creates the file: if the kernel refuses the flag after creating it,
    // a retry would find the file. openat2 refuses the flag together with O_PATH.
    if flags & (O_CREAT | clinux_path_flag()) != 0 {
      rawValue = try open(flags)
      return
    }
    do throws(Errno) { rawValue = try open(flags | O_NOATIME_VALUE) } catch {
      if error != .notPermitted { throw error }
      rawValue = try open(flags)
    }
  }

  /// read(2): reads up to the buffer's size; returns 0 at the end.
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
    try retrying { unsafe Glibc.read(rawValue, buffer.baseAddress, buffer.count) }
  }

  /// write(2), which may write less than the buffer.
  package func write(_ buffer: UnsafeRawBufferPointer) throws(Errno) -> Int {
    try retrying { unsafe Glibc.write(rawValue, buffer.baseAddress, buffer.count) }
  }

  /// Writes all bytes, in as many calls as that takes.
  package func writeAll(_ bytes: [UInt8]) throws(Errno) {
    var written = 0
    while written < bytes.count {
      let from = written
      written += try retrying {
        unsafe bytes.withUnsafeBytes {
          unsafe Glibc.write(rawValue, $0.baseAddress! + from, bytes.count - from)
        }
      }
    }
  }

  /// pread(2), which may read less than the buffer's size.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno)
    -> Int
  {
    try retrying {
      unsafe Glibc.pread(rawValue, buffer.baseAddress, buffer.count, off_t(offset))
    }
  }

  /// Reads at `offset` until the buffer is full or the file ends; returns the number of bytes.
  package func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int
  {
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = try unsafe read(into: rest, at: offset + Int64(done))
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Does the same with an array.
  func fill(_ bytes: inout [UInt8], at offset: Int64) throws(Errno) -> Int {
    try unsafe bytes.withUnsafeMutableBufferPointer { buffer throws(Errno) in
      try unsafe fill(UnsafeMutableRawBufferPointer(buffer), at: offset)
    }
  }

  /// pwrite(2), which may write less than the buffer.
  package func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    try retrying {
      unsafe Glibc.pwrite(rawValue, buffer.baseAddress, buffer.count, off_t(offset))
    }
  }

  /// pwritev(2) of two buffers, which may write less than both.
  package func write(
    _ buffer: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno) -> Int {
    let parts = unsafe [
      iovec(iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count),
      iovec(iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: rest.count),
    ]
    return try retrying { unsafe pwritev(rawValue, parts, CInt(parts.count), off_t(offset)) }
  }

  /// fdatasync(2). Never retries: after a failure the kernel may have dropped the pages.
  func synchronizeData() throws(Errno) {
    if Glibc.fdatasync(rawValue) == -1 { throw .last }
  }

  /// fsync(2). Never retries.
  package func synchronize() throws(Errno) {
    if Glibc.fsync(rawValue) == -1 { throw .last }
  }

  /// Reads the names in this directory, without `.` and `..`, in no order, and closes it. Stops after `limit`
  /// names; `isComplete` is false if there are more.
  consuming func readNames(atMost limit: Int = .max) throws(Errno)
    -> (names: [[UInt8]], isComplete: Bool)
  {
    let raw = release()
    guard let stream = unsafe fdopendir(raw) else {
      let error = Errno.last
      _ = Glibc.close(raw)
      throw error
    }
    defer { unsafe _ = closedir(stream) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw .last }
        return (names, true)
      }
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
        unsafe Array($0.prefix { $0 != 0 })
      }
      if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { continue }
      if names.count == limit { return (names, false) }
      names.append(name)
    }
  }

  /// Starts writeback of all dirty pages and does not wait for it (sync_file_range(2)).
  package func startWriteback() {
    _ = clinux_sync_file_range_start(rawValue, 0, 0)
  }

  /// fstat(2).
  func status() throws(Errno) -> stat {
    var status = stat()
    try retrying { unsafe fstat(rawValue, &status) }
    return status
  }

  /// fstat(2): true for a regular file of this user or of root that nobody else may write.
  package var isTrusted: Bool {
    get throws(Errno) {
      let status = try status()
      return status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o022 == 0
        && (status.st_uid == geteuid() || status.st_uid == 0)
    }
  }

  /// fstat(2): true for a regular file of this user with one name, which nobody else may read or write.
  package var isPrivate: Bool {
    get throws(Errno) {
      let status = try status()
      return status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0
        && status.st_uid == geteuid() && status.st_nlink == 1
    }
  }

  /// Opens a file for appending, and makes a missing one that nobody else may read. Follows no link in the
  /// last part of the path, and does not wait.
  package init(appendingTo path: String) throws(Errno) {
    try self.init(
      open: path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
      permissions: 0o600)
  }

  /// fstat(2): size in bytes.
  package func size() throws(Errno) -> Int64 {
    try status().byteCount
  }

  /// fstat(2): all times of the file.
  package func times() throws(Errno) -> FileTimes {
    try status().times
  }

  /// Sets the modification time and the access time (futimens(2)).
  func setTimes(_ time: Timestamp) throws(Errno) {
    let time = timespec(time)
    try retrying { unsafe futimens(rawValue, [time, time]) }
  }

  /// Sets the access time alone (futimens(2)).
  package func setAccessTime(_ time: Timestamp) throws(Errno) {
    // UTIME_OMIT, which Swift does not import: the modification time stays.
    let omitted = timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2)
    let time = timespec(time)
    try retrying { unsafe futimens(rawValue, [time, omitted]) }
  }

  /// Sets both times to now, which whoever may write to the file may do too (futimens(2)).
  func setTimesToNow() throws(Errno) {
    try retrying { futimens(rawValue, nil) }
  }

  /// Makes the kernel set the access time as a read would, without a read: to map a file is an access.
  func touchAccessTime() {
    let size = 4096
    guard let map = unsafe mmap(nil, size, PROT_READ, MAP_PRIVATE, rawValue, 0),
      unsafe map != MAP_FAILED
    else { return }
    unsafe munmap(map, size)
  }

  /// How long `lock` waits.
  private static let lockPatience = TestHooks.delay(.lock, .seconds(60))

  /// Takes a shared or exclusive open-file-description lock over `length` bytes at `offset` (0: to the end).
  /// Throws `.again` if another holder has it: at once, or with `wait` after a minute. The kernel drops the
  /// lock when the last copy of the descriptor is closed.
  package func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    let kind = Int16(exclusive ? F_WRLCK : F_RDLCK)
    let deadline = MonotonicTime.now + (wait ? FileDescriptor.lockPatience : .zero)
    while true {
      do throws(Errno) {
        try retrying { clinux_ofd_lock(rawValue, kind, offset, length, 0) }
        return
      } catch {
        // POSIX lets a file system say either, and SMB says the second.
        let isTaken = error == .again || error == .accessDenied
        if !isTaken { throw error }
        if MonotonicTime.now >= deadline { throw .again }
      }
      // F_OFD_SETLKW would wait for ever if a hostile process holds the lock.
      SystemClock.sleep(milliseconds: 20)
    }
  }

  /// Lets the kernel forget what it has cached of the file, as far as it does that.
  package func dropCached() { _ = posix_fadvise(rawValue, 0, 0, POSIX_FADV_DONTNEED) }

  /// True where another open file description holds a lock anywhere in the file.
  package func isLockedByOthers() throws(Errno) -> Bool {
    try retrying { clinux_ofd_is_locked(rawValue) } == 1
  }

  /// Releases a lock taken with `lock`.
  package func unlock(offset: Int64, length: Int64) throws(Errno) {
    try retrying { clinux_ofd_lock(rawValue, Int16(F_UNLCK), offset, length, 0) }
  }
}

/// O_NOATIME needs _GNU_SOURCE, which Swift does not set.
let O_NOATIME_VALUE: CInt = 0o1000000

/// Reads a file whose size is not known in advance, such as one under /proc.
package func readWholeFile(_ path: String) throws(Errno) -> [UInt8] {
  try FileDescriptor(open: path, O_RDONLY).readToEnd()
}

extension FileDescriptor {
  /// Reads until the file ends or the other side closes the connection, at most a page at a time.
  package func readToEnd() throws(Errno) -> [UInt8] {
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = try retrying {
        unsafe buffer.withUnsafeMutableBytes {
          unsafe Glibc.read(rawValue, $0.baseAddress, $0.count)
        }
      }
      if count == 0 { return content }
      content += buffer[..<count]
    }
  }
}

extension FileDescriptor {
  /// Calls `body` with each line, as it comes, until the other side closes the connection. Lines of more than
  /// 64 KiB are cut.
  package func forEachLine(_ body: (String) -> Void) {
    var line: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = try? retrying {
        unsafe buffer.withUnsafeMutableBytes {
          unsafe Glibc.read(rawValue, $0.baseAddress, $0.count)
        }
      }
      guard let count, count > 0 else { return }
      for byte in buffer[..<count] {
        if byte == UInt8(ascii: "\n") {
          body(String(decoding: line, as: UTF8.self))
          line = []
        } else if line.count < 1 << 16 {
          line.append(byte)
        }
      }
    }
  }
}
