/// The Argon2id lines that a slot trusts: those that its owner's albumfs wrote or accepted. In the slot's
/// plaintext, bytes 64..<192:
///
/// | bytes | what |
/// |---|---|
/// | 0..<32 | BLAKE2b-256 of an Argon2id line of the conf with its line feed; zero: no entry |
/// | 32..<64, 64..<96, 96..<128 | the same, for further lines |
///
/// A slot always trusts the line that sealed it, which is in its associated data. A slot whose entries are
/// all zero trusts that line alone. albumfs tries passwords with an untrusted line, but never seals with it.
package struct TrustedLines: Equatable, Sendable {
  package static let range = 64..<192
  static let digestByteCount = 32
  package static let maximumCount = StoreConfiguration.maximumDerivations

  /// Digests of 32 bytes, none of them all zero.
  package private(set) var digests: [[UInt8]] = []

  package init() {}

  /// Keeps the first four and drops duplicates.
  package init(_ digests: [[UInt8]]) {
    for digest in digests { add(digest) }
  }

  package func contains(_ digest: [UInt8]) -> Bool { digests.contains(digest) }

  private mutating func add(_ digest: [UInt8]) {
    precondition(digest.count == TrustedLines.digestByteCount)
    if digests.count == TrustedLines.maximumCount || digests.contains(digest) { return }
    if digest.allSatisfy({ $0 == 0 }) { return }
    digests.append(digest)
  }

  package func encode(into bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count == TrustedLines.range.count)
    unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
    for (place, digest) in digests.enumerated() {
      let start = place * TrustedLines.digestByteCount
      for (offset, byte) in digest.enumerated() { unsafe bytes[start + offset] = byte }
    }
  }

  /// The twin of `encode`. Any 128 bytes decode to some lines or none.
  package init(decoding bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == TrustedLines.range.count)
    for place in 0..<TrustedLines.maximumCount {
      let start = place * TrustedLines.digestByteCount
      add(unsafe Array(bytes[start..<start + TrustedLines.digestByteCount]))
    }
  }
}
