package import AlbumSecrets
internal import Posix

/// A process's exclusive use of one space: an open-file-description lock on one byte of albumfs.conf, at an
/// offset that derives from the space's keys. It lasts until `release`, the last reference, or the end of
/// the process. It leaves no file and counts nothing.
///
/// A writer also locks the twin, because a reader, which creates no file, locks the twin if albumfs.conf is
/// missing or misplaced.
package final class SpaceLock: Sendable {
  private let files: [any StorageFile]

  private let offset: Int64

  private init(_ files: [any StorageFile], _ offset: Int64) {
    self.files = files
    self.offset = offset
  }

  /// True if no other session has the store open, as far as locks show: on this machine, or on another one
  /// that shares the disk through a file system with locks.
  var isAlone: Bool { files.allSatisfy { (try? !$0.isLockedByOthers()) ?? false } }

  /// Lets other processes open the space. The caller must not touch it afterwards.
  package func release() {
    for file in files { try? file.unlock(offset: offset, length: 1) }
  }

  /// Throws `.inUse` if the space is mounted, and `.unsupportedFeature` if it is to be written but may only
  /// be read. On a file system that cannot be written, readers share the space.
  package static func take(store: Store, keys: SpaceKeys, readOnly: Bool) throws(StoreError)
    -> SpaceLock
  {
    if !readOnly, !keys.isWritable {
      throw StoreError(
        .unsupportedFeature,
        "the space uses features that this albumfs can read but not write", remedy: .mountReadOnly)
    }
    do throws(Errno) {
      let (files, isShared) = try open(store, readOnly)
      for file in files {
        try file.lock(exclusive: !isShared, offset: keys.lockOffset, length: 1, wait: false)
      }
      if !readOnly { KeyRing.tidy(store) }
      return SpaceLock(files, keys.lockOffset)
    } catch {
      if error == .again {
        throw StoreError(
          .inUse, "the space is mounted already; unmount it there first", cause: error)
      }
      throw StoreError("lock", ConfigurationFiles.main, error)
    }
  }

  private static func open(_ store: Store, _ readOnly: Bool) throws(Errno)
    -> (files: [any StorageFile], isShared: Bool)
  {
    if !readOnly { return (try ConfigurationFiles.openForLocking(store), false) }
    do throws(Errno) {
      return ([try ConfigurationFiles.openForLocking(reading: store, .readWrite)], false)
    } catch {
      if ![.readOnly, .accessDenied, .notPermitted].contains(error) { throw error }
    }
    return ([try ConfigurationFiles.openForLocking(reading: store, .read)], true)
  }
}
