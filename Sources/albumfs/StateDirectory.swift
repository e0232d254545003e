import ControlProtocol
import Posix

/// Where albumfs keeps what a user wants remembered: `$XDG_STATE_HOME/albumfs` (XDG Base Directory
/// Specification), in `~/.local/state` where that is not set. Nobody else may look into it.
enum StateDirectory {
  /// Its path; made where it is missing.
  static func make() throws(Failure) -> String {
    guard let path else {
      throw Failure(.usage, "--remember needs HOME or XDG_STATE_HOME to be set.")
    }
    var made = ""
    for part in path.split(separator: "/") {
      made += "/" + part
      do throws(Errno) { try PathCalls.makePrivateDirectory(made) } catch {
        if error != .exists { throw Failure(.other, "\(made) cannot be made: \(error).") }
      }
    }
    return path
  }

  /// Removes what is remembered of a space under this name, if anything is.
  static func forget(_ name: String) throws(Failure) {
    guard let path else { return }
    for file in ["\(path)/\(name)", "\(path)/\(name).new"] {
      do throws(Errno) { try PathCalls.removeFile(file) } catch {
        if error == .noEntry || error == .notDirectory { continue }
        throw Failure(
          .other,
          "The space is destroyed, but \(file), which mount --remember made of it, cannot be removed: "
            + "\(error).")
      }
    }
  }

  /// Nil where the environment names none.
  private static var path: String? {
    if let state = variable("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/albumfs" }
    guard let home = variable("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.local/state/albumfs"
  }

  private static func variable(_ name: String) -> String? {
    guard let text = PathCalls.variable(name), !text.isEmpty else { return nil }
    return text
  }
}
