import Glibc
package import ThumbnailProtocol

/// The socket to the daemon. Every call blocks. If the daemon is gone or sends an invalid message, the
/// process has nothing left to do.
package struct Channel {
  static let descriptor: CInt = 3

  /// Receives the next request; nil at the end.
  func receive() -> ThumbnailRequest? {
    var header = [UInt8](repeating: 0, count: ThumbnailRequest.headerByteCount)
    let isWhole = unsafe header.withUnsafeMutableBytes { unsafe fill($0) }
    return isWhole ? try? ThumbnailRequest.decode(header) : nil
  }

  /// Reads until the buffer is full; returns false at the end.
  package func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
    var filled = 0
    while filled < buffer.count {
      let got = unsafe read(
        Channel.descriptor, buffer.baseAddress! + filled, buffer.count - filled)
      if got == -1 && errno == EINTR { continue }
      if got <= 0 { return false }
      filled += got
    }
    return true
  }

  /// Reads and discards this many bytes; returns false at the end.
  package func skip(_ count: Int) -> Bool {
    var rest = count
    var waste = [UInt8](repeating: 0, count: 65536)
    while rest > 0 {
      let part = min(rest, waste.count)
      let isWhole = unsafe waste.withUnsafeMutableBytes {
        unsafe fill(UnsafeMutableRawBufferPointer(rebasing: $0[..<part]))
      }
      if !isWhole { return false }
      rest -= part
    }
    return true
  }

  /// Returns false if the daemon is gone.
  package func send(_ reply: ThumbnailReply) -> Bool { send(reply.encode()) }

  package func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let result = unsafe bytes.withUnsafeBytes {
        unsafe write(Channel.descriptor, $0.baseAddress! + sent, bytes.count - sent)
      }
      if result == -1 && errno == EINTR { continue }
      if result <= 0 { return false }
      sent += result
    }
    return true
  }
}
