import ControlProtocol
import Glibc
import Posix

/// A process that keeps a mount busy.
struct BusyProcess: Encodable {
  let pid: Int32
  let name: String
  /// How it uses the mount, for a person: `works in /mnt/Trip`.
  let uses: String

  init(pid: Int32, uses: String) {
    self.pid = pid
    name = ProcessState.name(of: pid)
    self.uses = uses
  }

  /// `bash (4711) works in /mnt/Trip`.
  var line: String { "\(name) (\(pid)) \(uses)".printable }
}

/// Finds the processes that keep a mount busy, from /proc: working directory, root, program, open files and
/// mapped files. Touches nothing in the mount itself. Only root sees processes of other users.
enum BusyProcesses {
  /// With `filesOnly`, the processes that keep a locked space open: working directories and open directories
  /// do not.
  static func of(_ mount: MountEntry, filesOnly: Bool = false) -> [BusyProcess] {
    others.compactMap { pid in
      use(of: mount, by: pid, filesOnly).map { BusyProcess(pid: pid, uses: $0) }
    }
  }

  /// The processes that use a mount which has left the tree: paths do not show it any more, devices do.
  static func of(_ device: DeviceNumber) -> [BusyProcess] {
    others.compactMap { pid in
      let links =
        [("cwd", "works in it"), ("root", "has its root in it"), ("exe", "runs a program of it")]
        + entries("/proc/\(pid)/fd").map { ("fd/\($0)", "has a file open in it") }
      let found = links.first { PathCalls.device(of: "/proc/\(pid)/\($0.0)") == device }
      let uses = found?.1 ?? (hasMapped(device, pid) ? "has mapped a file of it" : nil)
      return uses.map { BusyProcess(pid: pid, uses: $0) }
    }
  }

  /// The device in a line of maps is in hexadecimal: `00:3c`.
  private static func hasMapped(_ device: DeviceNumber, _ pid: Int32) -> Bool {
    guard let text = try? readWholeFile("/proc/\(pid)/maps") else { return false }
    return text.split(separator: UInt8(ascii: "\n")).contains { line in
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 4)
      guard fields.count > 3 else { return false }
      let numbers = fields[3].split(separator: UInt8(ascii: ":")).map {
        UInt32(String(decoding: $0, as: UTF8.self), radix: 16)
      }
      return numbers == [device.major, device.minor]
    }
  }

  private static func use(of mount: MountEntry, by pid: Int32, _ filesOnly: Bool) -> String? {
    let directories = [("cwd", "works in"), ("root", "has its root in")]
    for (link, verb) in (filesOnly ? [] : directories) + [("exe", "runs")] {
      if let path = path("/proc/\(pid)/\(link)", in: mount) {
        return "\(verb) \(UserConfiguration.abbreviated(path))"
      }
    }
    for descriptor in entries("/proc/\(pid)/fd") {
      let link = "/proc/\(pid)/fd/\(descriptor)"
      guard let path = path(link, in: mount) else { continue }
      if filesOnly, PathCalls.isDirectory(link) { continue }
      // The kernel shows a file of O_TMPFILE as a second slash.
      let isNameless = path.hasPrefix(mount.mountPoint + "//")
      return
        "has open \(isNameless ? "a file without a name" : UserConfiguration.abbreviated(path))"
    }
    return mapping(in: mount, by: pid).map { "has mapped \(UserConfiguration.abbreviated($0))" }
  }

  private static func path(_ link: String, in mount: MountEntry) -> String? {
    PathCalls.target(ofLink: link).flatMap { $0.lies(in: mount.mountPoint) ? $0 : nil }
  }

  /// Parses lines of maps: `address perms offset dev inode path`.
  private static func mapping(in mount: MountEntry, by pid: Int32) -> String? {
    guard let text = try? readWholeFile("/proc/\(pid)/maps") else { return nil }
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
      guard fields.count == 6 else { continue }
      let path = String(decoding: fields[5].drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
      if path.hasPrefix("/"), path.lies(in: mount.mountPoint) { return path }
    }
    return nil
  }

  private static var others: [Int32] { ProcessState.all().filter { $0 != getpid() } }

  private static func entries(_ path: String) -> [String] {
    (try? PlainFiles.names(in: path)) ?? []
  }
}
