import Glibc
import ThumbnailProtocol

/// The socket to the daemon. Every call blocks. If the daemon is gone or sends an invalid message, the
/// process has nothing left to do.
struct Channel {
  static let descriptor: CInt = 3

  /// Receives the next request; nil at the end.
  func receive() -> ThumbnailRequest? {
    var header = [UInt8](repeating: 0, count: ThumbnailRequest.headerByteCount)
    let isWhole = unsafe header.withUnsafeMutableBytes { unsafe fill($0) }
    return isWhole ? try? ThumbnailRequest.decode(header) : nil
  }

  /// Reads until the buffer is full; returns false at the end.
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

  /// Reads and discards this many bytes; returns false at the end.
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

  /// Returns false if the daemon is gone.
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

/// Separate memory for the bytes of one picture and zeros behind them. deinit returns it to the kernel, which
/// wipes it.
@safe
struct PictureMemory: ~Copyable {
  /// Zeros take no memory until somebody writes there.
  private static let paddingByteCount = 64 << 20

  private let all: UnsafeMutableRawBufferPointer
  private let byteCount: Int

  /// nil if the cell has not enough memory.
  init?(byteCount: Int) {
    let length = byteCount + PictureMemory.paddingByteCount
    let memory = unsafe mmap(
      nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
    unsafe all = UnsafeMutableRawBufferPointer(start: memory, count: length)
    self.byteCount = byteCount
  }

  var bytes: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: all[..<byteCount])
  }

  var picture: Picture {
    unsafe Picture(content: UnsafeRawBufferPointer(bytes), padded: UnsafeRawBufferPointer(all))
  }

  deinit { unsafe _ = munmap(all.baseAddress, all.count) }
}
