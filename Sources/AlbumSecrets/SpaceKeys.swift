package import AlbumFormat
package import AlbumModel

/// All keys of one space, derived from its 256-bit master key: one sub-key per purpose, by
/// `crypto_kdf` (BLAKE2b) with the context `albumfs1`. Immutable, thread-safe.
package final class SpaceKeys: Sendable {
  /// The purposes, with the numbers they have in `crypto_kdf`: never renumbered, never reused.
  enum Purpose: UInt64, CaseIterable {
    case data = 1
    case journal = 2
    case checkpoint = 3
    case segmentNames = 4
    case headerMasks = 5
    case lock = 6

    static let context: StaticString = "albumfs1"
  }

  /// Seals and opens the space's records.
  package let cipher: RecordCipher
  private let names: SecretBytes
  /// Where on albumfs.conf the space's open-file-description lock is taken: 62 bits, at or above
  /// 2^32, so that it never meets byte 0, the lock of `keys`.
  package let lockOffset: Int64
  /// For the recovery key and for sealing the space's slot anew.
  let master: SecretBytes

  /// False where the space uses features that this version must not write with.
  package let isWritable: Bool

  /// Keeps `master`, which must be 32 bytes.
  package init(master: consuming SecretBytes, isWritable: Bool = true) {
    precondition(master.count == Sodium.keyByteCount)
    self.isWritable = isWritable
    cipher = RecordCipher(master: master)
    names = SpaceKeys.derive(.segmentNames, from: master)
    lockOffset = SpaceKeys.lockOffset(SpaceKeys.derive(.lock, from: master))
    self.master = master
  }

  /// Keys of a space to be born.
  package convenience init() {
    self.init(master: SecretBytes(randomCount: Sodium.keyByteCount))
  }

  /// The name of a segment's file: BLAKE2b-128, keyed, over the kind as one byte and the number as
  /// u32 little-endian. Its first 8 bytes are `high`, big-endian.
  package func name(of kind: SegmentKind, number: SegmentNumber) -> SegmentName {
    let message = UInt64(kind.rawValue) | UInt64(number.rawValue) << 8
    return unsafe names.withUnsafeBytes { key in
      let hash = unsafe Sodium.keyedHash(message, byteCount: 5, key: key)
      return SegmentName(high: UInt64(bigEndian: hash.0), low: UInt64(bigEndian: hash.1))
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
