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

  /// Refuses a place in the prefix of another store. `bucket` has all of the bucket's names.
  static func requireApart(_ place: S3Place, in bucket: S3Store) throws(Failure) {
    let outer: S3Place?
    do throws(ObjectError) { outer = try place.storeAround(in: bucket) } catch {
      throw Failure(error, "", of: place.description)
    }
    guard let outer else { return }
    throw Failure(
      .notEmpty,
      "\(place) lies in the store \(outer). A store has its prefix for itself: choose one outside of it."
    )
  }

  /// The place for a store. Makes a directory that is missing.
  func room(
    _ options: S3Options, _ isStopped: @escaping @Sendable () -> Bool
  ) throws(Failure) -> any ObjectStore {
    guard case .directory(let path) = self else {
      if case .bucket(let place) = self {
        try StorePlace.requireApart(place, in: options.store(place.wholeBucket, isStopped))
      }
      return try existing(options, isStopped)
    }
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
