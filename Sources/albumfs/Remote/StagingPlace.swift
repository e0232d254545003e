import AlbumModel
import AlbumSecrets
import ControlProtocol
import Glibc
import ObjectStores
import Posix

/// The directories of this machine for what object storages do not have yet: one for each server, bucket and
/// prefix. Spaces have folders of their own in it.
enum StagingPlace {
  /// What may wait on this machine without `--staging-size`.
  static let usualBytes: Int64 = 4 << 30
  static let leastBytes: Int64 = 256 << 20
  /// What a session writes at once has to fit.
  static let leastSegments: Int64 = 32

  /// The absolute path of a directory that was typed. Refuses one that cannot keep what waits. Changes
  /// nothing.
  static func resolve(_ typed: String) throws(Failure) -> String {
    if typed.hasPrefix(S3Place.scheme) {
      throw Failure(
        .usage,
        "--staging takes a directory on a disk of this machine, and \(typed) is in an object storage."
      )
    }
    let path = MountPath.resolve(typed)
    try requireOutside(path)
    return path
  }

  /// The same for a mount. `mountPoint` is where the space will be.
  static func resolve(_ typed: String, mountPoint: String) throws(Failure) -> String {
    let path = try resolve(typed)
    if !path.lies(in: mountPoint) { return path }
    throw Failure(.usage, "\(path) lies in the mount point \(mountPoint). \(advice)")
  }

  private static let advice =
    "What is not sent yet must be outside of all albums and stores: name a directory there with --staging."

  /// Refuses what lies in a mounted space, which may be the one whose files wait, or in a store.
  private static func requireOutside(_ path: String) throws(Failure) {
    if let mount = try MountPath.table().space(holding: path) {
      throw Failure(
        .usage, "\(path) lies in the space that is mounted on \(mount.mountPoint). \(advice)")
    }
    if let store = StoreRoom.store(holding: path) {
      throw Failure(.usage, "\(path) lies in the store \(store). \(advice)")
    }
  }

  /// Opens the directory of a store; creates it if it is missing. `typed` is an absolute path.
  static func make(
    _ typed: String?, _ place: S3Place, _ endpoint: S3Endpoint
  ) throws(Failure) -> (directory: PosixDirectory, path: String) {
    let path = try path(typed, place, endpoint)
    do throws(Errno) { return (try PosixDirectory(path: path), path) } catch {
      throw unusable(path, error)
    }
  }

  /// The path of the directory of a store; creates it if it is missing.
  static func path(
    _ typed: String?, _ place: S3Place, _ endpoint: S3Endpoint
  ) throws(Failure) -> String {
    let parent: String
    if let typed {
      parent = typed
    } else {
      parent =
        try StateDirectory.make(for: "Without --staging, a store in an object storage") + "/staging"
    }
    try requireOutside(MountPath.resolve(parent))
    let path = "\(parent)/\(name(place, endpoint))"
    let directory: PosixDirectory
    do throws(Errno) {
      try StateDirectory.makeFolders(path)
      _ = try OwnedDirectory(path: path, user: geteuid())
      directory = try PosixDirectory(path: path)
    } catch {
      throw unusable(path, error)
    }
    if directory.kind.isLocal { return path }
    throw Failure(
      .usage,
      "\(parent) lies on \(directory.kind.name). What is not sent yet must be on a disk of this machine alone: "
        + "name a directory there with --staging.")
  }

  private static func unusable(_ path: String, _ error: Errno) -> Failure {
    Failure(
      .other,
      "\(path), the directory for what is not sent yet, cannot be used: \(error). Name another one with "
        + "--staging.")
  }

  /// Another server, bucket or prefix is another store, even if it is a copy.
  private static func name(_ place: S3Place, _ endpoint: S3Endpoint) -> String {
    let digest = SHA256.hash(Array("\(endpoint.text)\n\(place)".utf8))
    return Hexadecimal.text(digest.prefix(16))
  }
}
