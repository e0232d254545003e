import ControlProtocol
import Daemon
import Posix

/// The place of a new store.
struct StoreRoom {
  private let path: String
  private let isThere: Bool
  private var parent: String {
    "/" + path.split(separator: "/").dropLast().joined(separator: "/")
  }

  /// Returns the directory. Creates it durably if it is missing.
  func make() throws(Failure) -> PosixDirectory {
    do throws(Errno) {
      if !isThere {
        try PathCalls.makePrivateDirectory(path)
        try PosixDirectory(path: parent).syncDirectory("")
      }
      return try PosixDirectory(path: path)
    } catch {
      let kind: Failure.Kind = error == .noSpace || error == .quota ? .diskFull : .other
      throw Failure(kind, "The directory \(path) cannot be created: \(error).")
    }
  }

  /// Removes the directory again if it is still empty.
  func giveUp() {
    if !isThere { try? PathCalls.removeDirectory(path) }
  }

  /// Finds room for a new store: an empty directory, or a name that can be created. Changes nothing.
  static func find(_ path: String) throws(Failure) -> StoreRoom {
    let names: [String]
    do throws(Errno) { names = try PosixDirectory(path: path).list("") } catch {
      switch error {
      case .noEntry: return try roomToMake(path)
      case .notDirectory: throw Failure(.notEmpty, "\(path) exists already, and is no directory.")
      default: throw Failure(opening: path, error)
      }
    }
    // Ignores what mkfs puts into the root of a file system.
    if names.allSatisfy({ $0 == "lost+found" }) { return StoreRoom(path: path, isThere: true) }
    throw Failure(
      .notEmpty,
      names.contains("albumfs.conf")
        ? "\(path) is a store already."
        : "\(path) is not empty; a new store needs its own directory.")
  }

  private static func roomToMake(_ path: String) throws(Failure) -> StoreRoom {
    let room = StoreRoom(path: path, isThere: false)
    do throws(Errno) { _ = try PosixDirectory(path: room.parent) } catch {
      throw Failure(.storeMissing, "\(path) cannot be created in \(room.parent): \(error).")
    }
    return room
  }
}
