import UnicodeForms

/// Brings passwords into one spelling, so that the same password unlocks the same slot wherever it is typed:
/// a Mac sends `ü` as `u` and a combining diaeresis, Linux as one character.
///
/// Argon2id gets normal form C (Unicode Standard Annex #15). Bytes that are not UTF-8 stay as they are.
/// Unicode never changes the normal form of assigned characters; a character that is newer than the library
/// stays as it is.
package enum PasswordText {
  /// The password in normal form C, in guarded memory like the password itself.
  package static func normalized(_ password: borrowing SecretBytes) -> SecretBytes {
    let points = unsafe password.withUnsafeBytes { unsafe UnicodeForms.decomposedLength($0) }
    if points <= 0 { return password.copy() }
    var length = -1
    let capacity = points + 1
    let room = unsafe SecretBytes(count: capacity * MemoryLayout<Int32>.size) { room in
      length = unsafe password.withUnsafeBytes {
        unsafe UnicodeForms.compose($0, into: room, capacity: capacity)
      }
    }
    if length <= 0 { return password.copy() }
    return unsafe room.withUnsafeBytes {
      unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<length]))
    }
  }
}
