package import AlbumSecrets
internal import Posix

/// The hold of one process on one space: an open-file-description lock on one byte of albumfs.conf,
/// at an offset that only the space's keys tell. Held until released or the last reference goes, at
/// the latest with the process; leaves no file and counts nothing.
///
/// A writer locks the twin as well: a reader, which makes no file, locks the twin where albumfs.conf is
/// missing.
package final class SpaceLock: Sendable {
  private let files: [any StorageFile]

  private let offset: Int64

  private init(_ files: [any StorageFile], _ offset: Int64) {
    self.files = files
    self.offset = offset
  }

  /// True where no other session has the store open, as far as locks tell: none on this machine, and none
  /// that shares the disk by a file system with locks.
  var isAlone: Bool { files.allSatisfy { (try? !$0.isLockedByOthers()) ?? false } }

  /// Lets others open the space. The caller no longer touches it.
  package func release() {
    for file in files { try? file.unlock(offset: offset, length: 1) }
  }

  /// Throws `.inUse` where the space is mounted already, `.unsupportedFeature` where it may only be
  /// read and is to be written. On a file system that cannot be written, readers share the space.
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
    if !readOnly {
      let main = try ConfigurationFiles.openForLocking(store)
      return ([main] + (try ConfigurationFiles.openTwinForLocking(store)), false)
    }
    do throws(Errno) {
      return ([try ConfigurationFiles.openForLocking(reading: store, .readWrite)], false)
    } catch {
      if ![.readOnly, .accessDenied, .notPermitted].contains(error) { throw error }
    }
    return ([try ConfigurationFiles.openForLocking(reading: store, .read)], true)
  }
}
