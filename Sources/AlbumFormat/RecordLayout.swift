/// The content of a segment. Raw values are part of its name and of the journal: never renumbered.
package enum SegmentKind: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  case data = 1
  case journal = 2
  case checkpoint = 3
  /// Random bytes, kept so that files can be removed when the disk is full.
  case reserve = 4
  /// Shows that a session writes the space, see `FenceRecord`.
  case fence = 5
}

/// The content of a record. Raw values are part of its associated data: never renumbered.
package enum RecordKind: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  /// A stretch of a file's content, in a data segment.
  case data = 1
  /// The head of a journal segment.
  case journalHead = 2
  /// A frame of the journal.
  case frame = 3
  /// A part of a checkpoint.
  case checkpoint = 4
  /// At the start of a segment: the segment is complete, see `SegmentSeal`.
  case seal = 5
  /// Names the session that made a fence, see `FenceRecord`.
  case fence = 6
}

/// A record in its segment: one sealed (AEAD) run of plaintext that begins on the grid of 256 bytes.
///
/// | bytes | what |
/// |---|---|
/// | 0..<24 | nonce: random, never used twice under a key |
/// | 24..<32 | masked header: XOR of the 8 bytes below with the keystream of the mask sub-key and this nonce |
/// | 32..<32+n | ciphertext under the sub-key of the record's kind |
/// | 32+n..<48+n | tag |
/// | up to the grid | random bytes |
///
/// The header in clear: plaintext length n as u32, little-endian | kind as u8 | three zero bytes. It is
/// masked so that a segment looks random. It is not authenticated by itself: kind and length are in the
/// associated data (`AssociatedData`).
///
/// The space's `CipherKind` seals the ciphertext:
///
/// 1. XChaCha20-Poly1305 (IETF) with the sub-key and the nonce.
/// 2. AES-256-GCM with a key of the record's own: HChaCha20 of the sub-key and nonce bytes 0..<16. Its nonce
///    is 4 zero bytes and nonce bytes 16..<24. This extends the nonce as XChaCha20 extends ChaCha20's, so
///    random nonces of 192 bits stay safe. (AES-256-GCM alone allows 2^32 random nonces for a key.)
///
/// Format.md has the safety argument of 2, with its bounds.
///
/// Worked sizes: 0 bytes of plaintext seal to 48 and take 256; 208 bytes seal to 256 and take 256;
/// 209 take 512; a full data record of 65,576 bytes seals to 65,624 and takes 65,792.
package enum RecordLayout {
  /// Records begin at multiples of this number of bytes.
  package static let grid = 256
  package static let nonceByteCount = 24
  package static let headerByteCount = 8
  static let tagByteCount = 16
  /// Start of the ciphertext. `RecordCipher.header(of:)` needs the bytes before it.
  package static let ciphertextOffset = nonceByteCount + headerByteCount
  /// How much longer a sealed record is than its plaintext, in bytes.
  package static let overhead = ciphertextOffset + tagByteCount
  /// The greatest plaintext of a record: 64 KiB of content, and 64 bytes for a header within it.
  package static let maximumPlaintext = 65_536 + 64

  /// Bytes from the nonce to the end of the tag.
  package static func sealedByteCount(plaintext: Int) -> Int { plaintext + overhead }

  /// Bytes from the start of the record to the earliest start of the next one.
  package static func paddedByteCount(plaintext: Int) -> Int {
    (plaintext + overhead + grid - 1) / grid * grid
  }
}

/// The 8 bytes of a record's header in clear, as a little-endian number.
package enum RecordHeader {
  package static func encode(kind: RecordKind, byteCount: Int) -> UInt64 {
    UInt64(UInt32(byteCount)) | UInt64(kind.rawValue) << 32
  }

  /// nil if this is no header of a record, usually because no record begins there.
  package static func decode(_ header: UInt64) -> (kind: RecordKind, byteCount: Int)? {
    let byteCount = Int(truncatingIfNeeded: header & 0xFFFF_FFFF)
    guard header >> 40 == 0, byteCount <= RecordLayout.maximumPlaintext,
      let kind = RecordKind(rawValue: UInt8(truncatingIfNeeded: header >> 32))
    else { return nil }
    return (kind, byteCount)
  }
}

/// The cipher that seals the records of a space. The space's slot names it by its raw value: never
/// renumbered, never reused. 3 is set aside for AEGIS-256, whose tag of 32 bytes needs another record layout.
package enum CipherKind: UInt32, Sendable, CaseIterable {
  /// XChaCha20-Poly1305 (IETF): fast on every processor.
  case xchacha20Poly1305 = 1
  /// AES-256-GCM with a key derived for each record, see `RecordLayout`: faster where the processor has
  /// instructions for AES, and not available elsewhere.
  case aes256GCM = 2

  /// For options, `status` and messages.
  package var name: String {
    switch self {
    case .xchacha20Poly1305: "xchacha20-poly1305"
    case .aes256GCM: "aes-256-gcm"
    }
  }

  package init?(name: String) {
    guard let kind = CipherKind.allCases.first(where: { $0.name == name }) else { return nil }
    self = kind
  }
}
