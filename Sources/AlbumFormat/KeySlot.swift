/// One slot of the file `keys`, which consists of slots. A slot has 512 bytes, in use or random; nobody can
/// distinguish the two without a key:
///
/// | bytes | what |
/// |---|---|
/// | 0..<16 | nonce, first part, random |
/// | 16..<24 | nonce, second part: the space's mark on the first (`SpaceKeys.slotMark`) |
/// | 24..<56 | commitment: BLAKE2b-256 of all other 488 bytes in order, keyed with the password's commitment key |
/// | 56..<496 | ciphertext, XChaCha20-Poly1305 (IETF) under the password's slot key |
/// | 496..<512 | tag |
///
/// With the master key, the mark identifies the space's slots without their passwords. To everybody else it
/// is random. The associated data are the format line and the Argon2id line of the conf, each with its line
/// feed. The plaintext of 440 bytes, numbers little-endian:
///
/// | bytes | what |
/// |---|---|
/// | 0..<32 | master key of the space |
/// | 32..<36 | cipher of the records (`CipherKind`) |
/// | 36..<40 | zero |
/// | 40..<48 | features that a reader must understand: an unknown one refuses the mount |
/// | 48..<56 | features that a writer must understand: an unknown one permits reading only |
/// | 56..<64 | features that a program may ignore |
/// | 64..<192 | four entries of 32 bytes, the lines that this slot vouches for (`TrustedLines`) |
/// | 192..<440 | zero; ignored, and kept when the password changes |
package enum KeySlot {
  package static let byteCount = 512
  package static let nonceRange = 0..<24
  /// Part of the nonce.
  package static let nonceSeedRange = 0..<16
  package static let markRange = 16..<24
  package static let commitmentRange = 24..<56
  package static let ciphertextRange = 56..<496
  package static let tagRange = 496..<512
  package static let plaintextByteCount = ciphertextRange.count

  /// Part of the plaintext.
  package static let masterKeyRange = 0..<32

  /// `init` makes at least this many slots. A file with fewer was cut short.
  package static let minimumCount = 8
  /// The limit of slots in `keys`; a longer file is refused.
  package static let maximumCount = 32_768

  /// The plaintext of a slot besides the master key.
  package struct Content: Equatable, Sendable {
    /// The raw value of a `CipherKind`.
    package var cipher = CipherKind.xchacha20Poly1305.rawValue
    package var mustUnderstand: UInt64 = 0
    package var mayWrite: UInt64 = 0
    package var mayIgnore: UInt64 = 0
    package var trustedLines = TrustedLines()
    package init() {}

    // This version knows no feature yet.
    private static let knownMustUnderstand: UInt64 = 0
    private static let knownMayWrite: UInt64 = 0

    /// Why this version cannot unlock the space; nil if it can.
    package var refusal: String? {
      if CipherKind(rawValue: cipher) == nil {
        return "its records are sealed with cipher \(cipher)"
      }
      let unknown = mustUnderstand & ~Content.knownMustUnderstand
      return unknown == 0 ? nil : "it uses features 0x\(String(unknown, radix: 16))"
    }

    /// True if this version may change the space.
    package var isWritable: Bool { mayWrite & ~Content.knownMayWrite == 0 }

    /// Writes the plaintext except the master key and the ignored part.
    package func encode(into plaintext: UnsafeMutableRawBufferPointer) {
      precondition(plaintext.count == KeySlot.plaintextByteCount)
      unsafe plaintext.storeBytes(of: cipher.littleEndian, toByteOffset: 32, as: UInt32.self)
      unsafe plaintext.storeBytes(of: 0, toByteOffset: 36, as: UInt32.self)
      unsafe plaintext.storeBytes(
        of: mustUnderstand.littleEndian, toByteOffset: 40, as: UInt64.self)
      unsafe plaintext.storeBytes(of: mayWrite.littleEndian, toByteOffset: 48, as: UInt64.self)
      unsafe plaintext.storeBytes(of: mayIgnore.littleEndian, toByteOffset: 56, as: UInt64.self)
      unsafe trustedLines.encode(
        into: UnsafeMutableRawBufferPointer(rebasing: plaintext[TrustedLines.range]))
    }

    /// The twin of `encode`. Any 440 bytes decode; `refusal` says whether the result is usable.
    package init(decoding plaintext: UnsafeRawBufferPointer) {
      precondition(plaintext.count == KeySlot.plaintextByteCount)
      cipher = UInt32(
        littleEndian: unsafe plaintext.loadUnaligned(fromByteOffset: 32, as: UInt32.self))
      mustUnderstand = UInt64(
        littleEndian: unsafe plaintext.loadUnaligned(fromByteOffset: 40, as: UInt64.self))
      mayWrite = UInt64(
        littleEndian: unsafe plaintext.loadUnaligned(fromByteOffset: 48, as: UInt64.self))
      mayIgnore = UInt64(
        littleEndian: unsafe plaintext.loadUnaligned(fromByteOffset: 56, as: UInt64.self))
      trustedLines = unsafe TrustedLines(
        decoding: UnsafeRawBufferPointer(rebasing: plaintext[TrustedLines.range]))
    }
  }
}
