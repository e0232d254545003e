import ControlProtocol
import Daemon
import Glibc
import ObjectStores
import Posix

/// The command line of a helper of mount(8): `mount.fuse.albumfs STORE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-o
/// OPTIONS] [-t TYPE]`. mount.fuse(8) calls `albumfs STORE MOUNTPOINT -o OPTIONS`. fstab does so too, and so
/// does pam_mount, with the password on standard input.
enum MountHelper {
  private static let names = ["mount.fuse.albumfs", "mount.albumfs"]
  /// The arguments of albumfs itself; nil if this is no call of mount(8). An empty list means that there is
  /// nothing to do.
  static func translated(_ program: String, _ arguments: [String]) -> [String]? {
    let name = program.split(separator: "/").last.map(String.init) ?? program
    let isStore = arguments.first.map { $0.hasPrefix("/") || $0.hasPrefix(S3Place.scheme) }
    guard names.contains(name) || isStore ?? false else { return nil }
    var places: [String] = []
    var options: [String] = []
    var rest = arguments[...]
    while let word = rest.popFirst() {
      switch word {
      case "-o": options += words(rest.popFirst() ?? "")
      case "-N", "-t": _ = rest.popFirst()
      case _ where word.hasPrefix("-o"): options += words(String(word.dropFirst(2)))
      case _ where word.hasPrefix("--"): places.append(word)
      case _ where word.hasPrefix("-"):
        // mount -f only pretends.
        if word.contains("f") { return [] }
      default: places.append(word)
      }
    }
    if places.count == 2, isMounted(places[0], on: places[1]) { return [] }
    var result = ["mount", "--quiet"] + places
    for option in options { result += translated(option) }
    let hasSource = result.contains { $0.hasPrefix("--password-") || $0 == "--fido2" }
    if !hasSource, isatty(STDIN_FILENO) != 1 { result.append("--password-stdin") }
    return result
  }

  /// True if a space of the store is mounted there. `mount -a` looks for the store in the first column of the
  /// mount table, which does not show it, and so calls this program for each line of fstab again.
  private static func isMounted(_ store: String, on mountPoint: String) -> Bool {
    guard let mount = try? MountPath.table().mount(at: MountPath.resolve(mountPoint)), mount.isSpace
    else { return false }
    return ControlClient.store(of: mount) == MountPath.resolve(store)
  }

  private static func words(_ list: String) -> [String] {
    list.split(separator: ",").map(String.init)
  }

  private static func translated(_ option: String) -> [String] {
    let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
    let name = parts[0].replacing("_", with: "-")
    if parts.count == 2, LaunchOptions.valuedWords.contains(name) {
      return ["--\(name)=\(parts[1])"]
    }
    if parts.count == 1, LaunchOptions.flagWords.contains(name) || name == "recovery-key" {
      return ["--\(name)"]
    }
    return ["-o", option]
  }
}
