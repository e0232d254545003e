/// The Argon2id lines that a slot vouches for: those that its owner's albumfs wrote or accepted. In
/// the slot's plaintext, bytes 64..<192:
///
/// | bytes | what |
/// |---|---|
/// | 0..<32 | BLAKE2b-256 of an Argon2id line of the conf with its line feed; zero: no entry |
/// | 32..<64, 64..<96, 96..<128 | the same, for further lines |
///
/// The line that the slot was sealed by is vouched for in any case: it is associated data. Slots
/// whose entries are all zero vouch for that one alone. A line that nobody vouches for is tried with
/// passwords, but seals nothing.
package struct TrustedLines: Equatable, Sendable {
  package static let range = 64..<192
  package static let digestByteCount = 32
  package static let maximumCount = StoreConfiguration.maximumDerivations

  /// 32 bytes each, none of them all zero.
  package private(set) var digests: [[UInt8]] = []

  package init() {}

  /// Keeps the first four; a digest that is there already is left out.
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

  /// The twin of `encode`: any 128 bytes name some lines or none.
  package init(decoding bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == TrustedLines.range.count)
    for place in 0..<TrustedLines.maximumCount {
      let start = place * TrustedLines.digestByteCount
      add(unsafe Array(bytes[start..<start + TrustedLines.digestByteCount]))
    }
  }
}
