import FoundationEssentials
internal import Glibc
package import Posix

/// Messages over a stream socket: four bytes of length, little-endian, then JSON `{"version": 1, "body": …}`,
/// with `"interim": true` if another reply follows. The version is that of this envelope. Programs of one
/// version may know different bodies; a program skips a body that it does not know. One thread may read while
/// another writes.
package struct MessageStream: ~Copyable, Sendable {
  /// The greatest length of a message, in bytes. A peer that announces more is not albumfs.
  static let lengthLimit = 16 << 20

  package let descriptor: FileDescriptor

  package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Why no message was received.
  package enum Problem: Error, Sendable, Equatable {
    /// The other side closed the connection between two messages.
    case ended
    /// The timeout of `setReceiveTimeout` passed.
    case timedOut
    /// The bytes are no message of albumfs.
    case malformed(String)
    /// A version that this program does not know. The stream continues after the message.
    case unknownVersion(Int)
    /// A complete message with a body that this program does not know, because the other side is newer. The
    /// stream continues after the message.
    case unknownBody(isInterim: Bool)
    case system(Errno)
  }

  private struct Envelope<Body: Codable>: Codable {
    var version: Int
    var interim: Bool?
    var body: Body
  }
  private struct EnvelopeOnly: Decodable {
    var version: Int
    var interim: Bool?
  }

  /// Sends one message. `isInterim`: another reply to the same request follows.
  package func send(_ message: some Codable, isInterim: Bool = false) throws(Problem) {
    do {
      let body = try JSONEncoder().encode(
        Envelope(
          version: ControlVersion.current, interim: isInterim ? true : nil, body: message))
      try sendFrame(Array(body))
    } catch let error as Errno {
      throw .system(error)
    } catch {
      throw .malformed("\(error)")
    }
  }

  /// Waits for one message.
  package func receive<Message: Codable>(_ type: Message.Type) throws(Problem) -> Message {
    let length = try receiveLength()
    let data = Data(try receiveBytes(length))
    do {
      return try JSONDecoder().decode(Envelope<Message>.self, from: data).body
    } catch {
      guard let envelope = try? JSONDecoder().decode(EnvelopeOnly.self, from: data) else {
        throw .malformed("a message that does not decode")
      }
      if envelope.version != ControlVersion.current { throw .unknownVersion(envelope.version) }
      throw .unknownBody(isInterim: envelope.interim ?? false)
    }
  }

  /// Sends a length and that many bytes without copying them (a password).
  package func sendRaw(_ bytes: UnsafeRawBufferPointer) throws(Problem) {
    do throws(Errno) {
      try descriptor.writeAll(prefix(bytes.count))
      var done = 0
      while done < bytes.count {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
        done += try unsafe descriptor.write(rest)
      }
    } catch {
      throw .system(error)
    }
  }

  /// The length of the next message, at most `limit` bytes. The caller then reads exactly that many bytes
  /// from `descriptor` (a password). `receive` does both.
  package func receiveLength(limit: Int = MessageStream.lengthLimit) throws(Problem) -> Int {
    let bytes = try receiveBytes(4)
    let length = bytes.indices.reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
    if length > limit { throw .malformed("a message of \(length) bytes") }
    return length
  }

  /// Fills the buffer from the stream.
  package func receiveRaw(into buffer: UnsafeMutableRawBufferPointer) throws(Problem) {
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count: Int
      do throws(Errno) {
        count = try unsafe descriptor.read(into: rest)
      } catch {
        throw error == .again ? .timedOut : .system(error)
      }
      if count == 0 { throw .ended }
      done += count
    }
  }

  /// Makes `receive` throw `.timedOut` after that many seconds without a byte; nil: never.
  package func setReceiveTimeout(seconds: Double?) throws(Errno) {
    let whole = seconds ?? 0
    var time = timeval(
      tv_sec: Int(whole), tv_usec: Int((whole - whole.rounded(.down)) * 1_000_000))
    let size = socklen_t(MemoryLayout<timeval>.size)
    try retrying {
      unsafe setsockopt(descriptor.rawValue, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    }
  }

  /// True if a byte, or the end of the stream, arrives within that time; a negative time has no end.
  package func isReadable(within milliseconds: CInt) -> Bool {
    var waiting = pollfd(fd: descriptor.rawValue, events: CShort(POLLIN), revents: 0)
    return unsafe poll(&waiting, 1, milliseconds) > 0
  }

  /// Waits until the other side closes the connection. A daemon does that when it ends.
  package func waitForEnd() throws(Problem) {
    do throws(Problem) {
      while true { _ = try receiveBytes(1) }
    } catch {
      // A daemon that is killed with unread bytes resets the connection, which is an end too.
      if error != .ended, error != .system(Errno(ECONNRESET)) { throw error }
    }
  }

  private func sendFrame(_ body: [UInt8]) throws(Errno) {
    try descriptor.writeAll(prefix(body.count) + body)
  }

  private func prefix(_ length: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
  }

  private func receiveBytes(_ count: Int) throws(Problem) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var problem: Problem?
    unsafe bytes.withUnsafeMutableBytes { buffer in
      do throws(Problem) { try unsafe receiveRaw(into: buffer) } catch { problem = error }
    }
    if let problem { throw problem }
    return bytes
  }
}
