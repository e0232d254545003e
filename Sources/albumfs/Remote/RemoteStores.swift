import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon
import ObjectStores
import Posix

/// Opens stores wherever they are: in a directory, or in an object storage for reading.
enum RemoteStores {
  /// `path` is absolute, or an address of a bucket. The server and the credentials of that come from the
  /// environment and from `~/.aws`.
  static func open(_ path: String) throws(Failure) -> Store {
    guard path.hasPrefix(S3Place.scheme) else {
      if PathCalls.exists("\(path)/\(StoreTransfer.mark)") { throw unfinished(path) }
      return try StoreOpening.open(path)
    }
    guard case .bucket(let place) = try StorePlace(path) else {
      throw Failure(.usage, "\(path) is no address of the form s3://bucket/prefix.")
    }
    let remote = try usualOptions().store(place) { false }
    try look(at: remote)
    do throws(StoreError) { return try Store.open(ObjectDirectory(remote)) } catch {
      throw Failure(error, of: path)
    }
  }

  private static func usualOptions() throws(Failure) -> S3Options {
    do { return try S3Options.parse([]) } catch {
      throw Failure(.usage, S3Options.message(for: error))
    }
  }

  /// Names what is wrong with the server or the bucket, and refuses a copy that is not complete.
  private static func look(at store: S3Store) throws(Failure) {
    let isUnfinished: Bool
    do throws(ObjectError) { isUnfinished = try StoreTransfer.isUnfinished(store) } catch {
      throw Failure(error, "", of: store.place)
    }
    if isUnfinished { throw unfinished(store.place) }
  }

  private static func unfinished(_ place: String) -> Failure {
    Failure(
      .storeMissing,
      "\(place) is a copy that is not complete: albumfs copy still runs, or was interrupted and has to be run "
        + "again.")
  }
}
