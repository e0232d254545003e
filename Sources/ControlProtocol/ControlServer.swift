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
  private let connections = Monitor<[Connection]>([], rank: .leaf)
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

  /// Removes the socket for good. Existing connections continue, also those that wait to be accepted. Call
  /// this when the mount is gone, because the kernel may reuse its device number.
  package func close() {
    switch socket.withLock({ $0.take() }) {
    case .some(let old):
      old.unlink()
      admitWaiting(old.listener.rawValue)
      // Wakes the accepting thread, which has a descriptor of its own.
      _ = shutdown(old.listener.rawValue, CInt(SHUT_RDWR))
    case nil: break
    }
  }

  /// Returns when every request that a client has sent has a first reply, final or interim, or at the
  /// deadline. Call it after `close`: a daemon that was stopped, or had no time, must not end without a word
  /// to those who asked it meanwhile.
  package func replyToAll(until deadline: MonotonicTime) {
    _ = connections.waiting(until: deadline) { $0.contains(where: \.owesReply) ? nil : () }
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
        // is no listener any more. `close` may also have accepted the connection.
        usleep(100_000)
      }
    }
  }

  private func admitWaiting(_ listener: CInt) {
    while true {
      do throws(Errno) { try admit(ControlSocket.accept(listener)) } catch { return }
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
    let connection = Connection(stream)
    let isAdmitted = connections.withLock { connections in
      if connections.count < ControlServer.connectionLimit { connections.append(connection) }
      return connections.last === connection
    }
    guard isAdmitted else {
      _ = connection.send(.failed(Failure(.busy, "Too many commands at once.")))
      return
    }
    do throws(Errno) {
      try PosixThread(name: "control-client") {
        self.serve(connection)
        self.remove(connection)
      }.detach()
    } catch {
      remove(connection)
      throw error
    }
  }

  private func remove(_ connection: Connection) {
    connections.withLock { $0.removeAll { $0 === connection } }
    connections.notifyAll()
  }

  private static let unknownRequest = Failure(
    .unsupported,
    "The daemon of this mount does not know that request: another version of albumfs started it. "
      + "Unmount and mount again to use this version.")

  private func serve(_ connection: Connection) {
    while true {
      let reply: ControlReply
      do throws(MessageStream.Problem) {
        let request = try connection.receive()
        reply = handler(request) { self.send($0, connection) }
      } catch {
        switch error {
        case .unknownBody, .unknownVersion: reply = .failed(ControlServer.unknownRequest)
        default: return
        }
      }
      if !send(reply, connection) { return }
    }
  }

  private func send(_ reply: ControlReply, _ connection: Connection) -> Bool {
    let isSent = connection.send(reply)
    connections.withLock { _ in connection.isReplying.store(false, ordering: .releasing) }
    connections.notifyAll()
    return isSent
  }
}

/// F_DUPFD_CLOEXEC of <fcntl.h>.
private let F_DUPFD_CLOEXEC_VALUE: CInt = 1030

/// A client's connection. One thread serves it, and any thread may ask whether it owes a reply.
private final class Connection: Sendable {
  private let stream: MessageStream
  /// From the first byte of a request to the first reply.
  let isReplying = Atomic(false)

  init(_ stream: consuming MessageStream) { self.stream = stream }

  /// True while a request, or the client's end, has no reply yet, not even an interim one.
  var owesReply: Bool { isReplying.load(ordering: .acquiring) || stream.isReadable(within: 0) }

  func receive() throws(MessageStream.Problem) -> ControlRequest {
    // Only then may bytes leave the stream: at each moment they are there, or the flag is set.
    while !stream.isReadable(within: -1) {}
    isReplying.store(true, ordering: .releasing)
    return try stream.receive(ControlRequest.self)
  }

  func send(_ reply: ControlReply) -> Bool {
    do throws(MessageStream.Problem) {
      try stream.send(reply, isInterim: reply.isInterim)
    } catch {
      return false
    }
    return true
  }
}
