import ArgumentParser
import ControlProtocol
import Glibc
import Posix

struct Umount: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Unmount a space; returns when everything is on disk.",
    discussion: """
      Waits until the daemon has written everything and ended. If it could not write everything, umount \
      says why and exits with the matching code. If files are still open in the mount, umount names the \
      programs that have them open, and unmounts nothing. It also clears the mount point of a daemon that \
      was killed.

        albumfs umount ~/Album
        albumfs umount --all
      """)

  @Argument(help: "The mount point.", completion: Completions.mounts)
  var mountpoint: String?

  @Flag(help: "All your mounts (as root: everybody's).")
  var all = false

  @Flag(
    name: [.customShort("z"), .long],
    help:
      "Remove the mount from the tree at once; it ends when its last file is closed. Does not wait."
  )
  var lazy = false

  @Flag(
    help: "Then remove what other programs keep about the mount, as `albumfs traces --clean` does.")
  var cleanTraces = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if all == (mountpoint != nil) {
      throw ValidationError("Give one mount point, or --all.")
    }
  }

  func run() throws {
    if let mountpoint {
      let mount = try Umount.mount(at: mountpoint)
      try unmount(mount, lazy: lazy)
      try lookForTraces(of: mount)
      return
    }
    var failure: Failure?
    for mount in try MountPath.table().spaces.reversed() where mount.isOurs {
      do throws(Failure) {
        try unmount(mount, lazy: lazy)
        try lookForTraces(of: mount)
      } catch {
        // Another process unmounted it in the meantime.
        if error.kind == .noSuchMount { continue }
        Terminal.complain(error.message)
        let isUnmounted = error.kind == .tracesStay
        if isUnmounted, failure != nil { continue }
        failure = Failure(
          error.kind, "Not everything was \(isUnmounted ? "removed" : "unmounted").")
      }
    }
    if let failure { throw failure }
  }

  /// A lazy unmount leaves programs at work, which go on to write their lists.
  private func lookForTraces(of mount: MountEntry) throws(Failure) {
    if cleanTraces || mount.user == geteuid() && !lazy {
      try TraceLook.report(mount.mountPoint, cleaning: cleanTraces, output)
    }
  }

  static func mount(at path: String) throws(Failure) -> MountEntry {
    let absolute = MountPath.resolve(path)
    let table = try MountPath.table()
    if let mount = table.mount(at: absolute), mount.isSpace {
      return mount
    }
    if let mount = table.space(holding: absolute) {
      throw Failure(.noSuchMount, "\(path) is no mount point; it lies in \(mount.mountPoint).")
    }
    throw MountPath.noMount(path, absolute)
      ?? Failure(.noSuchMount, "Nothing of albumfs is mounted on \(path).")
  }

  func unmount(_ mount: MountEntry, lazy: Bool) throws(Failure) {
    if !mount.isOurs, let user = mount.user {
      let name = UserName.of(user)
      throw Failure(
        .unreachable,
        "\(mount.mountPoint) is a mount of \(name). Only \(user == 0 ? name : "\(name) and root") can "
          + "unmount it.")
    }
    // Connects first, so that the daemon cannot end before the request.
    guard let client = try connect(mount, lazy) else {
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
      throw busy(mount)
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

  /// How often to try a daemon that cannot be reached, every 100 ms: the daemon of a new mount may not listen
  /// yet.
  private static let tries = 30

  /// Connects to the daemon and asks it to report its end, unless --lazy. Returns nil if no process serves
  /// the mount any more, which only the mount itself can tell; with --lazy also if the daemon cannot be
  /// reached.
  private func connect(_ mount: MountEntry, _ lazy: Bool) throws(Failure) -> ControlClient? {
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
        if attempt < Umount.tries {
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

  private func busy(_ mount: MountEntry) -> Failure {
    let processes = BusyProcesses.of(mount)
    var lines = ["\(mount.mountPoint) is busy."]
    if processes.isEmpty {
      lines.append("  The process that keeps it busy is not visible (another user's?).")
    }
    for process in processes {
      lines.append("  \(process.name) (\(process.pid)) \(process.uses)")
    }
    lines.append("Close them, or use --lazy.")
    return Failure(.busy, lines.joined(separator: "\n"))
  }
}
