package import AlbumStore
package import ControlProtocol
package import Posix

/// Opens stores by their path.
package enum StoreOpening {
  /// The store in a directory, which stays open: a later change of the path changes nothing.
  package static func open(_ path: String) throws(Failure) -> Store {
    let directory: PosixDirectory
    do throws(Errno) { directory = try PosixDirectory(path: path) } catch {
      throw refusal(path, error)
    }
    do throws(StoreError) { return try Store.open(directory) } catch {
      throw Failure(error, of: path)
    }
  }

  private static func refusal(_ path: String, _ error: Errno) -> Failure {
    switch error {
    case .noEntry: Failure(.storeMissing, "The store \(path) does not exist.")
    case .notDirectory: Failure(.storeMissing, "\(path) is no directory, and so no store.")
    case .accessDenied: Failure(.configurationOpen, "The store \(path) cannot be opened: \(error).")
    default: Failure(.other, "The store \(path) cannot be opened: \(error).")
    }
  }

  private static func roomToMake(_ path: String) throws(Failure) -> StoreRoom {
    let room = StoreRoom(path: path, isThere: false)
    do throws(Errno) { _ = try PosixDirectory(path: room.parent) } catch {
      throw Failure(.storeMissing, "\(path) cannot be made in \(room.parent): \(error).")
    }
    return room
  }

  /// Room for a new store: an empty directory, or a name where one can be made. Looks only.
  package static func prepare(_ path: String) throws(Failure) -> StoreRoom {
    let names: [String]
    do throws(Errno) { names = try PosixDirectory(path: path).list("") } catch {
      switch error {
      case .noEntry: return try roomToMake(path)
      case .notDirectory: throw Failure(.notEmpty, "\(path) is there already, and is no directory.")
      default: throw refusal(path, error)
      }
    }
    // What mkfs puts into the root of a file system does not count.
    if names.allSatisfy({ $0 == "lost+found" }) { return StoreRoom(path: path, isThere: true) }
    throw Failure(
      .notEmpty,
      names.contains("albumfs.conf")
        ? "\(path) is a store already."
        : "\(path) is not empty; a new store needs a directory of its own.")
  }
}

/// Where a store is going to be.
package struct StoreRoom: Sendable {
  fileprivate let path: String
  fileprivate let isThere: Bool
  fileprivate var parent: String {
    "/" + path.split(separator: "/").dropLast().joined(separator: "/")
  }

  /// The directory, made if it was missing, and then durably so.
  package func make() throws(Failure) -> PosixDirectory {
    do throws(Errno) {
      if !isThere {
        try PathCalls.makePrivateDirectory(path)
        try PosixDirectory(path: parent).syncDirectory("")
      }
      return try PosixDirectory(path: path)
    } catch {
      let kind: Failure.Kind = error == .noSpace || error == .quota ? .diskFull : .other
      throw Failure(kind, "The directory \(path) cannot be made: \(error).")
    }
  }

  /// Takes the directory away again if nothing came into it.
  package func giveUp() {
    if !isThere { try? PathCalls.removeDirectory(path) }
  }
}
