internal import Glibc
internal import Posix

/// One connection to a server, and whatever speaks on it. For one thread at a time.
package protocol RemoteLane: AnyObject, Sendable {
  /// Returns the reply and the body that came with it.
  func exchange(
    _ request: RemoteRequest, _ body: [UInt8], _ isStopped: () -> Bool
  ) throws(LaneFault) -> (RemoteReply, [UInt8])
}

package enum LaneFault: Error, Equatable, Sendable {
  case stopped
  /// The program ended, or wrote what it must not.
  case broken
  /// The program cannot be run.
  case program(ObjectError.ProgramFault)
}

/// A running albumfs-remote. It ends with this object.
package final class RemoteProcess: RemoteLane {
  private let channel: FileDescriptor
  private let pid: Int32
  /// Its exit code, once it has ended.
  private let code = Mutex<Int32?>(nil, rank: .leaf)

  /// The dynamic linker exits with this if it does not find a library.
  private static let notLinked: Int32 = 127
  /// Variables of a proxy, without which some networks have no way out.
  private static let proxies = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
  ]

  /// `program` is the path of albumfs-remote; nil if it is missing.
  package init(program: String?) throws(LaneFault) {
    guard let program else { throw .program(.missing) }
    do throws(Errno) {
      let (ours, theirs) = try makeSocketPair()
      let channel = FileDescriptor(owning: ours)
      let other = FileDescriptor(owning: theirs)
      let redirections =
        [STDIN_FILENO, STDOUT_FILENO].map { Subprocess.Redirection($0, theirs) }
        + [Subprocess.Redirection(STDERR_FILENO, -1)]
      let environment =
        ["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"]
        + RemoteProcess.proxies.compactMap { name in
          PathCalls.variable(name).map { "\(name)=\($0)" }
        }
      pid = try Subprocess.start(
        ["albumfs-remote"], program: program, redirections, environment: environment,
        isolated: true)
      try? other.close()
      self.channel = channel
    } catch {
      throw .program(.start(error))
    }
  }

  deinit {
    if code.withLock({ $0 }) != nil { return }
    _ = kill(pid, SIGKILL)
    _ = try? Subprocess.wait(pid)
  }

  package func exchange(
    _ request: RemoteRequest, _ body: [UInt8], _ isStopped: () -> Bool
  ) throws(LaneFault) -> (RemoteReply, [UInt8]) {
    let head = request.encode()
    do throws(Errno) {
      try send(RemoteFrame.lengths(head: head.count, body: body.count) + head)
      try send(body)
    } catch {
      throw end()
    }
    guard let lengths = RemoteFrame.lengths(try receive(RemoteFrame.lengthBytes, isStopped)) else {
      throw .broken
    }
    let answer = try receive(lengths.head, isStopped)
    let content = try receive(lengths.body, isStopped)
    guard let reply = RemoteReply(answer) else { throw .broken }
    if reply.fault == .confinement { throw .program(.confinement) }
    return (reply, content)
  }

  /// Sends all bytes. No signal comes if the program has ended.
  private func send(_ bytes: [UInt8]) throws(Errno) {
    let raw = channel.rawValue
    var done = 0
    while done < bytes.count {
      let from = done
      done += try retrying {
        unsafe bytes.withUnsafeBytes {
          unsafe Glibc.send(
            raw, $0.baseAddress! + from, $0.count - from, CInt(MSG_NOSIGNAL))
        }
      }
    }
  }

  /// Receives exactly so many bytes. Asks now and then whether to stop.
  private func receive(_ count: Int, _ isStopped: () -> Bool) throws(LaneFault) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      if isStopped() { throw .stopped }
      var entry = pollfd(fd: channel.rawValue, events: Int16(POLLIN), revents: 0)
      let ready = (try? retrying { unsafe poll(&entry, 1, 200) }) ?? 0
      if ready == 0 { continue }
      let (raw, from) = (channel.rawValue, done)
      let more = try? retrying {
        unsafe bytes.withUnsafeMutableBytes {
          unsafe read(raw, $0.baseAddress! + from, $0.count - from)
        }
      }
      guard let more, more > 0 else { throw end() }
      done += more
    }
    return bytes
  }

  /// Why nothing more comes.
  private func end() -> LaneFault {
    // Its side is closed when it ends. One that was taken over may do otherwise.
    guard let process = ProcessHandle(pid), process.waitForEnd(atMost: 2000) else { return .broken }
    let found = code.withLock { code in
      code = code ?? (try? Subprocess.wait(pid)) ?? -1
      return code
    }
    return found == RemoteProcess.notLinked ? .program(.notLinked) : .broken
  }
}
