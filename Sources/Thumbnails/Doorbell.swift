import CLinux
internal import Glibc
package import Posix

/// Something to wait for beside a socket: rung by any thread, heard by those who poll it
/// (eventfd(2)).
package final class Doorbell: Sendable {
  private let descriptor: FileDescriptor

  package init() throws(Errno) {
    let raw = clinux_eventfd()
    if raw == -1 { throw .last }
    descriptor = FileDescriptor(owning: raw)
  }

  var pollDescriptor: CInt { descriptor.rawValue }

  /// Any thread; does not block. Stays rung until `silence`.
  func ring() {
    unsafe _ = withUnsafeBytes(of: UInt64(1)) { unsafe try? descriptor.write($0) }
  }

  /// Forgets the rings so far.
  func silence() {
    var count: UInt64 = 0
    unsafe _ = withUnsafeMutableBytes(of: &count) { unsafe try? descriptor.read(into: $0) }
  }
}
