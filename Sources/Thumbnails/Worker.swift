package import Glibc
package import Posix
package import ThumbnailProtocol

/// One running albumfs-thumbnailer. Owns the process: it is killed and reaped in deinit, with all that
/// is in its process group. One thread.
package struct Worker: ~Copyable {
  /// Why a conversation ended early.
  package enum Failure: Error, Equatable {
    /// The process has gone, or says what is no message: it cannot be believed any more.
    case died
    case timedOut
    /// Nobody wants the picture any more.
    case abandoned
    /// The caller's stop bell rang.
    case stopped
  }

  package let process: pid_t
  private let socket: FileDescriptor
  private let stop: Doorbell

  /// Starts the process, in a process group of its own, so that a Ctrl-C meant for the daemon does not cost a
  /// photo its thumbnail; it says hello later. Throws where that cannot even be begun.
  package init(_ launch: WorkerLaunch, stop: Doorbell) throws(Errno) {
    let ends = try makeSocketPair()
    let ours = FileDescriptor(owning: ends.0)
    let theirs = FileDescriptor(owning: ends.1)
    // The socket goes first: it may lie among 0 to 2, where a daemon closed those.
    process = try Subprocess.start(
      launch.arguments, program: launch.program,
      [Subprocess.Redirection(3, theirs.rawValue)] + (0...2).map { Subprocess.Redirection($0, -1) },
      environment: Worker.environment, isolated: true)
    socket = ours
    self.stop = stop
  }

  deinit {
    // In a cell there is nobody else in it.
    kill(-process, SIGKILL)
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) == -1 && errno == EINTR {}
  }

  /// Its first message, once, before any request: what cell it is in.
  package func hello(until limit: some WaitLimit) throws(Failure) -> CellReport {
    guard case .hello(let report) = try receive(until: limit).content else { throw .died }
    return report
  }

  /// Sends a request's header, or a stretch of the picture that follows it.
  package func send(_ bytes: UnsafeRawBufferPointer, until limit: some WaitLimit) throws(Failure) {
    var sent = 0
    while sent < bytes.count {
      let result = unsafe Glibc.send(
        socket.rawValue, bytes.baseAddress! + sent, bytes.count - sent,
        CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
      if result > 0 {
        sent += result
      } else if errno == EAGAIN {
        try wait(for: POLLOUT, until: limit)
      } else if errno != EINTR {
        throw .died
      }
    }
  }

  package func send(_ request: ThumbnailRequest, until limit: some WaitLimit) throws(Failure) {
    let bytes = request.encode()
    // withUnsafeBytes passes typed errors on only as `any Error`.
    let result = unsafe bytes.withUnsafeBytes { bytes -> Result<Void, Failure> in
      Result { () throws(Failure) in try unsafe send(bytes, until: limit) }
    }
    try result.get()
  }

  /// The next message. What does not decode is the end of this worker.
  package func receive(until limit: some WaitLimit) throws(Failure) -> ThumbnailReply {
    let start = try receive(ThumbnailReply.Header.byteCount, until: limit)
    guard let header = try? ThumbnailReply.Header.decode(start) else { throw .died }
    let body = try receive(header.bodyByteCount, until: limit)
    guard let reply = try? ThumbnailReply.decode(header, body: body) else { throw .died }
    return reply
  }

  /// Whether it has said something that nobody asked for, or has gone.
  var hasSpoken: Bool {
    var byte: UInt8 = 0
    while true {
      let result = unsafe recv(socket.rawValue, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
      if result == -1 && errno == EINTR { continue }
      return result != -1 || errno != EAGAIN
    }
  }

  /// Readable when it says something.
  var pollDescriptor: CInt { socket.rawValue }

  private func receive(_ count: Int, until limit: some WaitLimit) throws(Failure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var received = 0
    while received < count {
      let result = unsafe bytes.withUnsafeMutableBytes {
        unsafe recv(
          socket.rawValue, $0.baseAddress! + received, count - received,
          CInt(MSG_DONTWAIT))
      }
      if result > 0 {
        received += result
      } else if result == 0 {
        throw .died
      } else if errno == EAGAIN {
        try wait(for: POLLIN, until: limit)
      } else if errno != EINTR {
        throw .died
      }
    }
    return bytes
  }

  private func wait(for events: CInt, until limit: some WaitLimit) throws(Failure) {
    var descriptors = [
      pollfd(fd: socket.rawValue, events: Int16(events), revents: 0),
      pollfd(fd: stop.pollDescriptor, events: Int16(POLLIN), revents: 0),
    ]
    unsafe poll(&descriptors, 2, limit.nextLook.pollTimeout(from: .now))
    if descriptors[1].revents != 0 { throw .stopped }
    if descriptors[0].revents == 0 { try limit.look() }
  }

  /// What of glibc and GLib would hand memory on without asking the cell's malloc for it: stacks of
  /// ended threads, and GLib's own blocks. The worker gets nothing else of an environment.
  private static let environment = [
    "GLIBC_TUNABLES=glibc.pthread.stack_cache_size=0", "G_SLICE=always-malloc",
  ]
}
