import Glibc
import ThumbnailProtocol

/// The socket to the daemon. Every call blocks; when the daemon has gone, or says what no daemon
/// says, there is nothing left to do.
struct Channel {
  static let descriptor: CInt = 3

  /// The next request, nil at the end.
  func receive() -> ThumbnailRequest? {
    var header = [UInt8](repeating: 0, count: ThumbnailRequest.headerByteCount)
    let isWhole = unsafe header.withUnsafeMutableBytes { unsafe fill($0) }
    return isWhole ? try? ThumbnailRequest.decode(header) : nil
  }

  /// Reads until the buffer is full; false at the end.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
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

  /// Reads this many bytes and forgets them; false at the end.
  func skip(_ count: Int) -> Bool {
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

  /// False when the daemon has gone.
  func send(_ reply: ThumbnailReply) -> Bool { send(reply.encode()) }

  func send(_ bytes: [UInt8]) -> Bool {
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
