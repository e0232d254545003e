package import AlbumFormat
package import AlbumSecrets
package import Posix

/// How a store is to be made.
package struct StoreOptions: Sendable {
  /// Bytes in each segment; `SegmentLayout.isValidByteCount`.
  package var segmentSize = SegmentLayout.defaultByteCount
  /// How much work Argon2id makes of each password; never below `KDFCost.floor`.
  package var cost = KDFCost.moderate
  /// The cipher of the first space; `CipherKind.isAvailable`.
  package var cipher = CipherKind.xchacha20Poly1305
  /// Bytes of chaff, rounded up to whole segments; nil: a random amount, see `ChaffRule`.
  package var chaffByteCount: Int64?
  /// The salt of the first Argon2id line.
  var salt = RandomFill.bytes(KeyDerivation.saltByteCount)
  /// Called with the number of bytes of chaff that are written, and the total; returns false to stop.
  package var chaffProgress: @Sendable (Int64, Int64) -> Bool = { _, _ in true }
  package init() {}

  /// The salt that a security key gets for the store, before it is made.
  package var securityKeySalt: [UInt8] { SecurityKeySecret.salt(storeSalt: salt) }
}

extension Store {
  /// Creates a store in an empty directory, and its first space. `birth` writes the space's first journal
  /// segment. The conf comes last: a failure before that leaves no store, and the user removes the rest.
  ///
  /// Throws `.alreadyExists` if there is a store, `.notEmpty` if there is something else, `.emptyPassword`,
  /// and the errors of the disk and of `birth`.
  package static func create(
    in directory: any StorageDirectory, options: StoreOptions, password: borrowing SecretBytes,
    birth: (Store, SpaceKeys) throws(StoreError) -> Void
  ) throws(StoreError) -> Store {
    try requireUsable(newPassword: password)
    try directory.requireExclusiveCreation()
    try requireEmpty(directory)
    let store = Store(directory, newConfiguration(options))
    let derived = try store.passwordKeys(password)
    let keys = SpaceKeys(cipher: options.cipher)
    let content = SlotContent(keys).vouching(for: store.derivations)
    try KeyRing.create(KeySlots(birth: derived[0], content), in: directory)
    try Chaff.makeFolders(directory)
    var chaff = options.chaffByteCount ?? 0
    if options.chaffByteCount == nil { chaff = try ChaffRule.randomByteCountAtBirth(of: store) }
    let report: (Int64) throws(StoreError) -> Void = { made throws(StoreError) in
      if !options.chaffProgress(made, chaff) {
        throw StoreError(.interrupted, "it was interrupted")
      }
    }
    try report(0)
    try Chaff.add(bytes: chaff, to: store, progress: report)
    try birth(store, keys)
    try ConfigurationFiles.write(store.configuration, in: directory)
    RestingTimes.settle(directory)
    store.warnWhereWeak(store.derivations[0])
    store.warnWhereChaffIsForbidden()
    return store
  }

  /// Removes the mark of a store that is being made. The times of the folder show nothing of that.
  package static func removeMark(in directory: any StorageDirectory) {
    try? directory.remove(StorePath.unfinished)
    RestingTimes.settle("", in: directory)
    try? directory.syncDirectory("")
  }

  private static func newConfiguration(_ options: StoreOptions) -> StoreConfiguration {
    let floor = SealingFloor.current
    let cost = options.cost.isAtLeast(floor) ? options.cost : floor
    return StoreConfiguration(
      segmentSize: options.segmentSize,
      derivations: [KeyDerivation(number: 1, cost: cost, salt: options.salt)])
  }

  private static func requireEmpty(_ directory: any StorageDirectory) throws(StoreError) {
    var names: Set<String>
    do throws(Errno) { names = Set(try directory.list("")) } catch {
      throw StoreError(reading: "", error)
    }
    // mkfs puts this into the root of a file system.
    names.remove("lost+found")
    names.remove(StorePath.unfinished)
    if names.contains(ConfigurationFiles.main) || names.contains(ConfigurationFiles.twin) {
      throw StoreError(.alreadyExists, "there is a store here already")
    }
    if names.isEmpty { return }
    if names.contains(KeyRing.path), names.isSubset(of: [KeyRing.path, SegmentPath.root]) {
      throw StoreError(
        .notEmpty,
        "the directory holds files of a store that was not finished, or that lost its "
          + "\(ConfigurationFiles.main); if you need none of them, remove them and try again")
    }
    throw StoreError(.notEmpty, "the directory is not empty; a store needs one of its own")
  }
}
