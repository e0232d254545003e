/// The type of an inode. Raw values are the S_IFMT bits of `st_mode` shifted right by 12.
package enum FileKind: UInt8, Sendable, BitwiseCopyable {
  case fifo = 1
  case characterDevice = 2
  case directory = 4
  case blockDevice = 6
  case regular = 8
  case symlink = 10
  case socket = 12
}

/// The attributes of an inode that stat(2) returns.
package struct Attributes: Equatable, Sendable, BitwiseCopyable {
  package var inode: InodeNumber
  package var kind: FileKind
  /// The twelve permission bits: rwx for three classes, set-uid, set-gid, sticky.
  package var permissions: UInt16
  package var links: UInt32
  package var owner: UInt32
  package var group: UInt32
  /// The device number of a device node, otherwise 0.
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

  /// `st_mode`: type and permissions in one number.
  package var mode: UInt32 { UInt32(kind.rawValue) << 12 | UInt32(permissions & 0o7777) }
}

/// Which set-id bits remain when a program changes a file that runs as its owner or group.
///
/// The kernel leaves this to the driver and reports when it is due, except for writes and calls like them:
/// libfuse 3.14 does not pass that on. For these the driver applies the kernel's rule, and only root keeps
/// the bits.
package enum SetIDBits {
  private static let setUser: UInt16 = 0o4000
  package static let setGroup: UInt16 = 0o2000
  private static let groupExecute: UInt16 = 0o010

  /// A set-gid bit without execute permission for the group is no privilege and stays.
  package static func dropped(from permissions: UInt16) -> UInt16 {
    permissions & ~(permissions & groupExecute != 0 ? setUser | setGroup : setUser)
  }

  /// nil if no bit is dropped. On directories the bits mean something else.
  package static func permissionsAfterChange(of file: Attributes) -> UInt16? {
    let left = dropped(from: file.permissions)
    return file.kind == .regular && left != file.permissions ? left : nil
  }
}
