internal import Glibc
internal import Posix

/// Makes and ends the mount itself; what comes through it is the session's business.
///
/// libfuse could mount too, but tells why not only in prose on standard error, and does not try
/// fusermount3 where /dev/fuse is root's alone.
enum Mounting {
  /// Mounts over `point`; answers the open FUSE device. Root does it directly, where it may.
  static func mount(_ options: MountOptions, at point: MountPoint) throws(MountError)
    -> FileDescriptor
  {
    if geteuid() == 0, let device = try mountDirectly(options, at: point) { return device }
    return try Fusermount.mount(at: point.path, options: options.fusermountList)
  }

  /// Takes the mount out of sight. What is open in it goes on; the file system ends with the last of
  /// it. Asks nothing of the file system, so a dead one can be cleared away as well.
  static func detach(_ mountPoint: String) throws(MountError) {
    if unsafe umount2(mountPoint, CInt(MNT_DETACH) | CInt(UMOUNT_NOFOLLOW)) == 0 {
      return
    }
    let error = Errno.last
    if error != .notPermitted {
      throw MountError(.refused, "\(mountPoint) cannot be unmounted: \(error).")
    }
    try Fusermount.unmount(mountPoint)
  }

  /// nil where the kernel does not let us: root of a container, say.
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
      options.source, point.path, MountTable.fileSystemType, options.kernelFlags, data)
    if result == 0 { return device }
    let error = Errno.last
    if error == .notPermitted { return nil }
    throw MountError(.refused, "The kernel refused to mount on \(point.path): \(error).")
  }

  private static func afterDeviceFailure(_ error: Errno) throws(MountError) -> FileDescriptor? {
    switch error {
    case .noEntry, .noDevice, Errno(ENODEV): throw .noDevice
    case .accessDenied, .notPermitted: return nil
    default: throw MountError(.deviceNotPermitted, "/dev/fuse cannot be opened: \(error).")
    }
  }
}

extension MountError {
  static let noDevice = MountError(
    .noDevice,
    "There is no /dev/fuse: load the kernel module (modprobe fuse), or let the container have it.")
}

extension MountOptions {
  /// The greatest read, in bytes; the kernel wants it at mount time.
  /// Bytes of a read request. Not a mebibyte: the kernel reads ahead by one, which as one request
  /// would be opened by one processor while the others wait.
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

  /// What the kernel's FUSE is told as the last argument of mount(2).
  func kernelData(device: CInt, user: UInt32, group: UInt32) -> String {
    var words = ["fd=\(device)", "rootmode=40000", "user_id=\(user)", "group_id=\(group)"]
    words += commonWords
    return words.joined(separator: ",")
  }

  /// The list behind `-o` of fusermount3, which knows commas within a value by their backslash.
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
