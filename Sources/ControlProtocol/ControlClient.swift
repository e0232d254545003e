internal import Glibc
package import Posix

/// A command's connection to the daemon of one mount. Not to be shared between threads.
package struct ControlClient: ~Copyable {
  /// The daemon, as the kernel says.
  package let daemon: Peer
  package let stream: MessageStream

  /// Connects to the daemon of a mount. Fails with `unreachable` when there is none or when who
  /// answers is not who mounted it.
  package init(_ mount: MountEntry, places: ControlPlaces? = nil) throws(Failure) {
    do throws(Errno) {
      self = try ControlClient(connecting: mount, places)
    } catch {
      throw ControlClient.unreachable(mount, error)
    }
  }

  /// Over a connection that is there.
  package init(daemon: Peer, stream: consuming MessageStream) {
    self.daemon = daemon
    self.stream = stream
  }

  /// Asks and waits for the last answer; each `progress` before it goes to `progress`, each `moved` to
  /// `moved`.
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

  /// Asks to be told how the daemon ends, and returns when the question has come. To be called before
  /// the unmount, so that the end cannot come first. A daemon that hangs may take longer than that: it
  /// is unmounted all the same.
  package func askForEnd() throws(Failure) {
    var refusal: Failure?
    do throws(MessageStream.Problem) {
      try stream.send(ControlRequest.end)
      try? stream.setReceiveTimeout(seconds: 3)
      if case .failed(let failure) = try stream.receive(ControlReply.self) { refusal = failure }
    } catch {
      // It ends just now, and may be the daemon of a former mount that had the same number.
      let hasEnded = [.ended, .system(Errno(ECONNRESET)), .system(Errno(EPIPE))].contains(error)
      if hasEnded { throw ControlClient.failure(.ended) }
      // Else whether it is there shows when its end is waited for.
    }
    try? stream.setReceiveTimeout(seconds: nil)
    // A daemon that does not know the question is unmounted all the same.
    if let refusal, refusal.kind != .unsupported { throw refusal }
  }

  /// Waits for the end after `askForEnd`; returns why not everything is on disk, nil where all is.
  /// `late` is called once when it takes longer than 3 seconds.
  package func waitForEnd(late: () -> Void) throws(Failure) -> Failure? {
    let deadline = MonotonicTime.now + .seconds(3)
    var isLate = false
    do throws(MessageStream.Problem) {
      while true {
        let isThere = isLate || stream.isReadable(within: 3000)
        if !isLate, !isThere || MonotonicTime.now > deadline {
          isLate = true
          late()
        }
        let reply = try receive()
        if case .ended(let failure) = reply { return failure }
        if case .failed(let failure) = reply { return failure }
      }
    } catch {
      switch error {
      case .ended, .system(Errno(ECONNRESET)), .system(Errno(EPIPE)):
        return Failure(
          .unreachable, "the daemon ended before it said that everything is on disk.")
      default: throw ControlClient.failure(error)
      }
    }
  }

  /// Returns when there is something to receive, or the end. Throws `.timedOut` where the daemon is stopped:
  /// one that works may take as long as it needs.
  private func requireLife() throws(MessageStream.Problem) {
    while !stream.isReadable(within: 3000) {
      if ProcessState.isStopped(daemon.pid) { throw .timedOut }
    }
  }

  /// The next reply that this program knows; one that it does not may be passed over where it is interim.
  private func receive() throws(MessageStream.Problem) -> ControlReply {
    while true {
      do throws(MessageStream.Problem) {
        return try stream.receive(ControlReply.self)
      } catch {
        if error != .unknownBody(isInterim: true) { throw error }
      }
    }
  }

  /// Takes the newest socket of the mount behind which the daemon of its user is. Throws `.noEntry` where
  /// there is none.
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
        "\(mount.mountPoint) is not yours: only user \(user), who mounted it, and root may ask.")
    }
    let reason: String =
      switch error {
      case .noEntry, Errno(ECONNREFUSED): "its socket is not there"
      case .again: "it does not answer"
      default: "\(error)"
      }
    return Failure(
      .unreachable, "The daemon of \(mount.mountPoint) is there but cannot be reached: \(reason).")
  }

  private static func failure(_ problem: MessageStream.Problem) -> Failure {
    switch problem {
    case .ended: Failure(.unreachable, "The daemon ended before it answered.")
    case .timedOut:
      Failure(
        .timedOut,
        "The daemon does not answer. Where it is stopped (ps says T), kill -CONT lets it go on.")
    case .malformed(let what): Failure(.unreachable, "The daemon sent \(what).")
    case .unknownVersion, .unknownBody:
      Failure(
        .unsupported,
        "The daemon of this mount sent an answer that this program does not know: a newer version of "
          + "albumfs started it. Use that one, or unmount and mount again.")
    case .system(let error): Failure(.unreachable, "The daemon cannot be asked: \(error)")
    }
  }
}

extension ControlClient {
  /// The daemon of a mount, nil where it cannot be reached. Asks the kernel only, so that a daemon that
  /// hangs is found too; one that takes no connection any more by the name of its socket.
  package static func daemon(of mount: MountEntry) -> Peer? {
    do throws(Errno) { return try ControlClient(connecting: mount, nil, seconds: 1).daemon } catch {
      if error != .again { return nil }
      let user = mount.user ?? geteuid()
      let paths = ControlSocket.paths(of: mount.device, in: ControlPlaces(of: user))
      return paths.first.flatMap(ControlSocket.process).map { Peer(pid: $0, user: user) }
    }
  }

  /// Removes what a killed daemon of the mount has left.
  package static func cleanUp(after mount: MountEntry, places: ControlPlaces? = nil) {
    ControlSocket.removeStale(
      of: mount.device, in: places ?? ControlPlaces(of: mount.user ?? geteuid()))
  }
}
