internal import AlbumFormat
internal import Posix

/// The file `keys`: reading it, and the one way to change it.
///
/// 1. It changes only under an exclusive lock on byte 0 of albumfs.conf, after being read again.
/// 2. Every slot that is not sealed anew, or made random with its space, is carried over byte for
///    byte, whatever it is.
/// 3. What is to replace it is written aside, synced, read back and proven, then renamed over it,
///    and the directory synced. At every instant `keys` is the old file or the new one, whole.
/// 4. A line that a new slot needs is in both confs, durably, before the slot is.
/// 5. One that was cut short still opens spaces by its whole slots, but is not changed: what was
///    in the part that is lost may come back from a backup, which a changed file would rival.
enum KeyRing {
  static let path = StorePath.keys
  private static let temporary = "keys.new"
  static let limit = KeySlot.maximumCount * KeySlot.byteCount

  // MARK: Reading

  /// The slots as they are now. Throws `.keysDamaged` where there is no such file.
  static func read(_ store: Store) throws(StoreError) -> KeySlots {
    let slots = KeySlots(try contents(store.directory))
    if slots.isCutShort {
      store.warn(
        "\(path) was cut short: spaces whose slots were in the part that is lost open only with a "
          + "backup of \(path) or with their recovery keys")
    }
    return slots
  }

  private static func contents(_ directory: any StorageDirectory) throws(StoreError) -> [UInt8] {
    do throws(Errno) { return try directory.contents(of: path, limit: limit) } catch {
      switch error {
      case .noEntry:
        throw StoreError(
          .keysDamaged,
          "\(path) is missing from the store; restore it from a backup or mount with the recovery "
            + "key", path: path, cause: error)
      case .tooBig:
        throw StoreError(
          .keysDamaged, "\(path) is larger than it can be; restore it from a backup", path: path,
          cause: error)
      default: throw StoreError(reading: path, error)
      }
    }
  }

  // MARK: Changing

  /// Lets `edit` change the slots; nobody else does meanwhile. Where anything throws, `keys` is as
  /// it was. `line` is what the slots need in the conf and do not find there.
  static func change(
    _ store: Store, appending line: KeyDerivation? = nil,
    _ edit: (inout KeySlots) throws(StoreError) -> Void
  ) throws(StoreError) {
    if store.confsDiffer {
      throw StoreError(
        .configurationAltered,
        "\(ConfigurationFiles.main) and \(ConfigurationFiles.twin) differ; copy the right one over "
          + "the other before passwords are changed", path: ConfigurationFiles.main)
    }
    let lock = try take(store)
    defer {
      RestingTimes.settle(store.directory)
      withExtendedLifetime(lock) {}
    }
    try removeStale(store.directory)
    try ConfigurationFiles.requireUnchanged(store)
    var slots = try read(store)
    if slots.isCutShort {
      throw StoreError(
        .keysDamaged, "\(path) was cut short; restore it from a backup before it is changed",
        path: path)
    }
    try edit(&slots)
    if slots.count > KeySlot.maximumCount {
      throw StoreError(.keysDamaged, "\(path) holds as many slots as it can", path: path)
    }
    if let line { try ConfigurationFiles.append(line, to: store) }
    try replace(with: slots, in: store.directory)
  }

  /// The lock on byte 0 of albumfs.conf; waits for whoever has it, but not for ever: whoever may write to
  /// the store could hold it so long. Gone with the file.
  private static func take(_ store: Store) throws(StoreError) -> any StorageFile {
    do throws(Errno) {
      let file = try ConfigurationFiles.openForLocking(store)
      try file.lock(exclusive: true, offset: 0, length: 1, wait: true)
      return file
    } catch {
      if error == .again {
        throw StoreError(
          .inUse, "another process has been changing the store for a minute; end it first",
          path: ConfigurationFiles.main, cause: error)
      }
      throw StoreError("lock", ConfigurationFiles.main, error)
    }
  }

  /// What a change that did not finish left behind. Only under the lock.
  private static func removeStale(_ directory: any StorageDirectory) throws(StoreError) {
    do throws(Errno) { try directory.remove(temporary) } catch {
      if error != .noEntry { throw StoreError(removing: temporary, error) }
    }
  }

  private static func replace(
    with slots: KeySlots, in directory: any StorageDirectory
  ) throws(StoreError) {
    try directory.writeNew(temporary, slots.bytes)
    do throws(StoreError) {
      try prove(slots, temporary, directory)
      do throws(Errno) { try directory.rename(temporary, to: path) } catch {
        throw StoreError("replace", path, error)
      }
    } catch {
      try? directory.remove(temporary)
      throw error
    }
    try directory.syncDirectoryOfStore()
  }

  /// Reads back what was written.
  private static func prove(
    _ slots: KeySlots, _ path: String, _ directory: any StorageDirectory
  ) throws(StoreError) {
    let written: [UInt8]
    do throws(Errno) { written = try directory.contents(of: path, limit: limit) } catch {
      throw StoreError(reading: path, error)
    }
    if !slots.isProven(by: written) {
      throw StoreError(
        .inputOutput, "\(path) does not read back as it was written; \(self.path) was left alone",
        path: path)
    }
  }

  // MARK: Birth

  /// The first `keys` of a store that is none before its conf is written. Throws `.alreadyExists`
  /// where somebody else makes one at the same place.
  static func create(_ slots: KeySlots, in directory: any StorageDirectory) throws(StoreError) {
    do throws(StoreError) { try directory.writeNew(path, slots.bytes) } catch {
      if error.cause == .exists {
        throw StoreError(
          .alreadyExists, "somebody else is making a store here", path: path, cause: .exists)
      }
      throw error
    }
    try prove(slots, path, directory)
    try directory.syncDirectoryOfStore()
  }

  /// Cleans up behind a change that did not finish, unless one is under way. For sessions that
  /// write anyway.
  static func tidy(_ store: Store) {
    guard let names = try? store.directory.list(""), names.contains(temporary),
      let file = try? ConfigurationFiles.openForLocking(store),
      (try? file.lock(exclusive: true, offset: 0, length: 1, wait: false)) != nil
    else { return }
    try? removeStale(store.directory)
  }
}
