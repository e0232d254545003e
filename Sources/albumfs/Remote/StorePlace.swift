import AlbumStore
import ControlProtocol
import Daemon
import ObjectStores
import Posix

/// Where a store is, as a user types it: a directory, or a bucket with a prefix.
enum StorePlace {
  case directory(String)
  case bucket(S3Place)

  init(_ typed: String) throws(Failure) {
    guard typed.hasPrefix(S3Place.scheme) else {
      self = .directory(MountPath.resolve(typed))
      return
    }
    guard let place = S3Place(typed) else {
      throw Failure(.usage, "\(typed) is no address of the form s3://bucket/prefix.")
    }
    self = .bucket(place)
  }

  /// The store that is there.
  func existing(
    _ options: S3Options, _ isStopped: @escaping @Sendable () -> Bool
  ) throws(Failure) -> any ObjectStore {
    switch self {
    case .bucket(let place): return try options.store(place, isStopped)
    case .directory(let path):
      do throws(Errno) { return DirectoryStore(place: path, try PosixDirectory(path: path)) } catch
      {
        throw Failure(opening: path, error)
      }
    }
  }

  /// The place for a store. Makes a directory that is missing.
  func room(
    _ options: S3Options, _ isStopped: @escaping @Sendable () -> Bool
  ) throws(Failure) -> any ObjectStore {
    guard case .directory(let path) = self else { return try existing(options, isStopped) }
    if let mount = try MountPath.table().space(holding: path) {
      throw Failure(
        .mountPoint,
        "\(path) lies in the space that is mounted on \(mount.mountPoint), which holds albums and no "
          + "stores. Choose a directory outside of it.")
    }
    do throws(Errno) { try PathCalls.makePrivateDirectory(path) } catch {
      if error != .exists { throw Failure(opening: path, error) }
    }
    return try existing(options, isStopped)
  }
}
