internal import AlbumModel
internal import Glibc
internal import Posix

/// Makes and ends the mount itself; the session serves its requests.
///
/// libfuse could mount too, but reports errors only as text on standard error, and does not try fusermount3
/// if only root may use /dev/fuse.
enum Mounting {
  /// Mounts over `point`; returns the open FUSE device. Root does it directly, if permitted.
  static func mount(_ options: MountOptions, at point: MountPoint) throws(MountError)
    -> FileDescriptor
  {
    if geteuid() == 0, let device = try mountDirectly(options, at: point) { return device }
    return try Fusermount.mount(at: point.path, options: options.fusermountList)
  }

  /// Removes the mount from the tree. Open files stay usable; the file system ends with the last of them. It
  /// sends the file system no request, so it can also clear a dead one.
  static func detach(_ mountPoint: String) throws(MountError) {
    do throws(Errno) { return try PathCalls.unmount(mountPoint, lazy: true) } catch {
      if error != .notPermitted {
        throw .unmountRefused(mountPoint, error)
      }
    }
    try Fusermount.unmount(mountPoint)
  }

  /// Unmounts; throws if something in the mount is in use.
  static func unmountUnused(_ mountPoint: String) throws(MountError) {
    do throws(Errno) { return try PathCalls.unmount(mountPoint, lazy: false) } catch {
      if error != .notPermitted { throw .unmountRefused(mountPoint, error) }
    }
    try Fusermount.unmount(mountPoint, lazy: false)
  }

  /// nil if the kernel does not permit it, as for root of a container.
  private static func mountDirectly(_ options: MountOptions, at point: MountPoint)
    throws(MountError) -> FileDescriptor?
  {
    let device: FileDescriptor
    do throws(Errno) {
      device = try FileDescriptor(open: "/dev/fuse", O_RDWR)
    } catch {
      return try afterDeviceFailure(error)
    }
    let data = options.kernelData(device: device.rawValue, user: getuid(), group: getgid())
    let result = unsafe Glibc.mount(
      options.source, point.path, FileSystemType.albumfs, options.kernelFlags, data)
    if result == 0 { return device }
    let error = Errno.last
    if error == .notPermitted { return nil }
    throw .mountRefused(point.path, error)
  }

  private static func afterDeviceFailure(_ error: Errno) throws(MountError) -> FileDescriptor? {
    switch error {
    case .noEntry, .noDevice, Errno(ENODEV): throw .noDevice
    case .accessDenied, .notPermitted: return nil
    default: throw .deviceRefused(error)
    }
  }
}

extension MountOptions {
  /// Checks what a mount needs of the system: the FUSE device and, for ordinary users, fusermount3.
  package func checkSystem() throws(MountError) {
    if !PathCalls.exists("/dev/fuse") { throw .noDevice }
    if geteuid() != 0 { try Fusermount.requireUsable(allowOther: allowOther) }
  }

  /// The size of a read request, in bytes, which the kernel needs at mount time. Not a mebibyte: the kernel
  /// reads ahead by one, and one processor would decrypt it as one request while the others wait.
  private static let readLimit = UInt32(256 << 10)

  /// MS_ flags of mount(2).
  var kernelFlags: UInt {
    flagWords.reduce(0) { $0 | $1.flag }
  }

  /// The flags in effect, with fusermount3's word for each.
  private var flagWords: [(word: String, flag: UInt)] {
    var result: [(word: String, flag: UInt)] = []
    if readOnly { result.append(("ro", 1)) }
    if !allowsSetID { result.append(("nosuid", 2)) }
    if !allowsDevices { result.append(("nodev", 4)) }
    if !allowsExecution { result.append(("noexec", 8)) }
    if synchronous { result.append(("sync", 16)) }
    if synchronousDirectories { result.append(("dirsync", 128)) }
    if !followsSymlinks { result.append(("nosymfollow", 256)) }
    if !updatesAccessTime { result.append(("noatime", 1024)) }
    if !updatesDirectoryAccessTime { result.append(("nodiratime", 2048)) }
    return result
  }

  /// The last argument of mount(2), for the kernel's FUSE.
  func kernelData(device: CInt, user: UInt32, group: UInt32) -> String {
    var words = ["fd=\(device)", "rootmode=40000", "user_id=\(user)", "group_id=\(group)"]
    words += commonWords
    return words.joined(separator: ",")
  }

  /// The argument of `-o` of fusermount3, which escapes commas within a value with a backslash.
  var fusermountList: String {
    let name = source.flatMap { $0 == "," || $0 == "\\" ? ["\\", $0] : [$0] }
    let words = flagWords.map(\.word) + commonWords
    return (words + ["subtype=albumfs", "fsname=\(String(name))"]).joined(separator: ",")
  }

  private var commonWords: [String] {
    ["default_permissions", "max_read=\(MountOptions.readLimit)"]
      + (allowOther ? ["allow_other"] : [])
  }
}
