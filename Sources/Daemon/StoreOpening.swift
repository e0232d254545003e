package import AlbumStore
package import ControlProtocol
import Logging
import Posix

/// Opens stores by their path.
package enum StoreOpening {
  /// Opens the store in a directory. The directory stays open, so later changes of the path have no effect.
  package static func open(_ path: String) throws(Failure) -> Store {
    try open(try directory(path), of: path)
  }

  /// Opens the store for a mount. One on a network is waited for while it does not respond, and is found
  /// again by its path.
  static func open(_ path: String, waitingWith logger: Logger) throws(Failure) -> Store {
    let directory = try directory(path)
    let store = try open(directory, of: path)
    if directory.kind.isLocal { return store }
    let salt = store.securityKeySalt
    let patient = PatientDirectory(
      directory,
      tell: { outage in
        if let outage {
          logger.error(
            "the store does not respond: \(outage.cause); what is written waits until it does")
        } else {
          logger.notice("the store responds again")
        }
      },
      reopen: { () throws(Errno) in try PosixDirectory(path: path) },
      isStore: { (try? Store.open($0))?.securityKeySalt == salt })
    return try open(patient, of: path)
  }

  private static func directory(_ path: String) throws(Failure) -> PosixDirectory {
    do throws(Errno) { return try PosixDirectory(path: path) } catch {
      throw Failure(opening: path, error)
    }
  }

  private static func open(_ directory: any StorageDirectory, of path: String) throws(Failure)
    -> Store
  {
    do throws(StoreError) { return try Store.open(directory) } catch {
      throw Failure(error, of: path)
    }
  }
}
