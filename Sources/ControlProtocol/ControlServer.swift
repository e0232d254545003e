internal import Glibc
package import Posix

import struct Synchronization.Atomic

/// Serves requests in the daemon: one thread accepts connections, and each connection has a thread of its
/// own. Connections stay open until the client closes them or the process ends. `albumfs umount` waits for
/// that end.
package final class ControlServer: Sendable {
  /// Handles one request on the connection's own thread, so it may block. `progress` sends an interim reply
  /// and returns false if the client has disconnected.
  package typealias Handler =
    @Sendable (_ request: ControlRequest, _ progress: (ControlReply) -> Bool) -> ControlReply

  /// The server refuses more connections than this, so that no client can use up the descriptors that the
  /// file system needs.
  static let connectionLimit = 32

  /// Seconds between checks that the socket is still there. A log-out removes the runtime directory, and
  /// with it the sockets of all daemons that keep running.
  static let lookInterval = 30.0

  private let device: DeviceNumber
  private let places: ControlPlaces
  private let interval: Double
  private let handler: Handler
  private let connections = Atomic(0)
  private let socket: Mutex<ControlSocket?>

  /// Creates the mount's socket and starts to serve.
  package init(
    device: DeviceNumber, places: ControlPlaces = ControlPlaces(of: geteuid()),
    lookingEvery interval: Double = ControlServer.lookInterval, handler: @escaping Handler
  ) throws(Errno) {
    self.device = device
    self.places = places
    self.interval = interval
    socket = Mutex(try ControlSocket(listeningFor: device, in: places), rank: .leaf)
    self.handler = handler
    try PosixThread(name: "control") { self.acceptAll() }.detach()
  }

  /// The path of the socket; nil after `close`.
  package var path: String? {
    socket.withLock { socket in
      switch socket {
      case .some(let socket): socket.path
      case nil: nil
      }
    }
  }

  /// Removes the socket for good; existing connections continue. Call this when the mount is gone, because
  /// the kernel may reuse its device number.
  package func close() {
    socket.withLock { socket in
      switch consume socket {
      case .some(let old):
        old.unlink()
        // Wakes the accepting thread, which has a descriptor of its own.
        _ = shutdown(old.listener.rawValue, CInt(SHUT_RDWR))
      case nil: break
      }
      socket = nil
    }
  }

  /// A duplicate of the current socket's descriptor for the accepting thread; nil after `close`.
  private func currentListener() -> FileDescriptor? {
    socket.withLock { socket in
      switch socket {
      case .some(let socket):
        let copy = fcntl(socket.listener.rawValue, F_DUPFD_CLOEXEC_VALUE, 0)
        return copy == -1 ? nil : FileDescriptor(owning: copy)
      case nil: return nil
      }
    }
  }

  private func acceptAll() {
    while true {
      guard let listener = currentListener() else { return }
      if !isReadable(listener.rawValue) {
        renewIfLost()
        continue
      }
      do throws(Errno) {
        try admit(ControlSocket.accept(listener.rawValue))
      } catch {
        // Without descriptors or memory, clients wait in the queue until there are some. After `close` there
        // is no listener any more.
        usleep(100_000)
      }
    }
  }

  /// Waits for a connection; returns false if none arrived within the interval.
  private func isReadable(_ listener: CInt) -> Bool {
    var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&waiting, 1, CInt(interval * 1000)) > 0
  }

  /// Creates the socket again if another process has removed it.
  private func renewIfLost() {
    socket.withLock { socket in
      let isLost =
        switch socket {
        case .some(let socket): !socket.isInPlace
        case nil: false
        }
      if !isLost { return }
      // On failure, the next interval tries again.
      do throws(Errno) {
        socket = .some(try ControlSocket(listeningFor: device, in: places))
      } catch {
        return
      }
    }
  }

  /// Serves only the user who mounted the space, and root.
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

  private static let unknownRequest = Failure(
    .unsupported,
    "The daemon of this mount does not know that request: another version of albumfs started it. "
      + "Unmount and mount again to use this version.")

  private func serve(_ connection: Connection) {
    while true {
      let reply: ControlReply
      do throws(MessageStream.Problem) {
        let request = try connection.stream.receive(ControlRequest.self)
        reply = handler(request) { connection.send($0) }
      } catch {
        switch error {
        case .unknownBody, .unknownVersion: reply = .failed(ControlServer.unknownRequest)
        default: return
        }
      }
      if !connection.send(reply) { return }
    }
  }
}

/// F_DUPFD_CLOEXEC of <fcntl.h>.
private let F_DUPFD_CLOEXEC_VALUE: CInt = 1030

/// Owns the stream for the thread that serves it.
private final class Connection: Sendable {
  let stream: MessageStream
  init(_ stream: consuming MessageStream) { self.stream = stream }

  func send(_ reply: ControlReply) -> Bool {
    do throws(MessageStream.Problem) {
      try stream.send(reply, isInterim: reply.isInterim)
    } catch {
      return false
    }
    return true
  }
}
