internal import AlbumModel
internal import Glibc

// Numbers that the kernel reports, and that it has from the file system below: which may be one of FUSE or of
// the network, and reports what it likes. CephFS has 2^64 - 1 free files, others have negative or enormous
// room, sizes and times. Only this file makes numbers of albumfs of them. None of its conversions traps: what
// lies outside the limits becomes the nearest number within them, with which later sums cannot overflow.

extension StorageCapacity {
  /// Of the disk's room in bytes: an exbibyte.
  private static let byteLimit: Int64 = 1 << 60
  private static let blockLimit = 1 << 30
  /// How FUSE and CephFS report a number that they do not know or limit.
  private static let unlimited = UInt.max

  /// From the fields of `struct statvfs`, as they come.
  package init(
    f_bsize: UInt, f_frsize: UInt, f_blocks: UInt, f_bfree: UInt, f_bavail: UInt, f_files: UInt,
    f_ffree: UInt
  ) {
    let unit = Int64(clamping: f_frsize == 0 ? f_bsize : f_frsize)
    self.init(
      blockSize: min(max(1, Int(clamping: f_bsize)), StorageCapacity.blockLimit),
      totalBytes: StorageCapacity.bytes(f_blocks, unit),
      freeBytes: StorageCapacity.bytes(f_bfree, unit),
      availableBytes: StorageCapacity.bytes(f_bavail, unit),
      totalFiles: Int64(clamping: f_files), freeFiles: Int64(clamping: f_ffree))
  }

  init(_ status: statvfs) {
    self.init(
      f_bsize: status.f_bsize, f_frsize: status.f_frsize, f_blocks: status.f_blocks,
      f_bfree: status.f_bfree, f_bavail: status.f_bavail, f_files: status.f_files,
      f_ffree: status.f_ffree)
  }

  /// A number above 2^63 is a negative one, of a disk that has used up what it reserves: no room.
  private static func bytes(_ blocks: UInt, _ unit: Int64) -> Int64 {
    if blocks == unlimited { return byteLimit }
    let (bytes, overflows) = Int64(max(0, Int(bitPattern: blocks)))
      .multipliedReportingOverflow(by: unit)
    return overflows ? byteLimit : min(bytes, byteLimit)
  }
}

/// The limit of a file's size in bytes.
private let sizeLimit: Int64 = 1 << 62

extension stat {
  /// `st_size`, from 0 to 2^62.
  var byteCount: Int64 { min(max(0, Int64(clamping: st_size)), sizeLimit) }

  var times: FileTimes {
    FileTimes(
      modified: Timestamp(st_mtim), accessed: Timestamp(st_atim), changed: Timestamp(st_ctim))
  }
}

extension Timestamp {
  init(_ time: timespec) {
    self.init(seconds: Int64(clamping: time.tv_sec), nanoseconds: Int64(clamping: time.tv_nsec))
  }
}

extension timespec {
  init(_ time: Timestamp) {
    self.init(tv_sec: Int(clamping: time.seconds), tv_nsec: Int(clamping: time.subsecond))
  }

  /// At most what 64 bits hold: 292 years.
  var duration: Duration { .seconds(tv_sec) + .nanoseconds(tv_nsec) }
}
