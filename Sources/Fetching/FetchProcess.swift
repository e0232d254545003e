internal import Glibc
internal import Posix

/// A running albumfs-fetch. It ends with this value. For one thread.
struct FetchProcess: ~Copyable {
  enum Fault: Error {
    /// The caller's `isStopped` said so.
    case stopped
    /// The program ended, or wrote what it must not.
    case broken
    /// The dynamic linker found no libcurl.
    case notLinked
  }

  private let channel: FileDescriptor
  private let pid: Int32
  private var isOver = false
  /// The dynamic linker exits with this if it does not find a library.
  private static let notLinked: Int32 = 127
  private var parser = FetchReplyParser()
  private var buffer = [UInt8](repeating: 0, count: 1 << 18)

  /// Variables of a proxy, without which some networks have no way out. Never for public addresses alone: a
  /// proxy would connect to others as well.
  private static let proxies = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
  ]

  init(program: String, _ request: FetchRequest) throws(Errno) {
    let (ours, theirs) = try makeSocketPair()
    let channel = FileDescriptor(owning: ours)
    let other = FileDescriptor(owning: theirs)
    let redirections =
      [STDIN_FILENO, STDOUT_FILENO].map { Subprocess.Redirection($0, theirs) }
      + [Subprocess.Redirection(STDERR_FILENO, -1)]
    var environment = ["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"]
    if !request.isPublicOnly {
      environment += FetchProcess.proxies.compactMap { name in
        PathCalls.variable(name).map { "\(name)=\($0)" }
      }
    }
    let pid = try Subprocess.start(
      ["albumfs-fetch"], program: program, redirections, environment: environment, isolated: true)
    try? other.close()
    // A program that could not start has closed its end; the first read tells.
    try? channel.writeAll(request.encode())
    _ = shutdown(ours, CInt(SHUT_WR))
    self.channel = channel
    self.pid = pid
  }

  deinit {
    if isOver { return }
    _ = kill(pid, SIGKILL)
    _ = try? Subprocess.wait(pid)
  }

  /// The next frame. Asks now and then whether to stop.
  mutating func next(_ isStopped: () -> Bool) throws(Fault) -> FetchReply {
    while true {
      do throws(FetchReplyParser.Malformed) {
        if let reply = try parser.next() { return reply }
      } catch {
        throw .broken
      }
      if isStopped() { throw .stopped }
      var entry = pollfd(fd: channel.rawValue, events: Int16(POLLIN), revents: 0)
      let ready = (try? retrying { unsafe poll(&entry, 1, 200) }) ?? 0
      if ready == 0 { continue }
      let count = (try? receive()) ?? 0
      if count == 0 { throw end() }
      parser.add(buffer[..<count])
    }
  }

  /// Why nothing more comes.
  private mutating func end() -> Fault {
    // Its side is closed when it ends. One that was taken over may do otherwise.
    if let process = ProcessHandle(pid), !process.waitForEnd(atMost: 2000) {
      _ = kill(pid, SIGKILL)
    }
    let code = try? Subprocess.wait(pid)
    isOver = true
    return code == FetchProcess.notLinked ? .notLinked : .broken
  }

  private mutating func receive() throws(Errno) -> Int {
    let raw = channel.rawValue
    return try retrying {
      unsafe buffer.withUnsafeMutableBytes { unsafe read(raw, $0.baseAddress, $0.count) }
    }
  }
}
