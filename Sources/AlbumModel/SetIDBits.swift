/// Which permission bits are left when somebody changes a file that runs as its owner or group.
///
/// The kernel leaves this to the driver and says when it is due, except with a write and what is like one:
/// libfuse 3.14 does not pass that on. There the rule is the kernel's own, with root for the one who may
/// keep them.
package enum SetIDBits {
  private static let setUser: UInt16 = 0o4000
  private static let setGroup: UInt16 = 0o2000
  private static let groupExecute: UInt16 = 0o010

  /// A set-gid bit without execution for the group is no privilege and stays.
  package static func dropped(from permissions: UInt16) -> UInt16 {
    permissions & ~(permissions & groupExecute != 0 ? setUser | setGroup : setUser)
  }

  /// nil when nothing is to be dropped. The bits of directories mean something else.
  package static func permissionsAfterChange(of file: Attributes) -> UInt16? {
    let left = dropped(from: file.permissions)
    return file.kind == .regular && left != file.permissions ? left : nil
  }
}
