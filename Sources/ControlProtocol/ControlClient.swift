internal import Glibc
package import Posix

/// A command's connection to the daemon of one mount. For one thread.
package struct ControlClient: ~Copyable {
  /// The daemon, from the kernel's credentials of the socket.
  package let daemon: Peer
  package let stream: MessageStream

  /// Connects to the daemon of a mount. Throws `unreachable` if there is none, or if it belongs to another
  /// user than the one who mounted it.
  package init(_ mount: MountEntry, places: ControlPlaces? = nil) throws(Failure) {
    do throws(Errno) {
      self = try ControlClient(connecting: mount, places)
    } catch {
      throw ControlClient.unreachable(mount, error)
    }
  }

  /// Uses a connection that exists already.
  package init(daemon: Peer, stream: consuming MessageStream) {
    self.daemon = daemon
    self.stream = stream
  }

  /// Sends a request and returns the final reply. Passes each interim `progress` to `progress` and each
  /// `moved` to `moved`.
  package func ask(
    _ request: ControlRequest, progress: (Int) -> Void = { _ in },
    moved: (_ bytes: Int64, _ total: Int64) -> Void = { _, _ in }
  ) throws(Failure) -> ControlReply {
    do throws(MessageStream.Problem) {
      try stream.send(request)
      while true {
        try requireLife()
        let reply = try receive()
        switch reply {
        case .progress(let pending): progress(pending)
        case .moved(let bytes, let total): moved(bytes, total)
        default: return reply
        }
      }
    } catch {
      throw ControlClient.failure(error)
    }
  }

  /// Asks the daemon to report how it ends, and returns when it has confirmed the request. Call this before
  /// the unmount, so that the daemon cannot end first. It waits only some seconds for a daemon that hangs:
  /// the caller unmounts it all the same.
  package func askForEnd() throws(Failure) {
    var refusal: Failure?
    do throws(MessageStream.Problem) {
      try stream.send(ControlRequest.end)
      try? stream.setReceiveTimeout(seconds: 3)
      if case .failed(let failure) = try stream.receive(ControlReply.self) { refusal = failure }
    } catch {
      // The daemon is ending now. It may also be the daemon of an earlier mount with the same device number.
      let hasEnded = [.ended, .system(Errno(ECONNRESET)), .system(Errno(EPIPE))].contains(error)
      if hasEnded { throw ControlClient.failure(.ended) }
      // For any other problem, `waitForEnd` will show whether the daemon is there.
    }
    try? stream.setReceiveTimeout(seconds: nil)
    // A daemon that does not know the request is unmounted all the same.
    if let refusal, refusal.kind != .unsupported { throw refusal }
  }

  /// Asks the daemon to lock the space. Returns the number of its open files; nil if it does not confirm the
  /// lock within some seconds: it may hang, or be of an earlier release.
  package func askToLock() -> Int? {
    let deadline = MonotonicTime.now + .seconds(10)
    do throws(MessageStream.Problem) {
      try stream.send(ControlRequest.lock)
      while !stream.isReadable(within: 500) {
        if ProcessState.isStopped(daemon.pid) || MonotonicTime.now > deadline { return nil }
      }
      if case .done(let summary) = try stream.receive(ControlReply.self) { return summary.count }
    } catch {
      // A daemon without open files may end before it replies.
      let hasEnded = [.ended, .system(Errno(ECONNRESET)), .system(Errno(EPIPE))].contains(error)
      if hasEnded { return 0 }
      // Otherwise the caller takes the mount out of the tree itself.
    }
    return nil
  }

  /// Since when the store does not respond, as the daemon sees it; nil if it does, or if the daemon does not
  /// reply within some seconds.
  package func askForOutage() -> MountStatus.Outage? {
    try? stream.setReceiveTimeout(seconds: 3)
    do throws(MessageStream.Problem) {
      try stream.send(ControlRequest.status)
      // The reply to an earlier request may come first.
      for _ in 0..<2 {
        if case .status(let status) = try receive() { return status.outage }
      }
    } catch {
      // Then the store is not known to be silent.
    }
    return nil
  }

  /// Waits for the end after `askForEnd`. Returns why not everything is on disk; nil if everything is.
  ///
  /// - Parameters:
  ///   - limit: throws `timedOut` after that time; nil: waits as long as the daemon lives.
  ///   - late: called about each second, with the time waited, once that exceeds 3 seconds. It may return a
  ///     failure, which ends the wait.
  package func waitForEnd(
    atMost limit: Duration? = nil, late: (Duration) -> Failure? = { _ in nil }
  ) throws(Failure) -> Failure? {
    let start = MonotonicTime.now
    do throws(MessageStream.Problem) {
      while true {
        let isThere = stream.isReadable(within: 1000)
        let waited = MonotonicTime.now - start
        if waited >= .seconds(3), let failure = late(waited) { return failure }
        if let limit, waited >= limit { throw .timedOut }
        if !isThere { continue }
        let reply = try receive()
        if case .ended(let failure) = reply { return failure }
        if case .failed(let failure) = reply { return failure }
      }
    } catch {
      switch error {
      case .ended, .system(Errno(ECONNRESET)), .system(Errno(EPIPE)):
        return Failure(
          .unreachable, "the daemon ended before it reported that everything is on disk.")
      default: throw ControlClient.failure(error)
      }
    }
  }

  /// Returns when data or the end of the stream can be read. Throws `.timedOut` if the daemon is stopped; a
  /// running one may take as long as it needs.
  private func requireLife() throws(MessageStream.Problem) {
    while !stream.isReadable(within: 3000) {
      if ProcessState.isStopped(daemon.pid) { throw .timedOut }
    }
  }

  /// Returns the next reply that this program knows. Skips unknown interim replies.
  private func receive() throws(MessageStream.Problem) -> ControlReply {
    while true {
      do throws(MessageStream.Problem) {
        return try stream.receive(ControlReply.self)
      } catch {
        if error != .unknownBody(isInterim: true) { throw error }
      }
    }
  }

  /// Connects to the newest socket of the mount that belongs to its user's daemon. Throws `.noEntry` if there
  /// is none.
  private init(
    connecting mount: MountEntry, _ places: ControlPlaces?,
    seconds: Double = ControlSocket.connectSeconds
  ) throws(Errno) {
    let places = places ?? ControlPlaces(of: mount.user ?? geteuid())
    var failure = Errno.noEntry
    for path in ControlSocket.paths(of: mount.device, in: places) {
      do throws(Errno) {
        let socket = try ControlSocket.connect(to: path, seconds: seconds)
        let peer = try ControlSocket.peer(of: socket)
        if peer.user == 0 || peer.user == mount.user {
          daemon = peer
          stream = MessageStream(socket)
          return
        }
        failure = .accessDenied
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private static func unreachable(_ mount: MountEntry, _ error: Errno) -> Failure {
    if MountLife.isDead(mount) {
      return Failure(
        .unreachable,
        "The daemon of \(mount.mountPoint) is gone. Clear the mount point with: albumfs umount "
          + mount.mountPoint)
    }
    if let user = mount.user, geteuid() != 0, user != geteuid() {
      return Failure(
        .unreachable,
        "\(mount.mountPoint) is a mount of user \(UserName.of(user)): only they and root may ask."
      )
    }
    let reason: String =
      switch error {
      case .noEntry, Errno(ECONNREFUSED): "its socket is not there"
      case .again: "it does not reply"
      default: "\(error)"
      }
    return Failure(
      .unreachable, "The daemon of \(mount.mountPoint) is there but cannot be reached: \(reason).")
  }

  private static func failure(_ problem: MessageStream.Problem) -> Failure {
    switch problem {
    case .ended: Failure(.unreachable, "The daemon ended before it replied.")
    case .timedOut:
      Failure(
        .timedOut,
        "The daemon does not reply. If it is stopped (ps shows state T), kill -CONT resumes it.")
    case .malformed(let what): Failure(.unreachable, "The daemon sent \(what).")
    case .unknownVersion, .unknownBody:
      Failure(
        .unsupported,
        "The daemon of this mount sent a reply that this program does not know: a newer version of "
          + "albumfs started it. Use that version, or unmount and mount again.")
    case .system(let error): Failure(.unreachable, "The daemon cannot be reached: \(error)")
    }
  }
}

extension ControlClient {
  /// The daemon of a mount; nil if it cannot be reached. Asks only the kernel, and so finds a daemon that
  /// hangs too. If the daemon accepts no connection any more, the name of its socket contains its process.
  package static func daemon(of mount: MountEntry) -> Peer? {
    do throws(Errno) { return try ControlClient(connecting: mount, nil, seconds: 1).daemon } catch {
      if error != .again { return nil }
      let user = mount.user ?? geteuid()
      let paths = ControlSocket.paths(of: mount.device, in: ControlPlaces(of: user))
      return paths.first.flatMap(ControlSocket.process).map { Peer(pid: $0, user: user) }
    }
  }

  /// The path of the store of a mount, from its daemon; nil if the daemon is gone, hangs, or belongs to
  /// another user. The mount table does not contain it.
  package static func store(of mount: MountEntry) -> String? {
    guard let client = try? ControlClient(connecting: mount, nil, seconds: 1) else { return nil }
    return client.askForStore(of: mount)
  }

  /// The same over this connection, which a daemon replies to until it ends.
  package func askForStore(of mount: MountEntry) -> String? {
    try? stream.setReceiveTimeout(seconds: 3)
    do throws(MessageStream.Problem) {
      try stream.send(ControlRequest.describe)
      switch try stream.receive(ControlReply.self) {
      case .description(let description): return description.store
      // A daemon of an earlier release mounted with the store's path as source.
      case .failed where mount.source.hasPrefix("/"): return mount.source
      default: return nil
      }
    } catch {
      return nil
    }
  }

  /// Removes the sockets that a killed daemon of the mount has left.
  package static func cleanUp(after mount: MountEntry, places: ControlPlaces? = nil) {
    ControlSocket.removeStale(
      of: mount.device, in: places ?? ControlPlaces(of: mount.user ?? geteuid()))
  }
}

extension ControlClient {
  /// Calls `body` with a connection to each daemon of this user that accepts one at once, and the device of
  /// its mount: also of spaces that were unmounted while files were open. Ends when `body` returns a
  /// result.
  package static func firstDaemon<Result>(
    _ body: (borrowing ControlClient, DeviceNumber) -> Result?
  ) -> Result? {
    for path in ControlSocket.all(in: ControlPlaces(of: geteuid())) {
      guard let device = ControlSocket.device(path), let client = try? ControlClient(socket: path)
      else { continue }
      if let result = body(client, device) { return result }
    }
    return nil
  }

  private init(socket path: String) throws(Errno) {
    let socket = try ControlSocket.connect(to: path, seconds: 1)
    let peer = try ControlSocket.peer(of: socket)
    if peer.user != geteuid() { throw .accessDenied }
    daemon = peer
    stream = MessageStream(socket)
    // A stopped daemon accepts a connection and does not reply.
    try? stream.setReceiveTimeout(seconds: 3)
  }
}
