package import Glibc
package import Posix
package import ThumbnailProtocol

/// One running albumfs-thumbnailer. Owns the process: deinit kills and reaps it, with its whole process
/// group. For one thread.
package struct Worker: ~Copyable {
  /// Why a conversation ended early.
  package enum Failure: Error, Equatable {
    /// The process is gone, or sent no valid message, so it cannot be trusted any more.
    case died
    case timedOut
    /// The thumbnail is not wanted any more.
    case abandoned
    /// Other programs keep the processor from it, and it may have a greater share.
    case starved
    /// The caller's stop bell rang.
    case stopped
  }

  package let process: pid_t
  package let share: ProcessorShare
  private let socket: FileDescriptor
  private let stop: Doorbell

  /// Starts the process in a session of its own, so that a Ctrl-C for the daemon does not kill it. It
  /// sends its first message later. Throws if the process cannot be started.
  package init(_ launch: WorkerLaunch, _ share: ProcessorShare, stop: Doorbell) throws(Errno) {
    let ends = try makeSocketPair()
    let ours = FileDescriptor(owning: ends.0)
    let theirs = FileDescriptor(owning: ends.1)
    // The socket goes first, because its number may be one of 0 to 2 if the daemon closed those.
    process = try Subprocess.start(
      launch.arguments(share), program: launch.program,
      [Subprocess.Redirection(3, theirs.rawValue)] + (0...2).map { Subprocess.Redirection($0, -1) },
      environment: Worker.environment, isolated: true)
    socket = ours
    self.share = share
    self.stop = stop
  }

  deinit {
    // A worker in its cell is alone in its process group.
    kill(-process, SIGKILL)
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) == -1 && errno == EINTR {}
  }

  /// Receives the worker's first message, once, before any request: the state of its cell.
  package func hello(until limit: some WaitLimit) throws(Failure) -> CellReport {
    guard case .hello(let report) = try receive(until: limit).content else { throw .died }
    return report
  }

  /// Sends a request's header, or a part of the picture that follows it.
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
    // withUnsafeBytes passes on typed errors only as `any Error`.
    let result = unsafe bytes.withUnsafeBytes { bytes -> Result<Void, Failure> in
      Result { () throws(Failure) in try unsafe send(bytes, until: limit) }
    }
    try result.get()
  }

  /// Receives the next message. A message that does not decode ends this worker.
  package func receive(until limit: some WaitLimit) throws(Failure) -> ThumbnailReply {
    let start = try receive(ThumbnailReply.Header.byteCount, until: limit)
    guard let header = try? ThumbnailReply.Header.decode(start) else { throw .died }
    let body = try receive(header.bodyByteCount, until: limit)
    guard let reply = try? ThumbnailReply.decode(header, body: body) else { throw .died }
    return reply
  }

  /// True if the worker sent something without a request, or is gone.
  var hasSpoken: Bool {
    var byte: UInt8 = 0
    while true {
      let result = unsafe recv(socket.rawValue, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
      if result == -1 && errno == EINTR { continue }
      return result != -1 || errno != EAGAIN
    }
  }

  /// Becomes readable when the worker sends something.
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

  /// Makes glibc and GLib release memory instead of reusing it without asking the cell's malloc: stacks of
  /// ended threads, and GLib's own blocks. The worker gets no other environment.
  private static let environment = [
    "GLIBC_TUNABLES=glibc.pthread.stack_cache_size=0", "G_SLICE=always-malloc",
  ]
}
