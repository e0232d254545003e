package import AlbumStore
package import ControlProtocol
package import Posix

/// Opens stores by their path.
package enum StoreOpening {
  /// Opens the store in a directory. The directory stays open, so later changes of the path have no effect.
  package static func open(_ path: String) throws(Failure) -> Store {
    let directory: PosixDirectory
    do throws(Errno) { directory = try PosixDirectory(path: path) } catch {
      throw refusal(path, error)
    }
    do throws(StoreError) { return try Store.open(directory) } catch {
      throw Failure(error, of: path)
    }
  }

  /// Explains why the directory of a store does not open.
  package static func refusal(_ path: String, _ error: Errno) -> Failure {
    switch error {
    case .noEntry: Failure(.storeMissing, "The store \(path) does not exist.")
    case .notDirectory: Failure(.storeMissing, "\(path) is not a directory, and so not a store.")
    case .accessDenied: Failure(.configurationOpen, "The store \(path) cannot be opened: \(error).")
    default: Failure(.other, "The store \(path) cannot be opened: \(error).")
    }
  }
}
