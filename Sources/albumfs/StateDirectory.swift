import ControlProtocol
import Glibc
import Posix

/// Where albumfs keeps what a user wants remembered: `$XDG_STATE_HOME/albumfs` (XDG Base Directory
/// Specification), in `~/.local/state` where that is not set. Nobody else may look into it.
enum StateDirectory {
  /// Its path; made where it is missing.
  static func make() throws(Failure) -> String {
    var path = variable("XDG_STATE_HOME") ?? ""
    if !path.hasPrefix("/") {
      guard let home = variable("HOME"), home.hasPrefix("/") else {
        throw Failure(.usage, "--remember needs HOME or XDG_STATE_HOME to be set.")
      }
      path = home + "/.local/state"
    }
    path += "/albumfs"
    var made = ""
    for part in path.split(separator: "/") {
      made += "/" + part
      do throws(Errno) { try retrying { unsafe mkdir(made, 0o700) } } catch {
        if error != .exists { throw Failure(.other, "\(made) cannot be made: \(error).") }
      }
    }
    return path
  }

  private static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }
}
