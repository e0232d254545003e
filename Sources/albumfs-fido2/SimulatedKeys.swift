// A hook for tests (`TestHooks`). A release build does not contain it.
#if DEBUG
import Glibc
import Posix

/// Security keys that a test simulates: Unix sockets, which carry the reports of CTAPHID in both
/// directions.
enum SimulatedKeys {
  /// How long libfido2 waits for a simulated key.
  static let milliseconds: CInt = 3_000
  private static let reportByteCount = 64

  /// The paths of the sockets; nil where the keys are real.
  static let paths = TestHooks.securityKeys

  /// The handle of libfido2 is the descriptor, which is never 0.
  static let open: @convention(c) (UnsafePointer<CChar>?) -> UnsafeMutableRawPointer? = { path in
    guard let path = unsafe path else { return nil }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
      let length = unsafe min(strlen(path), room.count - 1)
      unsafe room.copyMemory(from: UnsafeRawBufferPointer(start: path, count: length))
    }
    let code = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if code == 0 { return unsafe UnsafeMutableRawPointer(bitPattern: Int(descriptor)) }
    _ = Glibc.close(descriptor)
    return nil
  }

  static let close: @convention(c) (UnsafeMutableRawPointer?) -> Void = { handle in
    unsafe _ = Glibc.close(descriptor(handle))
  }

  /// Reads one report; waits for it at most that long, or for ever if `limit` is negative.
  static let read:
    @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int, CInt) -> CInt = {
      handle, bytes, count, limit in
      var entry = unsafe pollfd(fd: descriptor(handle), events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&entry, 1, limit) > 0 else { return -1 }
      return CInt(unsafe recv(descriptor(handle), bytes, count, CInt(MSG_WAITALL)))
    }

  /// Writes one report. The first byte of libfido2's buffer is the number of the report, as hidraw wants.
  static let write: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<UInt8>?, Int) -> CInt =
    {
      handle, bytes, count in
      guard let bytes = unsafe bytes, count == reportByteCount + 1 else { return -1 }
      let sent = unsafe send(
        descriptor(handle), bytes + 1, reportByteCount, CInt(MSG_NOSIGNAL))
      return sent == reportByteCount ? CInt(count) : -1
    }

  private static func descriptor(_ handle: UnsafeMutableRawPointer?) -> CInt {
    CInt(Int(bitPattern: handle))
  }
}
#endif
