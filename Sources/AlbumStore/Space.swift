package import AlbumFormat
package import AlbumModel
package import Posix
import Synchronization

/// One opened space of a store: its catalog in memory, its segments and its journal. All calls may
/// come from any thread at once.
package final class Space: Sendable {
  private let guardedCatalog = Mutex<Catalog>(Catalog())
  init() {}

  /// Looks at the catalog under its lock. Nothing slow may be done in `body`.
  package func read<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing Catalog) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    fatalError()
  }

  /// Changes the catalog: one step of history, in a frame whole. Within 100 ms that frame is
  /// appended, by the next `commit` at once.
  package func change<Result: ~Copyable, Failure: Error>(
    _ body: (inout Catalog) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    fatalError()
  }

  /// Throws `.readOnly` with the reason where nothing may be changed.
  package func requireWritable() throws(StoreError) { fatalError() }

  /// Seals up to 64 KiB of a file's content as one record and answers where it is; held until the
  /// caller gives the extent to `Catalog.replaceExtents` or `Catalog.letGo`. The 64 bytes before
  /// `content` (`ReadHeadroom.byteCount`) must be writable and are clobbered; the content is not
  /// changed. What is sealed may be in memory only until `commit`.
  package func append(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64
  ) throws(StoreError) -> Extent {
    fatalError()
  }

  /// Reads the whole of `extent` (clipped by the caller to what is wanted) into `buffer`, which has
  /// its length. Up to 64 bytes before the buffer are clobbered. Throws `.damaged` where a record
  /// does not open: then the buffer's content is undefined and must not be shown.
  package func read(_ extent: Extent, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError)
  {
    fatalError()
  }

  /// Appends a frame with all that was changed before the call, and the records that it refers to:
  /// returns when that survives the end of the process.
  package func commit() throws(StoreError) { fatalError() }

  /// Returns when all that was changed before the call is on disk.
  package func barrier() throws(StoreError) { fatalError() }

  /// Called, with no lock held, before each barrier that comes by itself, about every 2 seconds
  /// while there is something: the file system takes the chance to put into the catalog what open
  /// files have had pending for 2 seconds.
  package func setBeforeBarrier(_ hook: @escaping @Sendable () -> Void) { fatalError() }

  /// What is free on the disk below.
  package func capacity() throws(StoreError) -> StorageCapacity { fatalError() }
}
