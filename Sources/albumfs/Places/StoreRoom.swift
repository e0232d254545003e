import AlbumStore
import ControlProtocol
import Daemon
import Posix

/// The place of a new store. While the store is made, an empty file there says so and is locked: so an
/// interrupted `init` leaves what can be told from a store that lost its conf.
final class StoreRoom {
  private let path: String
  private let isThere: Bool
  private var directory: PosixDirectory?
  private var mark: (any StorageFile)?
  private var parent: String {
    "/" + path.split(separator: "/").dropLast().joined(separator: "/")
  }

  private init(path: String, isThere: Bool) { (self.path, self.isThere) = (path, isThere) }

  // MARK: Finding it

  /// The store in which an absolute path lies; nil if it lies in none.
  static func store(holding path: String) -> String? {
    var folder = path
    while folder.count > 1 {
      if PathCalls.exists("\(folder)/\(StorePath.configuration)") { return folder }
      folder = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
    }
    return nil
  }

  /// Finds room for a new store: an empty directory, what an interrupted `init` left, or a name that can be
  /// created. Changes nothing.
  static func find(_ path: String) throws(Failure) -> StoreRoom {
    if let mount = try MountPath.table().space(holding: path) {
      throw Failure(
        .mountPoint,
        "\(path) lies in the space that is mounted on \(mount.mountPoint), which holds albums and no "
          + "stores. Choose a directory outside of it.")
    }
    let names: [String]
    do throws(Errno) { names = try PlainFiles.names(in: path) } catch {
      switch error {
      case .noEntry: return try roomToMake(path)
      case .notDirectory:
        throw Failure(.notEmpty, "\(path) exists already, and is not a directory.")
      default: throw Failure(opening: path, error)
      }
    }
    // Ignores what mkfs puts into the root of a file system.
    if names.allSatisfy({ $0 == "lost+found" }) || isUnfinished(names) {
      return StoreRoom(path: path, isThere: true)
    }
    throw Failure(
      .notEmpty,
      names.contains(StorePath.configuration)
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

  private static func isUnfinished(_ names: [String]) -> Bool {
    names.contains(StorePath.unfinished) && !names.contains(StorePath.configuration)
      && !names.contains(StorePath.configurationTwin)
  }

  // MARK: Using it

  /// Returns the empty directory. Creates it durably if it is missing, and removes what an interrupted `init`
  /// left.
  func make() throws(Failure) -> PosixDirectory {
    do throws(Errno) {
      if !isThere {
        try PathCalls.makePrivateDirectory(path)
        try PosixDirectory(path: parent).syncDirectory("")
      }
      let directory = try PosixDirectory(path: path)
      let isLeft = StoreRoom.isUnfinished(try directory.list(""))
      let mark = try directory.open(StorePath.unfinished, isLeft ? .readWrite : .createNew)
      try mark.lock(exclusive: true, offset: 0, length: 0, wait: false)
      (self.mark, self.directory) = (mark, directory)
      if isLeft {
        Terminal.complain("removing what an interrupted init left in \(path)")
        try StoreRoom.empty(directory)
      }
      try directory.syncDirectory("")
      return directory
    } catch {
      if error == .again || error == .exists {
        throw Failure(.storeInUse, "Another albumfs is making a store in \(path).")
      }
      let kind: Failure.Kind = error == .noSpace || error == .quota ? .diskFull : .other
      throw Failure(kind, "The directory \(path) cannot be created: \(error).")
    }
  }

  /// The store is complete.
  func finish() {
    if let directory { Store.removeMark(in: directory) }
    mark = nil
  }

  /// Leaves nothing of a store that was not finished.
  func giveUp() {
    guard mark != nil, let directory else {
      // The directory may have been made just before.
      if !isThere { try? PathCalls.removeDirectory(path) }
      return
    }
    try? StoreRoom.empty(directory)
    try? directory.remove(StorePath.unfinished)
    if !isThere { try? PathCalls.removeDirectory(path) }
    mark = nil
  }

  /// Removes all that `init` makes, the conf first: what is left is no store.
  static func empty(_ directory: PosixDirectory) throws(Errno) {
    let names = Set(try directory.list(""))
    for name in [StorePath.configuration, StorePath.configurationTwin, StorePath.keys]
    where names.contains(name) {
      try directory.remove(name)
    }
    if !names.contains(SegmentPath.root) { return }
    for folder in try directory.list(SegmentPath.root).map({ "\(SegmentPath.root)/\($0)" }) {
      for name in try directory.list(folder) { try directory.remove("\(folder)/\(name)") }
      try directory.removeDirectory(folder)
    }
    try directory.removeDirectory(SegmentPath.root)
  }
}
