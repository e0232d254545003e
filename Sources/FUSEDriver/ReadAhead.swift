internal import Glibc
internal import Posix

/// How far the kernel reads ahead of one who reads a file from its beginning: 128 KiB where nobody
/// asks for more, which is an eighth of what one request could bring. Only root may ask, so this is
/// for root's mounts alone; INIT can make it less, not more.
enum ReadAhead {
  static let kibibytes = 1024

  /// `device` is that of a mount. To be called when INIT has been answered.
  static func widen(device: DeviceNumber) {
    guard
      let file = try? FileDescriptor(open: "/sys/class/bdi/\(device)/read_ahead_kb", O_WRONLY)
    else { return }
    try? file.writeAll(Array("\(kibibytes)".utf8))
  }
}
