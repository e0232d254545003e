internal import Glibc

/// The program that started this one. Its socket is standard input and standard output.
package enum Caller {
  /// The next bytes; nil if the caller is gone or writes no more of them.
  package static func receive(_ count: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      guard let more = receiveSome(atMost: min(count - bytes.count, 1 << 18)) else { return nil }
      bytes += more
    }
    return bytes
  }

  /// Everything that the caller writes; nothing if it is more than `limit` bytes.
  package static func receiveAll(atMost limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= limit, let more = receiveSome(atMost: 4096) { bytes += more }
    return bytes.count > limit ? [] : bytes
  }

  /// At least one byte; nil if no more come.
  private static func receiveSome(atMost limit: Int) -> [UInt8]? {
    while true {
      var count = 0
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { room, initialized in
        count = unsafe read(STDIN_FILENO, room.baseAddress, limit)
        initialized = max(count, 0)
      }
      if count < 0, errno == EINTR { continue }
      return count > 0 ? bytes : nil
    }
  }

  /// Returns false if the caller is gone.
  @discardableResult
  package static func send(_ bytes: [UInt8]) -> Bool {
    var done = 0
    while done < bytes.count {
      let from = done
      let count = unsafe bytes.withUnsafeBytes {
        unsafe write(STDOUT_FILENO, $0.baseAddress! + from, $0.count - from)
      }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return false }
      done += count
    }
    return true
  }
}
