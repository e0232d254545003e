package import AlbumFormat
package import AlbumSecrets
package import Posix

/// A directory in which albumfs keeps spaces, and what can be done with it and a password. All calls
/// may come from any thread and any process at once; those that change `keys` wait for one another.
package final class Store: Sendable {
  package let directory: any StorageDirectory
  package let configuration: StoreConfiguration
  /// How the confs differ; nil if they are equal. While they contradict each other, no slot may be written.
  let difference: ConfDifference?
  /// The conf that has the lines of the password that has unlocked a space here, if the other lacks some.
  private let right = Mutex<String?>(nil, rank: .leaf)
  private let noted: Mutex<[StoreWarning]>
  /// Lines that this process has appended to the conf.
  private let appended = Mutex<[KeyDerivation]>([], rank: .leaf)

  /// The warnings of all calls so far, each once.
  package var warnings: [StoreWarning] { noted.withLock { $0 } }
  /// The Argon2id lines for trying passwords.
  var derivations: [KeyDerivation] { configuration.derivations + appended.withLock { $0 } }

  /// For `open` and `create`, and for tests that need no slots.
  package init(
    _ directory: any StorageDirectory, _ configuration: StoreConfiguration,
    warnings: [StoreWarning] = []
  ) {
    self.directory = directory
    self.configuration = configuration
    difference = nil
    noted = Mutex(warnings, rank: .leaf)
  }

  /// For confs that differ. `configuration` has the lines of both.
  init(
    _ directory: any StorageDirectory, _ configuration: StoreConfiguration,
    difference: ConfDifference, warnings: [StoreWarning]
  ) {
    self.directory = directory
    self.configuration = configuration
    self.difference = difference
    noted = Mutex(warnings, rank: .leaf)
  }

  /// The file that is known to be right of two confs that differ.
  var rightConf: String? { right.withLock { $0 } ?? difference?.longer }

  /// Learns from an unlocked slot which of two confs is right.
  func learnRightConf(from found: KeySlots.Found) {
    guard let known = difference?.right(for: found) else { return }
    right.withLock { $0 = known }
    noted.withLock { warnings in
      guard let place = warnings.firstIndex(of: .confsDiffer(right: nil)) else { return }
      warnings[place] = .confsDiffer(right: known)
    }
  }

  /// Records that the confs are equal again.
  func recordMended() {
    noted.withLock { warnings in
      warnings.removeAll { if case .confsDiffer = $0 { true } else { false } }
    }
  }

  /// Adds a warning for each object of the wrong type in the place of `keys` or of the folder of segments.
  package func lookForMisplaced() {
    do throws(Errno) { _ = try directory.open(KeyRing.path, .read) } catch {
      if error.isMisplaced { warn(.misplaced(path: KeyRing.path, error)) }
    }
    do throws(Errno) { _ = try directory.list(SegmentPath.root) } catch {
      if error.isMisplaced { warn(.misplaced(path: SegmentPath.root, error)) }
    }
  }

  /// The salt that a security key gets for this store (`SecurityKeySecret`).
  package var securityKeySalt: [UInt8] {
    SecurityKeySecret.salt(storeSalt: configuration.derivations[0].salt)
  }

  func warn(_ warning: StoreWarning) {
    noted.withLock { if !$0.contains(warning) { $0.append(warning) } }
  }

  /// Records a line that this process has appended to the conf.
  func recordAppended(_ line: KeyDerivation) { appended.withLock { $0.append(line) } }

  /// Reads `albumfs.conf` and its twin; writes nothing. Throws `.notAStore`, `.newerFormat`, `.costRefused`,
  /// `.configurationAltered` or the error of the disk.
  package static func open(_ directory: any StorageDirectory) throws(StoreError) -> Store {
    try ConfigurationFiles.open(directory)
  }

  // MARK: Opening a space

  /// Returns the keys of the space that the password unlocks. Takes as long as Argon2id, even for a wrong
  /// password. Warns (`warnings`) if the slot does not trust a line of the conf. Throws
  /// `.wrongPassword`, `.emptyPassword`, `.keysDamaged`, `.configurationAltered`, `.unsupportedFeature`.
  package func unlock(password: borrowing SecretBytes) throws(StoreError) -> SpaceKeys {
    if password.isEmpty { throw StoreError(.emptyPassword, "the password is empty") }
    let found = try KeyRing.read(self).find(passwordKeys(password))
    warn(of: found)
    return found.content.spaceKeys()
  }

  /// Decodes a recovery key. Throws `.wrongPassword` if it is mistyped, and `.unsupportedFeature` for a
  /// cipher that this machine does not have. Does not look for its space: only the segments show whether this
  /// store has it. Warns if no password can unlock that space.
  package func unlock(recoveryKey: borrowing SecretBytes) throws(StoreError) -> SpaceKeys {
    let keys: SpaceKeys
    do { keys = try RecoveryKey.decode(recoveryKey) } catch { throw StoreError(error) }
    warnWithoutSlot(keys)
    return keys
  }

  private func warnWithoutSlot(_ keys: SpaceKeys) {
    do throws(StoreError) {
      if try KeyRing.read(self).places(of: keys, []).isEmpty { warn(.noSlot) }
    } catch {
      // An object of the wrong type in its place has a warning of its own.
      if error.cause == .noEntry { warn(.lostKeys) }
    }
  }

  /// The recovery key of the space that the password unlocks, ASCII. Throws like `unlock(password:)`.
  package func recoveryKey(password: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    RecoveryKey.encode(try unlock(password: password))
  }

  /// The password's keys for each Argon2id line of the conf, in their order.
  func passwordKeys(_ password: borrowing SecretBytes) throws(StoreError) -> [PasswordKey] {
    var derived: [PasswordKey] = []
    for derivation in derivations { derived.append(try passwordKey(password, derivation)) }
    return derived
  }

  /// The password's keys for one line.
  func passwordKey(
    _ password: borrowing SecretBytes, _ derivation: KeyDerivation
  ) throws(StoreError) -> PasswordKey {
    let key = PasswordKey(
      password: password, derivation: derivation, formatLine: configuration.formatLine)
    if let key { return key }
    throw StoreError(
      .inputOutput,
      "there is not enough memory to check the password: \(derivation.cost.memory >> 20) MiB "
        + "are needed", cause: .noMemory)
  }
}

extension StoreError {
  init(unavailable cipher: CipherKind) {
    self.init(
      .unsupportedFeature,
      "the space is sealed with \(cipher.name), for which this machine's processor or libsodium has no "
        + "instructions; mount it on a machine that has them")
  }

  fileprivate init(_ mistake: RecoveryKey.Mistake) {
    func refusal(_ what: String) -> StoreError {
      StoreError(.wrongPassword, "the recovery key \(what)")
    }
    switch mistake {
    case .length(let count): self = refusal("has \(count) characters where 56 are needed")
    case .character(let place):
      self = refusal("has a character at place \(place) that cannot be in one")
    case .checksum: self = refusal("is mistyped somewhere: its checksum does not fit")
    case .unavailable(let cipher): self = StoreError(unavailable: cipher)
    }
  }
}
