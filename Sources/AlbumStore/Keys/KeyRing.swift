internal import AlbumFormat
internal import Posix

/// The file `keys`: how to read it, and the one way to change it.
///
/// 1. It changes only under an exclusive lock on byte 0 of both confs, and after being read again.
/// 2. A change copies every slot byte for byte, unless it seals the slot anew or makes it random with its
///    space.
/// 3. A change writes a new file beside it, syncs it, reads it back and proves it, renames it over the old
///    one, and syncs the directory. At every instant `keys` is the old or the new file, whole.
/// 4. A line that a new slot needs is durably in both confs before the slot is written.
/// 5. A file of the wrong size still unlocks spaces with its whole slots, but no process changes it: a backup
///    may restore a lost part, and a changed file would compete with it.
enum KeyRing {
  static let path = StorePath.keys
  private static let temporary = "keys.new"
  static let limit = KeySlot.maximumCount * KeySlot.byteCount

  // MARK: Reading

  /// Reads the slots. Throws `.keysDamaged` if the file is missing.
  static func read(_ store: Store) throws(StoreError) -> KeySlots {
    let bytes = try contents(store.directory)
    let slots = KeySlots(bytes)
    if slots.hasWrongSize { store.warn(.wrongSizeOfKeys(byteCount: bytes.count)) }
    return slots
  }

  /// Does the same, and returns the first slots of a new file, all random, if it is missing.
  static func readOrBegin(_ store: Store) throws(StoreError) -> KeySlots {
    do throws(StoreError) { return try read(store) } catch {
      if error.cause != .noEntry { throw error }
      return KeySlots(beginningAnew: ())
    }
  }

  private static func contents(_ directory: any StorageDirectory) throws(StoreError) -> [UInt8] {
    do throws(Errno) { return try directory.contents(of: path, limit: limit) } catch {
      switch error {
      case .noEntry:
        throw StoreError(
          .keysDamaged, "\(path) is missing from the store; restore it from a backup", path: path,
          cause: error, remedy: .recoveryKey)
      case .tooBig:
        throw StoreError(
          .keysDamaged, "\(path) is larger than it can be; restore it from a backup", path: path,
          cause: error, remedy: .recoveryKey)
      default: throw StoreError(reading: path, error)
      }
    }
  }

  // MARK: Changing

  /// Calls `edit` to change the slots, while no other process does. If anything throws, `keys` is unchanged.
  /// `line` is an Argon2id line that the slots need and the conf lacks. With `mayBegin`, a missing file
  /// begins anew with random slots.
  static func change(
    _ store: Store, appending line: KeyDerivation? = nil, mayBegin: Bool = false,
    _ edit: (inout KeySlots) throws(StoreError) -> Void
  ) throws(StoreError) {
    let locked = try takeLock(store)
    defer {
      RestingTimes.settle(store.directory)
      withExtendedLifetime(locked) {}
    }
    try removeStale(store.directory)
    try ConfigurationFiles.mend(store)
    try ConfigurationFiles.requireUnchanged(store)
    var slots = try mayBegin ? readOrBegin(store) : read(store)
    if slots.hasWrongSize {
      throw StoreError(
        .keysDamaged,
        "\(path) has the wrong size, so it was cut short or extended; restore it from a backup "
          + "before you change a password", path: path)
    }
    try edit(&slots)
    if slots.count > KeySlot.maximumCount {
      throw StoreError(.keysDamaged, "\(path) has no room for another slot", path: path)
    }
    if let line { try ConfigurationFiles.append(line, to: store) }
    try replace(with: slots, in: store.directory)
  }

  /// Takes the lock on byte 0 of both confs, always in the same order. The lock ends with the returned files.
  private static func lock(_ store: Store, wait: Bool) throws(Errno) -> [any StorageFile] {
    let files = try ConfigurationFiles.openForLocking(store).map(\.file)
    for file in files { try file.lock(exclusive: true, offset: 0, length: 1, wait: wait) }
    return files
  }

  /// Waits for another holder, but not for ever: anybody who can write to the store could hold the lock that
  /// long.
  private static func takeLock(_ store: Store) throws(StoreError) -> [any StorageFile] {
    do throws(Errno) { return try lock(store, wait: true) } catch {
      if error == .again {
        throw StoreError(
          .inUse, "another process has been changing the store for a minute; end it first",
          path: ConfigurationFiles.main, cause: error)
      }
      throw StoreError("lock", ConfigurationFiles.main, error)
    }
  }

  /// Removes what an unfinished change left behind. Call it only under the lock.
  private static func removeStale(_ directory: any StorageDirectory) throws(StoreError) {
    do throws(Errno) { try directory.remove(temporary) } catch {
      switch error {
      case .noEntry: return
      case .isDirectory:
        throw StoreError(
          .misplaced,
          "\(temporary) in the store is a directory, not a file of albumfs, and a change of `keys` needs its "
            + "name; move it out of the store", path: temporary, cause: error)
      default: throw StoreError(removing: temporary, error)
      }
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

  /// Verifies the file by reading it back.
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

  /// Writes the first `keys` of a store, before its conf. Throws `.alreadyExists` if another process creates
  /// a store at the same place.
  static func create(_ slots: KeySlots, in directory: any StorageDirectory) throws(StoreError) {
    do throws(StoreError) { try directory.writeNew(path, slots.bytes) } catch {
      if error.cause == .exists {
        throw StoreError(
          .alreadyExists, "another process is making a store here", path: path, cause: .exists)
      }
      throw error
    }
    try prove(slots, path, directory)
    try directory.syncDirectoryOfStore()
  }

  /// Cleans up after an unfinished change, unless a change is running. Sessions that write call this.
  static func tidy(_ store: Store) {
    guard let names = try? store.directory.list(""), names.contains(temporary),
      let locked = try? lock(store, wait: false)
    else { return }
    try? removeStale(store.directory)
    withExtendedLifetime(locked) {}
  }
}
