package import AlbumFormat

/// The keys that one Argon2id line of the conf derives from a password. They seal and decrypt slots.
///
/// Argon2id of the password in normal form C (`PasswordText`) gives 32 bytes. From these, `crypto_kdf` with
/// the context `albumpwd` derives the commitment key (1) and the slot key (2). XChaCha20-Poly1305 does not
/// commit to its key: without the commitment, an attacker could make one slot that many passwords decrypt,
/// and test a guess against many passwords at once. It never changes. Any thread.
package final class PasswordKey: Sendable {
  private let commitment: SecretBytes
  private let slot: SecretBytes
  private let associated: [UInt8]
  /// The line of the conf that derived these keys.
  package let derivation: KeyDerivation

  private static let context: StaticString = "albumpwd"

  /// Takes as long as the cost says, about half a second. nil if there is not enough memory.
  package init?(
    password: borrowing SecretBytes, derivation: KeyDerivation, formatLine: String
  ) {
    var isDone = false
    let root = unsafe SecretBytes(count: Sodium.keyByteCount) { root in
      isDone = unsafe PasswordKey.hash(password, derivation, into: root)
    }
    if !isDone { return nil }
    self.derivation = derivation
    commitment = PasswordKey.derive(1, from: root)
    slot = PasswordKey.derive(2, from: root)
    associated = Array((formatLine + "\n" + derivation.line + "\n").utf8)
  }

  private static func hash(
    _ password: borrowing SecretBytes, _ derivation: KeyDerivation,
    into root: UnsafeMutableRawBufferPointer
  ) -> Bool {
    let text = PasswordText.normalized(password)
    return unsafe text.withUnsafeBytes { password in
      unsafe derivation.salt.withUnsafeBytes { salt in
        unsafe Sodium.passwordHash(
          password, salt: salt, operations: derivation.cost.operations,
          memory: derivation.cost.memory, into: root)
      }
    }
  }

  private static func derive(_ id: UInt64, from root: borrowing SecretBytes) -> SecretBytes {
    unsafe root.withUnsafeBytes { root in
      unsafe SecretBytes(count: Sodium.keyByteCount) {
        unsafe Sodium.derive(into: $0, id: id, context: PasswordKey.context, key: root.baseAddress!)
      }
    }
  }

  /// Seals `content` with this password; returns the 512 bytes of a slot.
  package func wrap(_ content: SlotContent) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: KeySlot.byteCount)
    unsafe bytes.withUnsafeMutableBytes { bytes in
      let nonce = bytes.baseAddress!
      let seed = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[KeySlot.nonceSeedRange])
      unsafe Sodium.random(seed)
      unsafe bytes.storeBytes(
        of: content.spaceKeys().slotMark(on: UnsafeRawBufferPointer(seed)).littleEndian,
        toByteOffset: KeySlot.markRange.lowerBound, as: UInt64.self)
      unsafe content.withUnsafeBytes { plaintext in
        unsafe associated.withUnsafeBytes { associated in
          unsafe slot.withUnsafeBytes { key in
            unsafe Sodium.encrypt(
              plaintext, into: nonce + KeySlot.ciphertextRange.lowerBound,
              tag: nonce + KeySlot.tagRange.lowerBound, associated: associated, nonce: nonce,
              key: key.baseAddress!)
          }
        }
      }
      unsafe writeCommitment(
        to: UnsafeRawBufferPointer(bytes),
        into: UnsafeMutableRawBufferPointer(rebasing: bytes[KeySlot.commitmentRange]))
    }
    return bytes
  }

  /// The result of trying a password on a slot.
  package enum Outcome: Sendable {
    /// Random, of another password, or damaged: nobody can distinguish these.
    case notThis
    /// Sealed with this password and unchanged, but with other lines in the conf.
    case sealedWithOtherLines
    case decrypted(SlotContent)
  }

  /// The twin of `wrap`. Takes the same time for every slot of another password.
  package func unwrap(_ bytes: ArraySlice<UInt8>) -> Outcome {
    precondition(bytes.count == KeySlot.byteCount)
    let isMine = unsafe bytes.withUnsafeBytes { unsafe hasCommitment(to: $0) }
    if !isMine { return .notThis }
    var isDecrypted = false
    let plaintext = unsafe SecretBytes(count: KeySlot.plaintextByteCount) { plaintext in
      isDecrypted = unsafe bytes.withUnsafeBytes { unsafe open($0, into: plaintext) }
    }
    return isDecrypted ? .decrypted(SlotContent(plaintext)) : .sealedWithOtherLines
  }

  private func open(
    _ bytes: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer
  ) -> Bool {
    let nonce = bytes.baseAddress!
    return unsafe associated.withUnsafeBytes { associated in
      unsafe slot.withUnsafeBytes { key in
        unsafe Sodium.decrypt(
          UnsafeRawBufferPointer(rebasing: bytes[KeySlot.ciphertextRange]),
          into: plaintext.baseAddress!, tag: nonce + KeySlot.tagRange.lowerBound,
          associated: associated, nonce: nonce, key: key.baseAddress!)
      }
    }
  }

  private func hasCommitment(to slot: UnsafeRawBufferPointer) -> Bool {
    var expected: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    return unsafe withUnsafeMutableBytes(of: &expected) { expected in
      unsafe writeCommitment(to: slot, into: expected)
      return unsafe Sodium.areEqual(
        UnsafeRawBufferPointer(expected),
        UnsafeRawBufferPointer(rebasing: slot[KeySlot.commitmentRange]))
    }
  }

  private func writeCommitment(
    to slot: UnsafeRawBufferPointer, into commitment: UnsafeMutableRawBufferPointer
  ) {
    var message = [UInt8]()
    message.reserveCapacity(KeySlot.byteCount)
    unsafe message.append(contentsOf: slot[KeySlot.nonceRange])
    unsafe message.append(contentsOf: slot[KeySlot.ciphertextRange])
    unsafe message.append(contentsOf: slot[KeySlot.tagRange])
    unsafe self.commitment.withUnsafeBytes { key in
      unsafe message.withUnsafeBytes {
        unsafe Sodium.keyedHash($0, into: commitment, key: key)
      }
    }
  }
}

