/// BLAKE2b without a key, for the journal's chain of frames.
package enum Digest {
  package static let byteCount = 32

  /// BLAKE2b-256 (RFC 7693).
  package static func blake2b(_ message: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: byteCount)
    unsafe message.withUnsafeBytes { message in
      unsafe hash.withUnsafeMutableBytes { hash in
        unsafe Sodium.keyedHash(
          message, into: hash, key: UnsafeRawBufferPointer(rebasing: message[..<0]))
      }
    }
    return hash
  }
}
