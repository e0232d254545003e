import ControlProtocol
import Posix

/// An unmount that asks the daemon to report how its session ends, and waits for the report.
struct OrderlyUnmount {
  private let mount: MountEntry
  private let output: OutputOptions

  init(_ mount: MountEntry, _ output: OutputOptions) {
    self.mount = mount
    self.output = output
  }

  /// Returns when everything is on disk, or with `lazy` at once.
  func run(lazy: Bool) throws(Failure) {
    if !mount.isOurs, let user = mount.user {
      let name = UserName.of(user)
      throw Failure(
        .unreachable,
        "\(mount.mountPoint) is a mount of \(name). Only \(user == 0 ? name : "\(name) and root") can "
          + "unmount it.")
    }
    // Connects first, so that the daemon cannot end before the request.
    guard let client = try connect(lazy) else {
      let wasDead = MountLife.isDead(mount)
      try Unmounting.clear(mount)
      output.say(
        wasDead
          ? "\(mount.mountPoint): its daemon was gone; the mount point is cleared."
          : "\(mount.mountPoint): removed; its daemon could not be reached, and may still be writing."
      )
      return
    }
    let daemon = ProcessHandle(client.daemon.pid)
    if try Unmounting.unmount(mount.mountPoint, lazy: lazy) == .busy {
      throw busy()
    }
    if lazy { return }
    let failure = try client.waitForEnd {
      let pid = client.daemon.pid
      output.say(
        ProcessState.isStopped(pid)
          ? "Unmounted; its daemon is stopped and will write when it continues: kill -CONT \(pid)"
          : "Unmounted; waiting until everything is on disk …")
    }
    if let failure {
      throw Failure(
        failure.kind,
        "\(mount.mountPoint) is unmounted, but not everything was written: \(failure.message)")
    }
    // The lock on the space goes with the process.
    try? client.stream.setReceiveTimeout(seconds: 60)
    do throws(MessageStream.Problem) { try client.stream.waitForEnd() } catch {
      throw Failure(.unreachable, "Unmounted, but the daemon's end cannot be observed: \(error)")
    }
    // The store's files are closed a moment after the socket: until then its disk is busy.
    daemon?.waitForEnd(atMost: 10_000)
    output.detail("\(mount.mountPoint): unmounted, everything is on disk.")
  }

  /// Locks a space that is in use: the daemon removes the mount from the tree and refuses to open anything in
  /// it. Returns true if the daemon has ended, because no file was open.
  func lock() throws(Failure) -> Bool {
    let daemon = ControlClient.daemon(of: mount).flatMap { ProcessHandle($0.pid) }
    let isLocked = try connect(true)?.askToLock() ?? false
    if try MountPath.table().mount(at: mount.mountPoint)?.device == mount.device {
      try run(lazy: true)
    }
    MadeDirectory.remove(mount.mountPoint)
    if !isLocked { return false }
    return daemon?.waitForEnd(atMost: 2_000) ?? false
  }

  /// How often to try a daemon that cannot be reached, every 100 ms: the daemon of a new mount may not listen
  /// yet.
  private static let tries = 30

  /// Connects to the daemon and asks it to report its end, unless --lazy. Returns nil if no process serves
  /// the mount any more, which only the mount itself shows; with --lazy also if the daemon cannot be
  /// reached.
  private func connect(_ lazy: Bool) throws(Failure) -> ControlClient? {
    for attempt in 1... {
      try KilledDaemon.release(mount)
      do throws(Failure) {
        let client = try ControlClient(mount)
        if !lazy { try client.askForEnd() }
        return client
      } catch {
        if error.kind != .unreachable || !mount.isOurs { throw error }
        if try MountPath.table().mount(at: mount.mountPoint)?.device != mount.device {
          throw Failure(.noSuchMount, "\(mount.mountPoint) is not mounted any more.")
        }
        if MountLife.isDead(mount) { return nil }
        if attempt < OrderlyUnmount.tries {
          SystemClock.sleep(milliseconds: 100)
        } else if lazy {
          return nil
        } else {
          throw Failure(
            .unreachable,
            "\(error.message) Nothing was unmounted; --lazy takes the mount away without waiting for it."
          )
        }
      }
    }
    return nil
  }

  private func busy() -> Failure {
    let processes = BusyProcesses.of(mount)
    var lines = ["\(UserConfiguration.abbreviated(mount.mountPoint)) is busy."]
    if processes.isEmpty {
      lines.append("  The process that keeps it busy is not visible (another user's?).")
    }
    lines += processes.map { "  \($0.line)" }
    lines.append("Close them, or use --lazy.")
    return Failure(.busy, lines.joined(separator: "\n"))
  }
}
