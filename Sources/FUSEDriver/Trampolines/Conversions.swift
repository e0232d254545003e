internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3
internal import Glibc

// Converts the C structures of requests and replies to and from the types of the file system.

extension stat {
  /// The value of `st_blksize` in bytes: a record's plaintext. stdio sizes its buffers by it.
  static let preferredBlockSize = 64 << 10

  init(_ attributes: Attributes) {
    self.init()
    st_ino = ino_t(attributes.inode.rawValue)
    st_mode = attributes.mode
    st_nlink = nlink_t(attributes.links)
    st_uid = attributes.owner
    st_gid = attributes.group
    st_rdev = dev_t(attributes.device)
    st_size = off_t(attributes.size)
    st_blocks = blkcnt_t(attributes.blocks)
    st_blksize = blksize_t(stat.preferredBlockSize)
    st_atim = timespec(attributes.accessed)
    st_mtim = timespec(attributes.modified)
    st_ctim = timespec(attributes.changed)
  }
}

extension timespec {
  init(_ time: Timestamp) {
    self.init(tv_sec: time_t(clamping: time.seconds), tv_nsec: Int(clamping: time.subsecond))
  }
}

extension Timestamp {
  /// A time that a program sets. Throws if the space cannot keep it as it is: the kernel would show what the
  /// program set until the next mount, and the file then another time.
  init(_ time: timespec) throws(FSError) {
    guard
      let kept = Timestamp(
        exactSeconds: Int64(clamping: time.tv_sec), nanoseconds: Int64(clamping: time.tv_nsec))
    else { throw FSError(.timeOutOfRange) }
    self = kept
  }
}

extension AttributeChange {
  /// The FUSE_SET_ATTR_ bits of `fields` select the members of `status`.
  init(_ status: stat, fields: CInt) throws(FSError) {
    self.init()
    func has(_ field: CInt) -> Bool { fields & field != 0 }
    if has(FUSE_SET_ATTR_MODE) { permissions = UInt16(status.st_mode & 0o7777) }
    if has(FUSE_SET_ATTR_UID) { owner = status.st_uid }
    if has(FUSE_SET_ATTR_GID) { group = status.st_gid }
    if has(FUSE_SET_ATTR_SIZE) { size = Int64(clamping: status.st_size) }
    if has(FUSE_SET_ATTR_ATIME) { accessed = .at(try Timestamp(status.st_atim)) }
    if has(FUSE_SET_ATTR_ATIME_NOW) { accessed = .now }
    if has(FUSE_SET_ATTR_MTIME) { modified = .at(try Timestamp(status.st_mtim)) }
    if has(FUSE_SET_ATTR_MTIME_NOW) { modified = .now }
    if has(FUSE_SET_ATTR_CTIME) { changed = try Timestamp(status.st_ctim) }
    killsSetID = has(FUSE_SET_ATTR_KILL_SUID) || has(FUSE_SET_ATTR_KILL_SGID)
  }
}

extension fuse_entry_param {
  init(_ entry: KernelEntry) {
    self.init()
    ino = entry.attributes.inode.rawValue
    generation = entry.generation
    attr = stat(entry.attributes)
    attr_timeout = entry.attributesLifetime
    entry_timeout = entry.nameLifetime
  }
}

extension statvfs {
  init(_ capacity: FileSystemCapacity) {
    self.init()
    f_bsize = UInt(capacity.blockSize)
    f_frsize = UInt(capacity.blockSize)
    f_blocks = fsblkcnt_t(clamping: capacity.blocks)
    f_bfree = fsblkcnt_t(clamping: capacity.freeBlocks)
    f_bavail = fsblkcnt_t(clamping: capacity.availableBlocks)
    f_files = fsfilcnt_t(clamping: capacity.files)
    f_ffree = fsfilcnt_t(clamping: capacity.freeFiles)
    f_favail = fsfilcnt_t(clamping: capacity.freeFiles)
    f_namemax = UInt(capacity.nameLimit)
  }
}

extension FileName {
  /// A name from the kernel.
  init(kernel name: UnsafePointer<CChar>?) throws(FSError) {
    let bytes = unsafe [UInt8](cString: name)
    do throws(FileName.Invalid) {
      self = try FileName(bytes)
    } catch .tooLong {
      throw FSError(.nameTooLong)
    } catch .empty {
      throw FSError(.notFound)
    } catch {
      throw FSError(.invalid)
    }
  }
}

extension [UInt8] {
  /// The bytes of a C string, without its NUL; none for a null pointer.
  init(cString: UnsafePointer<CChar>?) {
    guard let cString = unsafe cString else {
      self = []
      return
    }
    self = unsafe Array(UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
  }
}
