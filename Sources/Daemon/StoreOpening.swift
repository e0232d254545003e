package import AlbumStore
package import ControlProtocol
import Posix

/// Opens stores by their path.
package enum StoreOpening {
  /// Opens the store in a directory. The directory stays open, so later changes of the path have no effect.
  package static func open(_ path: String) throws(Failure) -> Store {
    let directory: PosixDirectory
    do throws(Errno) { directory = try PosixDirectory(path: path) } catch {
      throw Failure(opening: path, error)
    }
    do throws(StoreError) { return try Store.open(directory) } catch {
      throw Failure(error, of: path)
    }
  }
}
