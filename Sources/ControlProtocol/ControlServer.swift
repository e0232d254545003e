internal import Glibc
package import Posix

import struct Synchronization.Atomic

/// Answers requests in the daemon: one thread accepts, one more serves each connection. Connections
/// stay open until the client closes them or the process ends; that end is what `albumfs umount`
/// waits for.
package final class ControlServer: Sendable {
  /// Answers one request, on the connection's own thread: it may block. `progress` sends an
  /// interim answer and tells whether the client is still there.
  package typealias Handler =
    @Sendable (_ request: ControlRequest, _ progress: (ControlReply) -> Bool) -> ControlReply

  /// More connections at once than that are refused, so that no client can use up the
  /// descriptors that the file system needs.
  static let connectionLimit = 32

  private let listener: CInt
  private let handler: Handler
  private let connections = Atomic(0)
  private let closed = Atomic(false)

  /// Takes the name of the mount's device and begins to answer. The name may still be held by the
  /// daemon of a mount that had the same number and is just ending: waits for it up to
  /// `patience` seconds, then throws `EADDRINUSE`.
  package init(device: DeviceNumber, patience: Double = 5, handler: @escaping Handler)
    throws(Errno)
  {
    listener = try ControlServer.listen(device, patience: patience).release()
    self.handler = handler
    try PosixThread(name: "control") { self.acceptAll() }.detach()
  }

  /// Gives the name free, at once and for good; connections go on. Called when the mount is gone:
  /// the kernel may give its number to another one.
  package func close() {
    if closed.exchange(true, ordering: .acquiringAndReleasing) { return }
    // shutdown wakes the accepting thread, which closes the descriptor: closing it here could
    // give its number to another file under accept's feet.
    _ = shutdown(listener, CInt(SHUT_RDWR))
  }

  private static func listen(_ device: DeviceNumber, patience: Double) throws(Errno)
    -> FileDescriptor
  {
    var tries = Int(patience * 50)
    while true {
      do throws(Errno) { return try ControlSocket.listen(on: device) } catch {
        tries -= 1
        if error != Errno(EADDRINUSE) || tries < 0 { throw error }
        usleep(20_000)
      }
    }
  }

  private func acceptAll() {
    while !closed.load(ordering: .acquiring) {
      do throws(Errno) {
        try admit(ControlSocket.accept(listener))
      } catch {
        // Out of descriptors or memory: those waiting stay in the queue until there are some.
        if !closed.load(ordering: .acquiring) { usleep(100_000) }
      }
    }
    _ = Glibc.close(listener)
  }

  /// Only who mounted it and root may ask.
  private func admit(_ socket: consuming FileDescriptor) throws(Errno) {
    let peer = try ControlSocket.peer(of: socket)
    let stream = MessageStream(socket)
    guard peer.user == getuid() || peer.user == 0 else {
      let refusal = Failure(.unreachable, "Only the user who mounted it, and root, may ask.")
      try? stream.send(ControlReply.failed(refusal))
      return
    }
    let count = connections.add(1, ordering: .relaxed).newValue
    guard count <= ControlServer.connectionLimit else {
      connections.subtract(1, ordering: .relaxed)
      try? stream.send(ControlReply.failed(Failure(.busy, "Too many commands at once.")))
      return
    }
    let connection = Connection(stream)
    try PosixThread(name: "control-client") {
      self.serve(connection)
      self.connections.subtract(1, ordering: .relaxed)
    }.detach()
  }

  private func serve(_ connection: Connection) {
    while true {
      let reply: ControlReply
      do throws(MessageStream.Problem) {
        let request = try connection.stream.receive(ControlRequest.self)
        reply = handler(request) { connection.send($0) }
      } catch .unknownVersion(let version) {
        reply = .failed(Failure(.unsupported, "The daemon does not know version \(version)."))
      } catch {
        return
      }
      if !connection.send(reply) { return }
    }
  }
}

/// Owns the stream for the thread that serves it.
private final class Connection: Sendable {
  let stream: MessageStream
  init(_ stream: consuming MessageStream) { self.stream = stream }

  func send(_ reply: ControlReply) -> Bool {
    do throws(MessageStream.Problem) { try stream.send(reply) } catch { return false }
    return true
  }
}
