import ArgumentParser
import ControlProtocol
import Posix

struct Umount: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Unmount a space; returns when all of it is on disk.",
    discussion: """
      Waits until the daemon has written everything and ended. Where it could not write everything, \
      umount says why and exits with the code of that. When files are still open in the mount it \
      says which programs have them, and nothing is unmounted. A mount point whose daemon was \
      killed is cleared.

        albumfs umount ~/Album
        albumfs umount --all
      """)

  @Argument(help: "Where it is mounted.", completion: .directory)
  var mountpoint: String?

  @Flag(help: "All mounts of yours (as root: of everybody).")
  var all = false

  @Flag(
    name: [.customShort("z"), .long],
    help: "Take it out of the tree at once; it ends when its last file is closed. Does not wait.")
  var lazy = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if all == (mountpoint != nil) {
      throw ValidationError("Give one mount point, or --all.")
    }
  }

  func run() throws {
    if let mountpoint {
      try unmount(try Umount.mount(at: mountpoint))
      return
    }
    var failure: Failure?
    for mount in try MountPath.table().spaces.reversed() where mount.isOurs {
      do throws(Failure) { try unmount(mount) } catch {
        // Somebody else was faster.
        if error.kind == .noSuchMount { continue }
        Terminal.complain(error.message)
        failure = Failure(error.kind, "Not everything was unmounted.")
      }
    }
    if let failure { throw failure }
  }

  private static func mount(at path: String) throws(Failure) -> MountEntry {
    let absolute = MountPath.resolve(path)
    let table = try MountPath.table()
    if let mount = table.mount(at: absolute), mount.type == MountTable.fileSystemType {
      return mount
    }
    if let mount = table.space(holding: absolute) {
      throw Failure(.noSuchMount, "\(path) is no mount point; it lies in \(mount.mountPoint).")
    }
    throw Failure(.noSuchMount, "Nothing of albumfs is mounted on \(path).")
  }

  private func unmount(_ mount: MountEntry) throws(Failure) {
    // Asked first, so that the daemon cannot end before the question.
    guard let client = try connect(mount) else {
      let wasDead = MountLife.isDead(mount)
      try Unmounting.clear(mount)
      output.say(
        wasDead
          ? "\(mount.mountPoint): its daemon was gone; the mount point is cleared."
          : "\(mount.mountPoint): taken away; its daemon could not be reached, and may still be writing."
      )
      return
    }
    if try Unmounting.unmount(mount.mountPoint, lazy: lazy) == .busy {
      throw busy(mount)
    }
    if lazy { return }
    let failure = try client.waitForEnd {
      let pid = client.daemon.pid
      output.say(
        ProcessState.isStopped(pid)
          ? "Unmounted; its daemon is stopped and writes when it goes on: kill -CONT \(pid)"
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
      throw Failure(.unreachable, "Unmounted, but the daemon's end cannot be told: \(error)")
    }
    output.detail("\(mount.mountPoint): unmounted, everything is on disk.")
  }

  /// How long a daemon that cannot be reached is tried for, in steps of 100 ms: that of a mount that was just
  /// made may not listen yet.
  private static let tries = 30

  /// A connection to the daemon, which has been asked to tell its end unless that is not waited for. nil
  /// where nobody serves the mount any more, which only the mount itself can say; with --lazy also where
  /// nobody can be reached.
  private func connect(_ mount: MountEntry) throws(Failure) -> ControlClient? {
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
      lines.append("  Who keeps it busy cannot be seen (another user's process?).")
    }
    for process in processes {
      lines.append("  \(process.name) (\(process.pid)) \(process.uses)")
    }
    lines.append("Close them, or use --lazy.")
    return Failure(.busy, lines.joined(separator: "\n"))
  }
}
