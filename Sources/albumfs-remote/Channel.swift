import Glibc
import ObjectStores

/// The socket to the caller.
enum Channel {
  /// The next request and its body; nil if the caller is gone or writes none.
  static func receive() -> (RemoteRequest, [UInt8])? {
    guard let start = receive(RemoteFrame.lengthBytes), let lengths = RemoteFrame.lengths(start),
      let head = receive(lengths.head), let request = RemoteRequest(head),
      let body = receive(lengths.body)
    else { return nil }
    return (request, body)
  }

  /// Returns false if the caller is gone.
  @discardableResult
  static func send(_ reply: RemoteReply, _ body: [UInt8]) -> Bool {
    let head = reply.encode()
    return send(RemoteFrame.lengths(head: head.count, body: body.count) + head) && send(body)
  }

  private static func receive(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let from = done
      let more = unsafe bytes.withUnsafeMutableBytes {
        unsafe read(STDIN_FILENO, $0.baseAddress! + from, $0.count - from)
      }
      if more < 0, errno == EINTR { continue }
      if more <= 0 { return nil }
      done += more
    }
    return bytes
  }

  private static func send(_ bytes: [UInt8]) -> Bool {
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
