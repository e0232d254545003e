internal import Glibc

/// Gives new files of a store the owner and the group of its directory. So a store stays usable for its owner
/// when root writes to it, and a store that a group may write to stays usable for all of the group.
///
/// The group gets the permissions that it has for the directory, if the directory is closed to all others or
/// writable for the group. A directory with 0755, as mkdir makes it, shows no such intention: the group gets
/// nothing then. Others never get anything.
struct SharedAccess {
  private let owner: UInt32
  private let group: UInt32
  /// The permission bits of the group, and the set-gid bit of folders.
  private let groupPermissions: UInt32
  private let setGroupID: UInt32
  private static let groupWrite: UInt32 = 0o020

  /// `directory` is the store's.
  init(_ directory: stat) {
    owner = directory.st_uid
    group = directory.st_gid
    let mode = directory.st_mode
    let isShared = mode & SharedAccess.groupWrite != 0 || mode & 0o007 == 0
    groupPermissions = isShared ? mode & 0o070 : 0
    setGroupID = mode & 0o2000
  }

  /// True if files of the store may belong to other users than the caller, who may write to them.
  var mayHaveSeveralOwners: Bool {
    geteuid() != 0 && (owner != geteuid() || groupPermissions & SharedAccess.groupWrite != 0)
  }

  /// Gives a new file or folder to the owner and the group of the store's directory, as far as the caller
  /// may. Ignores errors: not every file system has owners.
  func apply(to file: borrowing FileDescriptor, _ status: stat) {
    let owner = geteuid() == 0 && status.st_uid != self.owner ? self.owner : nil
    var isOfGroup = status.st_gid == group
    if owner != nil || !isOfGroup {
      let result = fchown(file.rawValue, owner ?? .max, group)
      isOfGroup = isOfGroup || result == 0
    }
    let isFolder = status.st_mode & S_IFMT == S_IFDIR
    var mode: UInt32 = isFolder ? 0o700 | setGroupID : 0o600
    if isOfGroup { mode |= groupPermissions & (isFolder ? 0o070 : 0o060) }
    if status.st_mode & 0o7777 != mode { _ = fchmod(file.rawValue, mode) }
  }
}
