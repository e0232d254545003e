import Posix

/// The options of a mount, from the command line and from `-o`.
package struct MountOptions: Equatable, Sendable {
  /// What the mount table shows as the device. Every user of the machine can read it, so it does not name the
  /// store unless the user asks for that (`-o fsname=`).
  package var source: String
  package var readOnly = false
  /// Other users may access the mount, subject to the permission bits.
  package var allowOther = false
  /// The mount point may hold files, which the mount covers.
  package var coversFiles = false
  var allowsSetID = false
  var allowsDevices = false
  var allowsExecution = true
  var synchronous = false
  var synchronousDirectories = false
  var updatesAccessTime = true
  var updatesDirectoryAccessTime = true
  var followsSymlinks = true
  /// nil: as `owners` decides.
  package var owner: OwnerChoice?
  /// The owner and the group that everything shows, whatever `owner` says.
  var shownUser: UInt32?
  var shownGroup: UInt32?
  /// The kernel enforces POSIX ACLs. Without this it does so if the space has some.
  var accessControl = false
  package var transport = TransportChoice.automatic

  package init(source: String = "albumfs") { self.source = source }

  /// Adds the words of one `-o a,b=c`; of two contradicting ones the later wins.
  package mutating func add(_ list: String) throws(MountError) {
    for word in list.split(separator: ",") { try add(word: String(word)) }
  }

  private mutating func add(word: String) throws(MountError) {
    if MountOptions.isForMountCommand(word) { return }
    if word.hasPrefix("uid=") { return shownUser = try MountOptions.id(word, UserName.number) }
    if word.hasPrefix("gid=") { return shownGroup = try MountOptions.id(word, GroupName.number) }
    if word.hasPrefix("fsname="), word != "fsname=" {
      source = String(word.dropFirst("fsname=".count))
      return
    }
    switch word {
    case "rw": readOnly = false
    case "ro": readOnly = true
    case "allow_other": allowOther = true
    case "suid": allowsSetID = true
    case "nosuid": allowsSetID = false
    case "dev": allowsDevices = true
    case "nodev": allowsDevices = false
    case "exec": allowsExecution = true
    case "noexec": allowsExecution = false
    case "sync": synchronous = true
    case "async": synchronous = false
    case "dirsync": synchronousDirectories = true
    case "atime", "relatime": updatesAccessTime = true
    case "noatime": updatesAccessTime = false
    case "diratime": updatesDirectoryAccessTime = true
    case "nodiratime": updatesDirectoryAccessTime = false
    case "symfollow": followsSymlinks = true
    case "nosymfollow": followsSymlinks = false
    case "acl": accessControl = true
    case "default_permissions": break
    default: throw .unknownOption(word)
    }
  }

  /// The number or name after the equals sign. The greatest number means "no change" to chown(2).
  private static func id(_ word: String, _ number: (String) -> UInt32?) throws(MountError) -> UInt32
  {
    let value = String(word.drop { $0 != "=" }.dropFirst())
    guard let id = UInt32(value) ?? number(value), id != .max else { throw .badID(word) }
    return id
  }

  /// True for words of an fstab line that are for mount(8) and systemd, not for the file system.
  private static func isForMountCommand(_ word: String) -> Bool {
    switch word {
    case "", "defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail",
      "_netdev":
      true
    default: ["x-", "X-", "comment=", "user="].contains { word.hasPrefix($0) }
    }
  }
}
