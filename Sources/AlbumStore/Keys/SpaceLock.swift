package import AlbumSecrets
internal import Posix

/// A process's exclusive use of one space: an open-file-description lock on one byte of albumfs.conf, at an
/// offset that derives from the space's keys. It lasts until `release`, the last reference, or the end of
/// the process. It leaves no file and counts nothing.
///
/// A writer also locks the twin, because a reader, which creates no file, locks the twin if albumfs.conf is
/// missing or misplaced.
package final class SpaceLock: Sendable {
  private struct LockedFile {
    let path: String
    let file: any StorageFile
  }
  private let files: Mutex<[LockedFile]>

  private let offset: Int64

  private let isExclusive: Bool

  private init(_ files: [LockedFile], _ offset: Int64, isExclusive: Bool) {
    self.isExclusive = isExclusive
    self.files = Mutex(files, rank: .spaceLock)
    self.offset = offset
  }

  /// True if no other session has the store open, as far as locks show: on this machine, or on another one
  /// that shares the disk through a file system with locks.
  var isAlone: Bool {
    files.withLock { $0.allSatisfy { (try? !$0.file.isLockedByOthers()) ?? false } }
  }

  /// Lets other processes open the space. The caller must not touch it afterwards.
  package func release() {
    files.withLock { files in
      for locked in files { try? locked.file.unlock(offset: offset, length: 1) }
    }
  }

  /// A writer calls it before it changes the store. Other programs replace a file by renaming a new one to
  /// its name, and the lock is then on a file that nobody opens any more. Takes the lock on the new file,
  /// and returns true if it had to. Throws `.inUse` if another session has that lock.
  func renew(in store: Store) throws(StoreError) -> Bool {
    try files.withLock { files throws(StoreError) in
      var renewed: [Int: LockedFile] = [:]
      for (place, locked) in files.enumerated() {
        if (try? store.directory.holds(locked.file, at: locked.path)) ?? true { continue }
        // A file that is missing lets nobody open the store. It may come back.
        guard let file = try? store.directory.open(locked.path, .readWrite) else { continue }
        do throws(Errno) {
          try file.lock(exclusive: true, offset: offset, length: 1, wait: false)
        } catch {
          throw StoreError(
            .inUse, "another session has the space, because this file was replaced",
            path: locked.path, cause: error)
        }
        renewed[place] = LockedFile(path: locked.path, file: file)
      }
      for (place, locked) in renewed { files[place] = locked }
      return !renewed.isEmpty
    }
  }

  /// Throws `.inUse` if the file system has given the lock away. NFS does so if a machine sleeps or is
  /// without the network for longer than its lease, and says nothing. A lock that it only forgot is taken
  /// anew; the caller then looks for a later fence.
  func prove(in directory: any StorageDirectory) throws(StoreError) {
    if directory.kind.isLocal { return }
    try files.withLock { files throws(StoreError) in
      for (place, locked) in files.enumerated() {
        do throws(Errno) {
          try locked.file.proveLock(exclusive: isExclusive, offset: offset, length: 1)
        } catch {
          files[place] = try retake(locked, after: error, directory)
        }
      }
    }
  }

  private func retake(
    _ locked: LockedFile, after cause: Errno, _ directory: any StorageDirectory
  ) throws(StoreError) -> LockedFile {
    do throws(Errno) {
      let file = try directory.open(locked.path, .readWrite)
      // sshfs that has connected anew knows the old descriptor no more, but its lock stays in this kernel.
      try? locked.file.unlock(offset: offset, length: 1)
      try file.lock(exclusive: isExclusive, offset: offset, length: 1, wait: false)
      return LockedFile(path: locked.path, file: file)
    } catch {
      if error != .again { throw StoreError("lock", locked.path, error) }
      throw StoreError(
        .inUse,
        "another session has the space: this machine lost its lock, because it slept or was without the "
          + "network; the store keeps what this mount had not finished, and a repair brings it back",
        path: locked.path, cause: cause, remedy: .repair)
    }
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
    if !readOnly { try store.directory.requireExclusiveCreation() }
    do throws(Errno) {
      let (files, isShared) = try open(store, readOnly)
      for locked in files {
        try locked.file.lock(
          exclusive: !isShared, offset: keys.lockOffset, length: 1, wait: false)
      }
      if !readOnly { KeyRing.tidy(store) }
      return SpaceLock(files, keys.lockOffset, isExclusive: !isShared)
    } catch {
      if error == .again {
        throw StoreError(
          .inUse, "the space is mounted already", cause: error)
      }
      throw StoreError("lock", ConfigurationFiles.main, error)
    }
  }

  private static func open(_ store: Store, _ readOnly: Bool) throws(Errno)
    -> (files: [LockedFile], isShared: Bool)
  {
    if !readOnly {
      let files = try ConfigurationFiles.openForLocking(store)
      return (files.map { LockedFile(path: $0.path, file: $0.file) }, false)
    }
    do throws(Errno) {
      return ([try openForReading(store, .readWrite)], false)
    } catch {
      if ![.readOnly, .accessDenied, .notPermitted].contains(error) { throw error }
    }
    return ([try openForReading(store, .read)], true)
  }

  private static func openForReading(_ store: Store, _ access: StorageAccess) throws(Errno)
    -> LockedFile
  {
    let (path, file) = try ConfigurationFiles.openForLocking(reading: store, access)
    return LockedFile(path: path, file: file)
  }
}

extension Store {
  /// Throws `.readOnly` where albumfs only reads stores.
  package func requireChangeable() throws(StoreError) { try directory.requireChangeable() }
}

extension StorageDirectory {
  fileprivate func requireChangeable() throws(StoreError) {
    if !kind.isSnapshot { return }
    throw StoreError(
      .readOnly,
      "the store lies in an object storage, where only a mount and a repair change it; copy it into a "
        + "directory, change it there, and copy it back", remedy: .mountReadOnly)
  }

  /// Throws `.readOnly` on a file system on which nothing keeps two machines from writing at once.
  func requireExclusiveCreation() throws(StoreError) {
    if kind.createsExclusively { return }
    try requireChangeable()
    throw StoreError(
      .readOnly,
      "the store lies on \(kind.name), which uploads files later and believes its own list of them until "
        + "then: another machine could write to the store at the same time, and one of the two would lose its "
        + "photos; keep the store on a disk, on NFS or on sshfs, and copy it there with rsync or rclone sync",
      remedy: .mountReadOnly)
  }
}
