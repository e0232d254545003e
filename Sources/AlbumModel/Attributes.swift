/// A time in nanoseconds since 1970-01-01 UTC, good from 1677 to 2262.
package struct Timestamp: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var nanoseconds: Int64
  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  package init(seconds: Int64, nanoseconds: Int64) {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = product.addingReportingOverflow(nanoseconds)
    self.nanoseconds = overflow || overflow2 ? (seconds < 0 ? .min : .max) : sum
  }
  package static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }

  /// Whole seconds, rounded down; with `subsecond` the pair that `struct timespec` wants.
  package var seconds: Int64 {
    let (quotient, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? quotient - 1 : quotient
  }
  package var subsecond: Int64 {
    let rest = nanoseconds % 1_000_000_000
    return rest < 0 ? rest + 1_000_000_000 : rest
  }
}

/// What an inode is. Raw values are the S_IFMT bits of `st_mode` shifted right by 12.
package enum FileKind: UInt8, Sendable, BitwiseCopyable {
  case fifo = 1
  case characterDevice = 2
  case directory = 4
  case blockDevice = 6
  case regular = 8
  case symlink = 10
  case socket = 12
}

/// What `stat` says of an inode: plain values.
package struct Attributes: Equatable, Sendable, BitwiseCopyable {
  package var inode: InodeNumber
  package var kind: FileKind
  /// The twelve permission bits: rwx for three classes, set-uid, set-gid, sticky.
  package var permissions: UInt16
  package var links: UInt32
  package var owner: UInt32
  package var group: UInt32
  /// Device number of a device node, else 0.
  package var device: UInt32
  /// Size in bytes.
  package var size: Int64
  /// Space taken, in units of 512 bytes.
  package var blocks: Int64
  package var accessed: Timestamp
  package var modified: Timestamp
  package var changed: Timestamp

  package init(
    inode: InodeNumber, kind: FileKind, permissions: UInt16, links: UInt32, owner: UInt32,
    group: UInt32, device: UInt32, size: Int64, blocks: Int64, accessed: Timestamp,
    modified: Timestamp, changed: Timestamp
  ) {
    self.inode = inode
    self.kind = kind
    self.permissions = permissions
    self.links = links
    self.owner = owner
    self.group = group
    self.device = device
    self.size = size
    self.blocks = blocks
    self.accessed = accessed
    self.modified = modified
    self.changed = changed
  }

  /// `st_mode`: kind and permissions in one number.
  package var mode: UInt32 { UInt32(kind.rawValue) << 12 | UInt32(permissions & 0o7777) }
}
