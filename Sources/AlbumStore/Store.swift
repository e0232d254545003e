package import AlbumFormat
package import AlbumSecrets
package import Posix

/// How a store is to be made.
package struct StoreOptions: Sendable {
  /// Bytes in each segment; `SegmentLayout.isValidByteCount`.
  package var segmentSize = SegmentLayout.defaultByteCount
  /// How much work Argon2id makes of each password.
  package var cost = KDFCost.moderate
  /// Bytes of chaff, rounded up to whole segments; nil: a random amount, see `ChaffRule`.
  package var chaffByteCount: Int64?
  /// Is told how many bytes of chaff are made, and of how many.
  package var chaffProgress: @Sendable (Int64, Int64) -> Void = { _, _ in }
  package init() {}
}

/// A directory in which albumfs keeps spaces, and what can be done with it and a password. All calls
/// may come from any thread and any process at once; those that change `keys` wait for one another.
package final class Store: Sendable {
  package let directory: any StorageDirectory
  package let configuration: StoreConfiguration
  /// The confs say different things; until that is settled no slot may be written.
  let confsDiffer: Bool
  private let told: Mutex<[String]>

  /// What is damaged and did not hinder, one sentence for a person each.
  package var warnings: [String] { told.withLock { $0 } }

  /// What `open` and `create` give, and tests that need no slots.
  package init(
    _ directory: any StorageDirectory, _ configuration: StoreConfiguration,
    confsDiffer: Bool = false, warnings: [String] = []
  ) {
    self.directory = directory
    self.configuration = configuration
    self.confsDiffer = confsDiffer
    told = Mutex(warnings)
  }

  func warn(_ warning: String) {
    told.withLock { if !$0.contains(warning) { $0.append(warning) } }
  }

  /// Reads `albumfs.conf` and its twin; writes nothing. Throws `.notAStore`, `.newerFormat`,
  /// `.costRefused`, `.configurationAltered` or what the disk answers.
  package static func open(_ directory: any StorageDirectory) throws(StoreError) -> Store {
    try ConfigurationFiles.open(directory)
  }

  // MARK: Opening a space

  /// The keys of the space that the password opens. Takes as long as Argon2id, and equally long for a
  /// password that opens none. Throws `.wrongPassword`, `.emptyPassword`, `.keysDamaged`,
  /// `.configurationAltered`, `.unsupportedFeature`.
  package func unlock(password: borrowing SecretBytes) throws(StoreError) -> SpaceKeys {
    if password.isEmpty { throw StoreError(.emptyPassword, "the password is empty") }
    let slots = try KeyRing.read(self)
    return try slots.find(passwordKeys(password)).content.spaceKeys()
  }

  /// The keys that a recovery key spells. Whether they are of a space of this store shows when its
  /// journal is looked for. Throws `.wrongPassword` where it is mistyped.
  package func unlock(recoveryKey: borrowing SecretBytes) throws(StoreError) -> SpaceKeys {
    do { return try RecoveryKey.decode(recoveryKey) } catch { throw StoreError(error) }
  }

  /// The recovery key of the space that the password opens, ASCII. Throws as `unlock(password:)`.
  package func recoveryKey(password: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    RecoveryKey.encode(try unlock(password: password))
  }

  // MARK: Changing `keys`

  /// Adds a space. `birth` writes its first journal segment, before the slot is written: a slot that
  /// opens always opens a space. Throws `.alreadyExists` for a password that opens a space already,
  /// `.emptyPassword`, and what `birth` throws.
  package func addSpace(
    password: borrowing SecretBytes, birth: (Store, SpaceKeys) throws(StoreError) -> Void
  ) throws(StoreError) {
    try Store.requireUsable(newPassword: password)
    let derived = try passwordKeys(password)
    try KeyRing.change(self) { slots throws(StoreError) in
      try slots.requireUnused(derived)
      let keys = SpaceKeys()
      try birth(self, keys)
      slots.insert(derived[derived.count - 1], SlotContent(keys))
    }
  }

  /// Seals the space's slot anew for another password; the space and its keys stay. An old copy of
  /// `keys` still opens with the old password. Throws as `unlock` and `addSpace` do.
  package func changePassword(
    old: borrowing SecretBytes, new: borrowing SecretBytes
  ) throws(StoreError) {
    if old.isEmpty { throw StoreError(.emptyPassword, "the password is empty") }
    try Store.requireUsable(newPassword: new)
    let former = try passwordKeys(old)
    // Before the second Argon2id, so that a mistyped old password is told at once.
    _ = try KeyRing.read(self).find(former)
    let derived = try passwordKeys(new)
    try KeyRing.change(self) { slots throws(StoreError) in
      let found = try slots.find(former)
      try slots.requireUnused(derived)
      for place in found.places {
        slots.replace(place, derived[derived.count - 1], found.content)
      }
    }
  }

  static func requireUsable(newPassword: borrowing SecretBytes) throws(StoreError) {
    if newPassword.isEmpty {
      throw StoreError(.emptyPassword, "the new password is empty; choose one that is not")
    }
  }

  /// What the password becomes by each Argon2id line of the conf, in their order.
  func passwordKeys(_ password: borrowing SecretBytes) throws(StoreError) -> [PasswordKey] {
    var derived: [PasswordKey] = []
    for derivation in configuration.derivations {
      let key = PasswordKey(
        password: password, derivation: derivation, formatLine: configuration.formatLine)
      guard let key else {
        throw StoreError(
          .inputOutput,
          "there is not enough memory to check the password: \(derivation.cost.memory >> 20) MiB "
            + "are needed", cause: .noMemory)
      }
      derived.append(key)
    }
    return derived
  }
}

extension StoreError {
  fileprivate init(_ mistake: RecoveryKey.Mistake) {
    let what =
      switch mistake {
      case .length(let count): "has \(count) characters where 56 are needed"
      case .character(let place): "has a character at place \(place) that cannot be in one"
      case .checksum: "is mistyped somewhere: its checksum does not fit"
      }
    self.init(.wrongPassword, "the recovery key \(what)")
  }
}
