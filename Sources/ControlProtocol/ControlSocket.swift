internal import CLinux
internal import Glibc
package import Posix

/// Who is at the other end of a local socket, as the kernel says.
package struct Peer: Sendable, Equatable {
  package var pid: Int32
  package var user: UInt32
}

/// The socket of one mount: `albumfs/<major>:<minor>` in the abstract namespace, so that no file
/// is left anywhere and the name goes with the daemon. The name protects nothing: anybody may
/// connect and anybody may take it first, so each side asks the kernel who the other is.
enum ControlSocket {
  static func name(of device: DeviceNumber) -> String { "albumfs/\(device)" }

  /// A socket that listens; throws `EADDRINUSE` when somebody has the name.
  static func listen(on device: DeviceNumber) throws(Errno) -> FileDescriptor {
    let socket = try make()
    let raw = socket.rawValue
    try unsafe withAddress(name(of: device)) { unsafe Glibc.bind(raw, $0, $1) }
    try retrying { Glibc.listen(raw, 16) }
    return socket
  }

  /// A connection to the daemon; throws `ECONNREFUSED` when there is none.
  static func connect(to device: DeviceNumber) throws(Errno) -> FileDescriptor {
    let socket = try make()
    let raw = socket.rawValue
    try unsafe withAddress(name(of: device)) { unsafe Glibc.connect(raw, $0, $1) }
    return socket
  }

  static func accept(_ listener: CInt) throws(Errno) -> FileDescriptor {
    FileDescriptor(owning: try retrying { clinux_accept(listener) })
  }

  static func peer(of socket: borrowing FileDescriptor) throws(Errno) -> Peer {
    // struct ucred, which Glibc's module hides: pid, uid, gid.
    var credentials: (Int32, UInt32, UInt32) = (0, 0, 0)
    var size = socklen_t(MemoryLayout.size(ofValue: credentials))
    let raw = socket.rawValue
    try retrying { unsafe getsockopt(raw, SOL_SOCKET, SO_PEERCRED, &credentials, &size) }
    return Peer(pid: credentials.0, user: credentials.1)
  }

  private static func make() throws(Errno) -> FileDescriptor {
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    return FileDescriptor(owning: try retrying { socket(AF_UNIX, kind, 0) })
  }

  private static func withAddress(
    _ name: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) throws(Errno) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // An abstract name begins with a zero byte and ends where the length says.
    let bytes = [0] + Array(name.utf8)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    try retrying {
      unsafe withUnsafePointer(to: address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
      }
    }
  }
}

/// Two ends of one connection, for a daemon and who starts it.
package func makeSocketPair() throws(Errno) -> (CInt, CInt) {
  var ends: [CInt] = [-1, -1]
  let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
  try retrying { unsafe socketpair(AF_UNIX, kind, 0, &ends) }
  return (ends[0], ends[1])
}
