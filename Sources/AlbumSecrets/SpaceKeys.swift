package import AlbumFormat
package import AlbumModel

/// All keys of one space, derived from its 256-bit master key: one sub-key per purpose, by `crypto_kdf`
/// (BLAKE2b) with the context `albumfs1`. Immutable and thread-safe.
package final class SpaceKeys: Sendable {
  /// The purposes and their numbers in `crypto_kdf`: never renumbered, never reused.
  enum Purpose: UInt64, CaseIterable {
    case data = 1
    case journal = 2
    case checkpoint = 3
    case segmentNames = 4
    case headerMasks = 5
    case lock = 6
    case memory = 7
    case tails = 8
    case slots = 9
    case consent = 10

    static let context: StaticString = "albumfs1"
  }

  /// Seals and decrypts the space's records.
  package let cipher: RecordCipher
  private let names: SecretBytes
  /// The offset in albumfs.conf of the space's open-file-description lock: 62 bits, at least 2^32, so that it
  /// never overlaps byte 0, the lock of `keys`.
  package let lockOffset: Int64
  /// For the recovery key and for sealing a new slot of the space.
  let master: SecretBytes

  /// False if the space uses features that this version must not write with.
  package let isWritable: Bool

  /// Keeps `master`, which must have 32 bytes. The cipher must be available (`CipherKind.isAvailable`).
  package init(
    master: consuming SecretBytes, cipher kind: CipherKind, isWritable: Bool = true
  ) {
    precondition(master.count == Sodium.keyByteCount)
    self.isWritable = isWritable
    cipher = RecordCipher(kind, master: master)
    names = SpaceKeys.derive(.segmentNames, from: master)
    lockOffset = SpaceKeys.lockOffset(SpaceKeys.derive(.lock, from: master))
    self.master = master
  }

  /// Random keys for a new space.
  package convenience init(cipher kind: CipherKind = .xchacha20Poly1305) {
    self.init(master: SecretBytes(randomCount: Sodium.keyByteCount), cipher: kind)
  }

  /// The name of a segment's file: 128 bits that encode kind, number and birth, and are random without the
  /// keys.
  ///
  /// In clear, from the most significant bit on: birth (48 bits) | zero (16) | number (32) | kind (8) | zero
  /// (24). A Feistel network of four rounds (Luby and Rackoff, 1988) turns this into the name. Round i
  /// replaces (left, right) by (right, left XOR F), where F is the first 8 bytes, little-endian, of
  /// BLAKE2b-128 over right and i (two u64, little-endian), keyed with the sub-key of segment names. After
  /// the last round `high` is left and `low` is right.
  package func name(of kind: SegmentKind, number: SegmentNumber, birth: SegmentBirth)
    -> SegmentName
  {
    unsafe names.withUnsafeBytes { key in
      var left = birth.rawValue << 16
      var right = UInt64(number.rawValue) << 32 | UInt64(kind.rawValue) << 24
      for round in 0..<SpaceKeys.nameRounds {
        (left, right) = (right, left ^ (unsafe Sodium.keyedHash(right, round, key: key)))
      }
      return SegmentName(high: left, low: right)
    }
  }

  /// The twin of `name(of:number:birth:)`. nil if the name is not of this space. About one in 2^45 other
  /// names passes; no record in such a segment decrypts.
  package func segment(named name: SegmentName) -> (
    kind: SegmentKind, number: SegmentNumber, birth: SegmentBirth
  )? {
    let (left, right) = unsafe names.withUnsafeBytes { key in
      var (left, right) = (name.high, name.low)
      for round in (0..<SpaceKeys.nameRounds).reversed() {
        (left, right) = (right ^ (unsafe Sodium.keyedHash(left, round, key: key)), left)
      }
      return (left, right)
    }
    guard left & 0xFFFF == 0, right & 0xFF_FFFF == 0, left > 0,
      let kind = SegmentKind(rawValue: UInt8(truncatingIfNeeded: right >> 24))
    else { return nil }
    let number = UInt32(truncatingIfNeeded: right >> 32)
    if number == 0 || number > NumberLimits.segment { return nil }
    return (kind, SegmentNumber(number), SegmentBirth(left >> 16))
  }

  private static let nameRounds: UInt64 = 4

  /// The space's name where a machine remembers it: 32 hexadecimal digits of a sub-key for this purpose.
  package var memoryName: String {
    let key = SpaceKeys.derive(.memory, from: master)
    return unsafe key.withUnsafeBytes { bytes in
      let words = unsafe (
        bytes.loadUnaligned(as: UInt64.self),
        bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      )
      return SegmentName(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1)).text
    }
  }

  /// Proves to a daemon that has the space open that a caller can unlock it: 64 hexadecimal digits of a
  /// sub-key for this purpose. Only a process that was given a password again has it.
  package var consent: String {
    let key = SpaceKeys.derive(.consent, from: master)
    return unsafe key.withUnsafeBytes { bytes in
      unsafe Hexadecimal.text(bytes)
    }
  }

  /// True for this space's `consent`. Takes the same time whatever is wrong.
  package func isConsent(_ text: String) -> Bool {
    let (given, own) = (Array(text.utf8), Array(consent.utf8))
    if given.count != own.count { return false }
    return zip(given, own).reduce(UInt8(0)) { $0 | $1.0 ^ $1.1 } == 0
  }

  /// The mark that identifies the space's slots in `keys` without their passwords: the first 8 bytes,
  /// little-endian, of BLAKE2b-128 of the 16 bytes before it in the slot (two u64, little-endian), keyed
  /// with a sub-key for this purpose.
  package func slotMark(on seed: UnsafeRawBufferPointer) -> UInt64 {
    precondition(seed.count == KeySlot.nonceSeedRange.count)
    let key = SpaceKeys.derive(.slots, from: master)
    return unsafe key.withUnsafeBytes { key in
      unsafe Sodium.keyedHash(
        UInt64(littleEndian: seed.loadUnaligned(as: UInt64.self)),
        UInt64(littleEndian: seed.loadUnaligned(fromByteOffset: 8, as: UInt64.self)), key: key)
    }
  }

  /// True for a slot that was sealed for this space, with any password. One in 2^64 other slots passes.
  package func isOwn(slot: ArraySlice<UInt8>) -> Bool {
    precondition(slot.count == KeySlot.byteCount)
    return unsafe slot.withUnsafeBytes { slot in
      let seed = unsafe UnsafeRawBufferPointer(rebasing: slot[KeySlot.nonceSeedRange])
      let mark = unsafe slot.loadUnaligned(
        fromByteOffset: KeySlot.markRange.lowerBound, as: UInt64.self)
      return unsafe UInt64(littleEndian: mark) == slotMark(on: seed)
    }
  }

  static func derive(_ purpose: Purpose, from master: borrowing SecretBytes) -> SecretBytes {
    unsafe master.withUnsafeBytes { master in
      unsafe SecretBytes(count: Sodium.keyByteCount) { subkey in
        unsafe Sodium.derive(
          into: subkey, id: purpose.rawValue, context: Purpose.context, key: master.baseAddress!)
      }
    }
  }

  private static func lockOffset(_ key: borrowing SecretBytes) -> Int64 {
    let number = unsafe key.withUnsafeBytes {
      unsafe UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self))
    }
    let offset = Int64(number >> 2)
    return offset < 1 << 32 ? offset + 1 << 32 : offset
  }
}
