package import AlbumSecrets
internal import Posix

/// The hold of one process on one space: an open-file-description lock on one byte of albumfs.conf,
/// at an offset that only the space's keys tell. Held until released or the last reference goes, at
/// the latest with the process; leaves no file and counts nothing.
package final class SpaceLock: Sendable {
  private let file: any StorageFile

  private let offset: Int64

  private init(_ file: any StorageFile, _ offset: Int64) {
    self.file = file
    self.offset = offset
  }

  /// True where no other session has the store open, as far as locks tell: none on this machine, and none
  /// that shares the disk by a file system with locks.
  var isAlone: Bool { (try? !file.isLockedByOthers()) ?? false }

  /// Lets others open the space. The caller no longer touches it.
  package func release() { try? file.unlock(offset: offset, length: 1) }

  /// Throws `.inUse` where the space is mounted already, `.unsupportedFeature` where it may only be
  /// read and is to be written. On a file system that cannot be written, readers share the space.
  package static func take(store: Store, keys: SpaceKeys, readOnly: Bool) throws(StoreError)
    -> SpaceLock
  {
    if !readOnly, !keys.isWritable {
      throw StoreError(
        .unsupportedFeature,
        "the space uses features that this albumfs can read but not write; mount with --read-only")
    }
    do throws(Errno) {
      let (file, isShared) = try open(store, readOnly)
      try file.lock(exclusive: !isShared, offset: keys.lockOffset, length: 1, wait: false)
      if !readOnly { KeyRing.tidy(store) }
      return SpaceLock(file, keys.lockOffset)
    } catch {
      if error == .again {
        throw StoreError(
          .inUse, "the space is mounted already; unmount it there first", cause: error)
      }
      throw StoreError("lock", ConfigurationFiles.main, error)
    }
  }

  private static func open(_ store: Store, _ readOnly: Bool) throws(Errno)
    -> (any StorageFile, isShared: Bool)
  {
    do throws(Errno) {
      return (try ConfigurationFiles.openForLocking(store, .readWrite), false)
    } catch {
      let isForbidden = [.readOnly, .accessDenied, .notPermitted].contains(error)
      if !readOnly || !isForbidden { throw error }
    }
    return (try ConfigurationFiles.openForLocking(store, .read), true)
  }
}
