import ControlProtocol
import Glibc
import Posix

/// Where else the file system of a mount is mounted: at other places of this mount namespace (bind mounts),
/// and in other namespaces (containers, `unshare --mount`). It lives as long as one of these mounts.
///
/// From the kernel's tables of all processes (/proc/PID/mountinfo). Touches no mount.
struct MountHolders {
  /// Mount points in the caller's namespace.
  private(set) var points: [String] = []
  /// One process of each other namespace.
  private(set) var processes: [BusyProcess] = []

  /// `daemon`, which serves the file system, is none of them, nor are the programs that it has started.
  init(of device: DeviceNumber, servedBy daemon: Int32) {
    var names: Set<String> = []
    var tables: Set<[UInt8]> = []
    for pid in [getpid()] + ProcessState.all()
    where pid != daemon && !ProcessState.descends(pid, from: daemon) {
      guard let text = try? readWholeFile("/proc/\(pid)/mountinfo") else { continue }
      // The kernel does not show the name of every namespace to everybody. No two have the same table.
      let name = PathCalls.target(ofLink: "/proc/\(pid)/ns/mnt")
      if let name, !names.insert(name).inserted { continue }
      if !tables.insert(text).inserted { continue }
      let found = MountTable(text: text).mounts.filter { $0.device == device }.map(\.mountPoint)
      if pid == getpid() {
        points = found
      } else if let point = found.first {
        processes.append(
          BusyProcess(pid: pid, uses: "has it mounted on \(point) in a mount namespace of its own"))
      }
    }
  }

  /// Those that were there before, too: once the file system is gone, another one gets its device number.
  func remaining(of before: MountHolders) -> MountHolders {
    var remaining = self
    remaining.points = points.filter(before.points.contains)
    let known = Set(before.processes.map(\.line))
    remaining.processes = processes.filter { known.contains($0.line) }
    return remaining
  }

  var isEmpty: Bool { points.isEmpty && processes.isEmpty }

  /// One line for each.
  var lines: [String] {
    points.map { "mounted on \($0) too".printable } + processes.map(\.line)
  }
}
