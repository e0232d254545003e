import ArgumentParser
import ControlProtocol
import Glibc
import Posix

struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what is mounted.",
    discussion: """
      Prints one line for each mount: mount point, store, state, process. A space of yours that was \
      unmounted with --lazy or locked stays open until its last file is closed: it is listed as such, with \
      the programs that still use it.
      """)

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  private struct Entry: Encodable {
    var mountPoint: String
    /// Absent if the daemon cannot be asked.
    var store: String?
    var alive: Bool
    var readOnly: Bool
    var user: UInt32?
    /// The daemon's process; absent if it is dead or unknown.
    var pid: Int32?
    /// Absent while the space is mounted; otherwise the processes that still use it.
    var users: [BusyProcess]?

    func line(_ state: String) -> String {
      let process = pid.map { "process \($0)" } ?? "no process"
      // A tab is between fields only.
      return [mountPoint, store ?? "store unknown", state, process].map(\.printable)
        .joined(separator: "\t")
    }
  }
  private struct Listing: Encodable {
    var version = 1
    var mounts: [Entry]
  }

  func run() throws {
    let spaces = try MountPath.table().spaces
    let mounted = spaces.map { mount in
      let daemon = ControlClient.daemon(of: mount)
      return Entry(
        mountPoint: mount.mountPoint, store: ControlClient.store(of: mount),
        alive: daemon != nil || !MountLife.isDead(mount), readOnly: mount.readOnly,
        user: mount.user, pid: daemon?.pid)
    }
    let entries = mounted + List.detached(besides: Set(spaces.map(\.device)))
    if json {
      Terminal.result(json: Listing(mounts: entries))
      return
    }
    for entry in entries {
      if let users = entry.users {
        List.show(entry, users)
        continue
      }
      let state = entry.alive ? (entry.readOnly ? "read-only" : "mounted") : "dead"
      Terminal.result(entry.line(state))
    }
    if entries.isEmpty { output.say("Nothing is mounted.") }
  }

  /// Spaces of this user that are open and have left the tree.
  private static func detached(besides mounted: Set<DeviceNumber>) -> [Entry] {
    var found: [Entry] = []
    _ = ControlClient.firstDaemon { client, device -> Never? in
      if !mounted.contains(device), case .status(let status)? = try? client.ask(.status) {
        found.append(
          Entry(
            mountPoint: status.mountPoint, store: status.store, alive: true,
            readOnly: status.readOnly, user: geteuid(), pid: status.pid,
            users: BusyProcesses.of(device)
              + MountHolders(of: device, servedBy: status.pid).processes))
      }
      return nil
    }
    return found
  }

  private static func show(_ entry: Entry, _ users: [BusyProcess]) {
    Terminal.result(entry.line("unmounted, still open"))
    for user in users { Terminal.result("  \(user.line)") }
  }
}
