import AlbumTestSupport
import Foundation

/// The features of this kernel for a cell, measured by a program that is not part of albumfs.
struct KernelFeatures: Sendable {
  /// 0 if the kernel has no Landlock.
  var landlockVersion: Int
  /// True if a process that is not root gets a user namespace in which the kernel counts its processes alone
  /// (since 5.14).
  var hasUserNamespaces: Bool

  static let shared = Result { try KernelFeatures() }

  private init() throws {
    let script = """
      import ctypes, os, re
      c = ctypes.CDLL(None)
      print(max(0, c.syscall(444, None, ctypes.c_size_t(0), 1)))
      if os.geteuid() == 0: os.setresuid(65534, 65534, 65534)
      version = tuple(map(int, re.match(r"(\\d+)\\.(\\d+)", os.uname().release).groups()))
      print(int(version >= (5, 14) and c.unshare(0x10000000) == 0))
      """
    let words = try Workshop.open { try $0.run("/usr/bin/python3", "-c", script) }.split(
      separator: "\n")
    landlockVersion = Int(words[0]) ?? -1
    hasUserNamespaces = words[1] == "1"
  }
}