/// The plaintext of a slot, in guarded memory. It never changes. Any thread.
package final class SlotContent: Sendable {
  private let plaintext: SecretBytes
  /// The plaintext besides the master key.
  package let header: KeySlot.Content

  init(_ plaintext: consuming SecretBytes) {
    header = unsafe plaintext.withUnsafeBytes { unsafe KeySlot.Content(decoding: $0) }
    self.plaintext = plaintext
  }

  /// The plaintext of a slot for a space.
  package convenience init(_ keys: SpaceKeys) {
    var header = KeySlot.Content()
    header.cipher = keys.cipher.kind.rawValue
    self.init(keys, header: header)
  }

  /// The same with any header.
  package init(_ keys: SpaceKeys, header: KeySlot.Content) {
    self.header = header
    plaintext = unsafe SecretBytes(count: KeySlot.plaintextByteCount) { plaintext in
      unsafe header.encode(into: plaintext)
      unsafe keys.master.withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: plaintext[KeySlot.masterKeyRange])
          .copyMemory(from: $0)
      }
    }
  }

  /// The same content, trusting other lines of the conf. Keeps the part that this version ignores.
  package func vouching(for lines: [KeyDerivation]) -> SlotContent {
    let trusted = TrustedLines(lines.map(\.digest))
    return SlotContent(
      unsafe SecretBytes(count: KeySlot.plaintextByteCount) { copy in
        unsafe plaintext.withUnsafeBytes { unsafe copy.copyMemory(from: $0) }
        unsafe trusted.encode(
          into: UnsafeMutableRawBufferPointer(rebasing: copy[TrustedLines.range]))
      })
  }

  /// All keys of the space. `KeySlots.find` has refused a cipher that this machine does not have.
  package func spaceKeys() -> SpaceKeys {
    let master = unsafe plaintext.withUnsafeBytes {
      unsafe SecretBytes(
        copying: UnsafeRawBufferPointer(rebasing: $0[KeySlot.masterKeyRange]))
    }
    return SpaceKeys(
      master: master, cipher: CipherKind(rawValue: header.cipher)!, isWritable: header.isWritable)
  }

  /// Compares everything in constant time.
  package func isEqual(to other: SlotContent) -> Bool {
    plaintext.isEqual(to: other.plaintext)
  }

  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe plaintext.withUnsafeBytes(body)
  }
}

extension KeyDerivation {
  /// BLAKE2b-256 of the line and its line feed. A slot that trusts the line holds this digest.
  package var digest: [UInt8] { Digest.blake2b(Array((line + "\n").utf8)) }
}
