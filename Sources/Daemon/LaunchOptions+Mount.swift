package import ControlProtocol
import FUSEDriver

extension LaunchOptions {
  /// Looks at what can be wrong with the mount point and the mount options, before a password is
  /// asked for.
  package func check() throws(Failure) {
    do throws(MountError) {
      _ = try parsedMountOptions()
      _ = try MountPoint(mountPoint)
    } catch {
      throw Failure(error)
    }
  }

  /// All that says how to mount, in one; the options of their own win over `-o`.
  func parsedMountOptions() throws(MountError) -> MountOptions {
    var parsed = MountOptions(source: store)
    try parsed.add(mountOptions)
    if readOnly { parsed.readOnly = true }
    if allowOther { parsed.allowOther = true }
    return parsed
  }
}
