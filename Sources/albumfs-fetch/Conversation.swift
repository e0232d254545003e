import Fetching
import Glibc

/// The two ends of the socket to the caller.
enum Conversation {
  /// Everything that the caller writes; nothing if it is more than `limit`.
  static func readAll(atMost limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count <= limit {
      let count = unsafe read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return bytes }
      bytes += buffer[..<count]
    }
    return []
  }

  /// Returns false if the caller is gone.
  @discardableResult
  static func send(_ reply: FetchReply) -> Bool {
    let bytes = reply.encode()
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
