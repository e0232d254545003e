internal import AlbumFormat

/// A password that nobody types: a FIDO2 security key and a store make it together.
///
/// The key computes HMAC-SHA-256 of the salt below with a secret of its own (the extension hmac-secret), in
/// the variant for a verified user. The password is the 64 lower-case hexadecimal digits of the result. With
/// a typed password beside the key it is these digits, a line feed, which no typed password contains, and
/// the typed password. From there on it is a password like any other, so a slot does not show its kind.
package enum SecurityKeySecret {
  /// BLAKE2b-256 of `albumfs security key`, a line feed and the 16 bytes of salt in the first Argon2id line
  /// of the conf. Each store has another one, and no change of the conf removes that line.
  package static func salt(storeSalt: [UInt8]) -> [UInt8] {
    precondition(storeSalt.count == KeyDerivation.saltByteCount)
    return Digest.blake2b(Array("albumfs security key\n".utf8) + storeSalt)
  }

  /// The password of both: `digits` from the key, and a typed password.
  package static func password(
    _ digits: borrowing SecretBytes, and typed: borrowing SecretBytes
  ) -> SecretBytes {
    let start = digits.count + 1
    return unsafe SecretBytes(count: start + typed.count) { both in
      unsafe digits.withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: both[..<(start - 1)]).copyMemory(from: $0)
      }
      unsafe both[start - 1] = UInt8(ascii: "\n")
      unsafe typed.withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: both[start...]).copyMemory(from: $0)
      }
    }
  }
}
