internal import Glibc

/// A running program that talks with its caller over one socket, its standard input and output. It has a
/// session and an environment of its own, and its messages go nowhere. It ends with this object. For one
/// thread at a time.
package final class HelperProcess: Sendable {
  /// Why nothing more comes.
  package enum Fault: Error, Equatable, Sendable {
    /// The caller's `isStopped` said so.
    case stopped
    case ended
    /// The dynamic linker did not find a library.
    case notLinked
  }

  private let channel: FileDescriptor
  private let pid: Int32
  /// Its exit code, once it has ended.
  private let code = Mutex<Int32?>(nil, rank: .leaf)

  /// The dynamic linker exits with this if it does not find a library.
  private static let notLinked: Int32 = 127
  /// How long a read waits before it asks again whether to stop, and how long an end is awaited, in
  /// milliseconds.
  private static let (pollTime, endTime): (Int32, Int32) = (200, 2000)
  /// Variables of a proxy, without which some networks have no way out.
  private static let proxies = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
  ]

  /// Starts the program at a path. A proxy that the environment names is known to it on request alone.
  package init(_ name: String, program: String, usesProxies: Bool) throws(Errno) {
    let (ours, theirs) = try makeSocketPair()
    let channel = FileDescriptor(owning: ours)
    let other = FileDescriptor(owning: theirs)
    let redirections =
      [STDIN_FILENO, STDOUT_FILENO].map { Subprocess.Redirection($0, theirs) }
      + [Subprocess.Redirection(STDERR_FILENO, -1)]
    var environment = ["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"]
    if usesProxies {
      environment += HelperProcess.proxies.compactMap { name in
        PathCalls.variable(name).map { "\(name)=\($0)" }
      }
    }
    pid = try Subprocess.start(
      [name], program: program, redirections, environment: environment, isolated: true)
    try? other.close()
    self.channel = channel
  }

  deinit {
    if code.withLock({ $0 }) != nil { return }
    _ = kill(pid, SIGKILL)
    _ = try? Subprocess.wait(pid)
  }

  /// Sends all bytes. No signal comes if the program has ended.
  package func send(_ bytes: [UInt8]) throws(Errno) {
    let raw = channel.rawValue
    var done = 0
    while done < bytes.count {
      let from = done
      done += try retrying {
        unsafe bytes.withUnsafeBytes {
          unsafe Glibc.send(raw, $0.baseAddress! + from, $0.count - from, CInt(MSG_NOSIGNAL))
        }
      }
    }
  }

  /// Tells the program that nothing more is sent.
  package func endSending() { _ = shutdown(channel.rawValue, CInt(SHUT_WR)) }

  /// Receives exactly so many bytes. Asks now and then whether to stop.
  package func receive(_ count: Int, _ isStopped: () -> Bool) throws(Fault) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      bytes += try receiveSome(atMost: min(count - bytes.count, 1 << 18), isStopped)
    }
    return bytes
  }

  /// Receives at least one byte. Asks now and then whether to stop.
  package func receiveSome(atMost limit: Int, _ isStopped: () -> Bool) throws(Fault) -> [UInt8] {
    while true {
      if isStopped() { throw .stopped }
      var entry = pollfd(fd: channel.rawValue, events: Int16(POLLIN), revents: 0)
      let ready = (try? retrying { unsafe poll(&entry, 1, HelperProcess.pollTime) }) ?? 0
      if ready == 0 { continue }
      var count = 0
      let raw = channel.rawValue
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { room, initialized in
        count = (try? retrying { unsafe read(raw, room.baseAddress, limit) }) ?? 0
        initialized = max(count, 0)
      }
      if count <= 0 { throw end() }
      return bytes
    }
  }

  /// Returns why nothing more comes.
  package func end() -> Fault {
    // Its side is closed when it ends. One that was taken over may do otherwise.
    guard let process = ProcessHandle(pid), process.waitForEnd(atMost: HelperProcess.endTime) else {
      return .ended
    }
    let found = code.withLock { code in
      code = code ?? (try? Subprocess.wait(pid)) ?? -1
      return code
    }
    return found == HelperProcess.notLinked ? .notLinked : .ended
  }
}
