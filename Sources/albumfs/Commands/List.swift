import ArgumentParser
import ControlProtocol
import Glibc
import Posix

struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what is mounted.",
    discussion: "Prints one line for each mount: mount point, store, state, process.")

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
  }
  private struct Listing: Encodable {
    var version = 1
    var mounts: [Entry]
  }

  func run() throws {
    let entries = try MountPath.table().spaces.map { mount in
      let daemon = ControlClient.daemon(of: mount)
      return Entry(
        mountPoint: mount.mountPoint, store: ControlClient.store(of: mount),
        alive: daemon != nil || !MountLife.isDead(mount), readOnly: mount.readOnly,
        user: mount.user, pid: daemon?.pid)
    }
    if json {
      Terminal.result(json: Listing(mounts: entries))
      return
    }
    for entry in entries {
      let state = entry.alive ? (entry.readOnly ? "read-only" : "mounted") : "dead"
      let process = entry.pid.map { "process \($0)" } ?? "no process"
      Terminal.result(
        "\(entry.mountPoint)\t\(entry.store ?? "store unknown")\t\(state)\t\(process)")
    }
    if entries.isEmpty { output.say("Nothing is mounted.") }
  }
}
