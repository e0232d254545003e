package import AlbumStore
package import ControlProtocol
import Logging
import Posix

/// Opens stores by their path.
package enum StoreOpening {
  /// Opens the store in a directory. The directory stays open, so later changes of the path have no effect.
  package static func open(_ path: String) throws(Failure) -> Store {
    let directory: PosixDirectory
    do throws(Errno) { directory = try PosixDirectory(path: path) } catch {
      throw Failure(opening: path, error)
    }
    return try open(directory, of: path)
  }

  /// The same store for a mount: one on a network is waited for while it does not respond, and is found again
  /// by its path.
  static func patient(
    _ store: Store, _ path: String, _ tell: @escaping @Sendable (Outage?) -> Void
  ) throws(Failure) -> Store {
    guard let directory = store.directory as? PosixDirectory, !directory.kind.isLocal else {
      return store
    }
    let salt = store.securityKeySalt
    let patient = PatientDirectory(
      directory, tell: tell,
      reopen: { () throws(Errno) in try PosixDirectory(path: path) },
      isStore: { (try? Store.open($0))?.securityKeySalt == salt })
    return try open(patient, of: path)
  }

  /// Reports outages in the log.
  static func teller(_ logger: Logger) -> @Sendable (Outage?) -> Void {
    { outage in
      if let outage {
        logger.error(
          "the store does not respond: \(outage.cause); what is written waits until it does")
      } else {
        logger.notice("the store responds again")
      }
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
