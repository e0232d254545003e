import ControlProtocol
import Posix

/// The directory for records that a user asked for: `$XDG_STATE_HOME/albumfs` (XDG Base Directory
/// Specification), by default in `~/.local/state`. Only its user can enter it.
enum StateDirectory {
  /// Returns its path; creates it if it is missing. `user`: what needs it, for a message.
  static func make(for user: String) throws(Failure) -> String {
    guard let path else {
      throw Failure(.usage, "\(user) needs HOME or XDG_STATE_HOME to be set.")
    }
    do throws(Errno) { try makeFolders(path) } catch {
      throw Failure(.other, "\(path) cannot be created: \(error).")
    }
    return path
  }

  /// Creates the directory and those above it that are missing.
  static func makeFolders(_ path: String) throws(Errno) {
    var made = ""
    for part in path.split(separator: "/") {
      made += "/" + part
      do throws(Errno) { try PathCalls.makePrivateDirectory(made) } catch {
        // A folder above may be on a read-only disk, or belong to another.
        if !PathCalls.exists(made) { throw error }
      }
    }
  }

  /// Removes the record of a space with this name, if there is one.
  static func forget(_ name: String) throws(Failure) {
    guard let path else { return }
    for file in ["\(path)/\(name)", "\(path)/\(name).new"] {
      do throws(Errno) { try PathCalls.removeFile(file) } catch {
        if error == .noEntry || error == .notDirectory { continue }
        throw Failure(
          .other,
          "The space is destroyed, but \(file), a record by mount --remember, cannot be removed: "
            + "\(error).")
      }
    }
  }

  /// nil if the environment names no directory.
  private static var path: String? { BaseDirectory.state.path().map { $0 + "/albumfs" } }
}
