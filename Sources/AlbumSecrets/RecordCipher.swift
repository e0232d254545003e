package import AlbumFormat
package import AlbumModel

/// Seals and decrypts the records of one space. `RecordLayout` defines the layout, `AssociatedData` the
/// associated data. Immutable and thread-safe. It allocates nothing, and takes no lock except the short one
/// of the random pool.
///
/// Nonces are 192 random bits: a repetition is not to be expected before some 2^80 records.
package final class RecordCipher: Sendable {
  package let kind: CipherKind
  // One guarded page holds all keys; threads read it without a lock.
  private let keys: SecretBytes
  private static let keyByteCount = Sodium.keyByteCount

  private enum Place: Int, CaseIterable {
    case data = 0
    case journal = 1
    case checkpoint = 2
    case headerMasks = 3
    case tails = 4

    var purpose: SpaceKeys.Purpose {
      switch self {
      case .data: .data
      case .journal: .journal
      case .checkpoint: .checkpoint
      case .headerMasks: .headerMasks
      case .tails: .tails
      }
    }

    init(_ kind: RecordKind) {
      switch kind {
      case .data: self = .data
      case .journalHead, .frame, .seal, .fence: self = .journal
      case .checkpoint: self = .checkpoint
      }
    }
  }

  init(_ kind: CipherKind, master: borrowing SecretBytes) {
    precondition(kind.isAvailable)
    self.kind = kind
    keys = unsafe master.withUnsafeBytes { master in
      unsafe SecretBytes(count: Place.allCases.count * RecordCipher.keyByteCount) { memory in
        for place in Place.allCases {
          let start = place.rawValue * RecordCipher.keyByteCount
          unsafe Sodium.derive(
            into: UnsafeMutableRawBufferPointer(
              rebasing: memory[start..<start + RecordCipher.keyByteCount]),
            id: place.purpose.rawValue, context: SpaceKeys.Purpose.context,
            key: master.baseAddress!)
        }
      }
    }
  }

  /// Seals `plaintext` as the record at `offset` of `segment`. Writes exactly
  /// `RecordLayout.sealedByteCount(plaintext:)` bytes to `sealed`, which may be longer.
  ///
  /// The plaintext may lie at the place of its ciphertext, 32 bytes into `sealed`, or outside `sealed`;
  /// nowhere else.
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, kind: RecordKind, segment: SegmentName, offset: Int64,
    into sealed: UnsafeMutableRawBufferPointer
  ) {
    let count = plaintext.count
    precondition(count <= RecordLayout.maximumPlaintext && offset >= 0)
    precondition(sealed.count >= RecordLayout.sealedByteCount(plaintext: count))
    let nonce = sealed.baseAddress!
    let body = unsafe nonce + RecordLayout.ciphertextOffset
    unsafe RandomPool.take(
      UnsafeMutableRawBufferPointer(start: nonce, count: RecordLayout.nonceByteCount))
    let header = unsafe RecordHeader.encode(kind: kind, byteCount: count) ^ mask(nonce)
    unsafe (nonce + RecordLayout.nonceByteCount).storeBytes(
      of: header.littleEndian, as: UInt64.self)
    var associated = AssociatedData(
      kind: kind, segment: segment, offset: offset, byteCount: count)
    unsafe withKey(Place(kind)) { key in
      unsafe withUnsafeBytes(of: &associated) {
        switch self.kind {
        case .xchacha20Poly1305:
          unsafe Sodium.encrypt(
            plaintext, into: body, tag: body + count, associated: $0, nonce: nonce, key: key)
        case .aes256GCM:
          unsafe Sodium.encryptByAES(
            plaintext, into: body, tag: body + count, associated: $0, nonce: nonce, key: key)
        }
      }
    }
  }

  /// Kind and plaintext length of the record at the start of `sealed`, which needs at least
  /// `RecordLayout.ciphertextOffset` bytes; nil if no record of this space begins there. Only `open` proves
  /// the result: random bytes pass once in about 2^46.
  package func header(of sealed: UnsafeRawBufferPointer) -> (kind: RecordKind, byteCount: Int)? {
    precondition(sealed.count >= RecordLayout.ciphertextOffset)
    let nonce = sealed.baseAddress!
    let masked = unsafe (nonce + RecordLayout.nonceByteCount).loadUnaligned(as: UInt64.self)
    return unsafe RecordHeader.decode(UInt64(littleEndian: masked) ^ mask(nonce))
  }

  /// Decrypts the record at the start of `sealed`, which must be of `kind`, hold `byteCount` bytes, and lie
  /// at `offset` of `segment`. Ignores the masked header. Returns false if it is not that record, unchanged
  /// and in its place; `plaintext` then holds nothing useful.
  ///
  /// `plaintext` takes `byteCount` bytes. It may lie at the place of the ciphertext, 32 bytes into `sealed`,
  /// or outside `sealed`; nowhere else.
  package func open(
    _ sealed: UnsafeRawBufferPointer, kind: RecordKind, byteCount: Int, segment: SegmentName,
    offset: Int64, into plaintext: UnsafeMutableRawBufferPointer
  ) -> Bool {
    guard byteCount >= 0, byteCount <= RecordLayout.maximumPlaintext, offset >= 0,
      sealed.count >= RecordLayout.sealedByteCount(plaintext: byteCount)
    else { return false }
    precondition(plaintext.count >= byteCount)
    let nonce = sealed.baseAddress!
    let body = unsafe UnsafeRawBufferPointer(
      start: nonce + RecordLayout.ciphertextOffset, count: byteCount)
    let tag = unsafe nonce + RecordLayout.ciphertextOffset + byteCount
    var associated = AssociatedData(
      kind: kind, segment: segment, offset: offset, byteCount: byteCount)
    return unsafe withKey(Place(kind)) { key in
      unsafe withUnsafeBytes(of: &associated) {
        switch self.kind {
        case .xchacha20Poly1305:
          unsafe Sodium.decrypt(
            body, into: plaintext.baseAddress, tag: tag, associated: $0, nonce: nonce, key: key)
        case .aes256GCM:
          unsafe Sodium.decryptByAES(
            body, into: plaintext.baseAddress, tag: tag, associated: $0, nonce: nonce, key: key)
        }
      }
    }
  }

  // MARK: Tails

  /// Fills a buffer with the initial content of a segment from `offset` on, a multiple of the grid. This is
  /// the keystream of XChaCha20 under the sub-key of tails; its nonce is the segment's name (`high` and
  /// `low`, little-endian) and 8 zero bytes. Without the key it is random.
  package func fillTail(
    _ buffer: UnsafeMutableRawBufferPointer, of segment: SegmentName, from offset: Int
  ) {
    precondition(offset >= 0 && offset % RecordLayout.grid == 0)
    if buffer.count == 0 { return }
    var nonce = (segment.high.littleEndian, segment.low.littleEndian, UInt64(0))
    unsafe withUnsafeBytes(of: &nonce) { nonce in
      unsafe withKey(.tails) { key in
        unsafe Sodium.keystream(
          buffer, nonce: nonce.baseAddress!, key: key, block: UInt64(offset / 64))
      }
    }
  }

  /// True if a cell of the grid still has its initial content.
  package func isTail(_ cell: UnsafeRawBufferPointer, of segment: SegmentName, at offset: Int)
    -> Bool
  {
    precondition(cell.count == RecordLayout.grid)
    var isSame = false
    unsafe withUnsafeTemporaryAllocation(byteCount: RecordLayout.grid, alignment: 16) { tail in
      unsafe fillTail(tail, of: segment, from: offset)
      isSame = unsafe tail.elementsEqual(cell)
    }
    return isSame
  }

  private func mask(_ nonce: UnsafeRawPointer) -> UInt64 {
    unsafe withKey(.headerMasks) { unsafe Sodium.mask(nonce: nonce, key: $0) }
  }

  private func withKey<Result>(_ place: Place, _ body: (UnsafeRawPointer) -> Result) -> Result {
    unsafe keys.withUnsafeBytes {
      unsafe body($0.baseAddress! + place.rawValue * RecordCipher.keyByteCount)
    }
  }
}
