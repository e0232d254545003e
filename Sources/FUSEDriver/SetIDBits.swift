package import AlbumModel

/// Which permission bits are left when somebody changes a file that runs as its owner or group.
///
/// The kernel leaves this to the driver (`Device.dropsSetID`) and says when it is due, except with a
/// write and what is like one: libfuse 3.14 does not pass that on. There the rule is the kernel's
/// own, with root for the one who may keep them.
package enum SetIDBits {
  private static let setUser: UInt16 = 0o4000
  private static let setGroup: UInt16 = 0o2000
  private static let groupExecute: UInt16 = 0o010

  /// nil when nothing is to be dropped. A set-gid bit without execution for the group is no privilege
  /// and stays; those of directories mean something else.
  package static func permissionsAfterChange(of file: Attributes) -> UInt16? {
    guard file.kind == .regular else { return nil }
    var dropped = file.permissions & setUser
    if file.permissions & groupExecute != 0 { dropped |= file.permissions & setGroup }
    return dropped == 0 ? nil : file.permissions & ~dropped
  }
}
