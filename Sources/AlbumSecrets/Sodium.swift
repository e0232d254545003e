internal import CSodium

// The only file that calls libsodium: one function per call, with sizes checked here. It takes pointers
// because the hot path works in place in buffers that Swift does not own.

package enum Sodium {
  static let keyByteCount = 32

  /// Initialises libsodium once. Every function that a process may call first reads it.
  static let isReady: Bool = {
    precondition(sodium_init() >= 0, "libsodium cannot start: no source of random bytes")
    precondition(crypto_kdf_keybytes() == keyByteCount && crypto_kdf_contextbytes() == 8)
    return true
  }()

  // MARK: Memory

  /// sodium_malloc(3): memory between guard pages, locked, not in core dumps. Ends the process if there is no
  /// memory, because keys must not lie anywhere else.
  package static func allocate(_ count: Int) -> UnsafeMutableRawBufferPointer {
    precondition(isReady)
    guard let memory = unsafe sodium_malloc(count) else {
      preconditionFailure("no memory for a key")
    }
    return unsafe UnsafeMutableRawBufferPointer(start: memory, count: count)
  }

  /// sodium_free(3), which also wipes.
  static func free(_ memory: UnsafeMutableRawBufferPointer) {
    unsafe sodium_free(memory.baseAddress)
  }

  package static func wipe(_ memory: UnsafeMutableRawBufferPointer) {
    guard let start = memory.baseAddress else { return }
    unsafe sodium_memzero(start, memory.count)
  }

  /// Compares in a time that depends only on the lengths.
  static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer)
    -> Bool
  {
    guard one.count == other.count else { return false }
    guard let a = one.baseAddress, let b = other.baseAddress else { return true }
    return unsafe sodium_memcmp(a, b, one.count) == 0
  }

  // MARK: Random bytes

  /// randombytes_buf(3): one system call for about each 256 bytes.
  package static func random(_ buffer: UnsafeMutableRawBufferPointer) {
    precondition(isReady)
    unsafe randombytes_buf(buffer.baseAddress!, buffer.count)
  }

  /// The keystream of ChaCha20 under a key that serves only this call.
  package static func keystream(_ buffer: UnsafeMutableRawBufferPointer, key: UnsafeRawPointer) {
    var nonce: UInt64 = 0
    unsafe withUnsafeBytes(of: &nonce) { nonce in
      unsafe _ = crypto_stream_chacha20(
        bytes(buffer), UInt64(buffer.count), bytes(nonce.baseAddress!), bytes(key))
    }
  }

  /// The keystream of XChaCha20, starting at a block of 64 bytes.
  static func keystream(
    _ buffer: UnsafeMutableRawBufferPointer, nonce: UnsafeRawPointer, key: UnsafeRawPointer,
    block: UInt64
  ) {
    unsafe buffer.initializeMemory(as: UInt8.self, repeating: 0)
    unsafe _ = crypto_stream_xchacha20_xor_ic(
      bytes(buffer), bytes(UnsafeRawPointer(buffer.baseAddress!)), UInt64(buffer.count),
      bytes(nonce), block, bytes(key))
  }

  /// The first 8 bytes of XChaCha20's keystream.
  package static func mask(nonce: UnsafeRawPointer, key: UnsafeRawPointer) -> UInt64 {
    var mask: UInt64 = 0
    unsafe withUnsafeMutableBytes(of: &mask) {
      unsafe _ = crypto_stream_xchacha20(bytes($0), 8, bytes(nonce), bytes(key))
    }
    return UInt64(littleEndian: mask)
  }

  // MARK: AEAD

  /// XChaCha20-Poly1305 (IETF). `ciphertext` takes as many bytes as `plaintext` has, and may be the same
  /// memory.
  package static func encrypt(
    _ plaintext: UnsafeRawBufferPointer, into ciphertext: UnsafeMutableRawPointer,
    tag: UnsafeMutableRawPointer, associated: UnsafeRawBufferPointer, nonce: UnsafeRawPointer,
    key: UnsafeRawPointer
  ) {
    var empty: UInt8 = 0
    unsafe withUnsafeBytes(of: &empty) { none in
      unsafe _ = crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
        bytes(ciphertext), bytes(tag), nil, bytes(plaintext.baseAddress ?? none.baseAddress!),
        UInt64(plaintext.count), bytes(associated.baseAddress!), UInt64(associated.count), nil,
        bytes(nonce), bytes(key))
    }
  }

  /// The twin of `encrypt`. Returns false, and writes nothing useful, if the tag does not match.
  package static func decrypt(
    _ ciphertext: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawPointer?,
    tag: UnsafeRawPointer, associated: UnsafeRawBufferPointer, nonce: UnsafeRawPointer,
    key: UnsafeRawPointer
  ) -> Bool {
    unsafe crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
      plaintext.map { unsafe bytes($0) }, nil, bytes(ciphertext.baseAddress!),
      UInt64(ciphertext.count), bytes(tag), bytes(associated.baseAddress!),
      UInt64(associated.count), bytes(nonce), bytes(key)) == 0
  }

  /// True if the processor has instructions for AES and libsodium uses them.
  static let hasAES: Bool = isReady && crypto_aead_aes256gcm_is_available() == 1

  /// AES-256-GCM with a key and nonce that HChaCha20 extends to 24 bytes of nonce, see `RecordLayout`; only
  /// where `hasAES`. `ciphertext` takes as many bytes as `plaintext` has, and may be the same memory.
  static func encryptByAES(
    _ plaintext: UnsafeRawBufferPointer, into ciphertext: UnsafeMutableRawPointer,
    tag: UnsafeMutableRawPointer, associated: UnsafeRawBufferPointer, nonce: UnsafeRawPointer,
    key: UnsafeRawPointer
  ) {
    var empty: UInt8 = 0
    unsafe withUnsafeBytes(of: &empty) { none in
      unsafe albumfs_aes256gcm_encrypt(
        ciphertext, tag, plaintext.baseAddress ?? none.baseAddress!, UInt64(plaintext.count),
        associated.baseAddress!, UInt64(associated.count), nonce, key)
    }
  }

  /// The twin of `encryptByAES`. Returns false, and writes nothing useful, if the tag does not match.
  static func decryptByAES(
    _ ciphertext: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawPointer?,
    tag: UnsafeRawPointer, associated: UnsafeRawBufferPointer, nonce: UnsafeRawPointer,
    key: UnsafeRawPointer
  ) -> Bool {
    unsafe albumfs_aes256gcm_decrypt(
      plaintext, ciphertext.baseAddress!, UInt64(ciphertext.count), tag, associated.baseAddress!,
      UInt64(associated.count), nonce, key) == 0
  }

  // MARK: Derivation

  /// crypto_kdf_derive_from_key(3).
  package static func derive(
    into subkey: UnsafeMutableRawBufferPointer, id: UInt64, context: StaticString,
    key: UnsafeRawPointer
  ) {
    precondition(isReady && context.utf8CodeUnitCount == 8)
    context.withUTF8Buffer { name in
      unsafe name.withMemoryRebound(to: CChar.self) { name in
        unsafe _ = crypto_kdf_derive_from_key(
          bytes(subkey), subkey.count, id, name.baseAddress!, bytes(key))
      }
    }
  }

  /// Keyed BLAKE2b of `message`, as long as `hash`.
  package static func keyedHash(
    _ message: UnsafeRawBufferPointer, into hash: UnsafeMutableRawBufferPointer,
    key: UnsafeRawBufferPointer
  ) {
    unsafe _ = albumfs_generichash(
      hash.baseAddress, hash.count, message.baseAddress, message.count, key.baseAddress, key.count)
  }

  /// The first 8 bytes, little-endian, of keyed BLAKE2b-128 over two little-endian words. A mount calls it
  /// four times for each segment of the store.
  static func keyedHash(_ one: UInt64, _ other: UInt64, key: UnsafeRawBufferPointer) -> UInt64 {
    var message = (one.littleEndian, other.littleEndian)
    var hash: (UInt64, UInt64) = (0, 0)
    unsafe _ = albumfs_generichash(
      &hash, MemoryLayout.size(ofValue: hash), &message, MemoryLayout.size(ofValue: message),
      key.baseAddress, key.count)
    return UInt64(littleEndian: hash.0)
  }

  /// crypto_pwhash(3), Argon2id. Returns false if there is not enough memory.
  package static func passwordHash(
    _ password: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, operations: UInt64,
    memory: Int, into hash: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(isReady && salt.count == Int(crypto_pwhash_saltbytes()))
    var empty: CChar = 0
    return unsafe withUnsafePointer(to: &empty) { none in
      unsafe crypto_pwhash(
        bytes(hash), UInt64(hash.count),
        password.baseAddress?.assumingMemoryBound(to: CChar.self) ?? none, UInt64(password.count),
        bytes(salt.baseAddress!), operations, memory, crypto_pwhash_alg_argon2id13()) == 0
    }
  }

  // MARK: SHA-256

  /// crypto_hash_sha256(3): SHA-256 (FIPS 180-4).
  fileprivate static func sha256(_ message: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
    unsafe _ = crypto_hash_sha256(&hash, message, UInt64(message.count))
    return hash
  }

  /// crypto_auth_hmacsha256(3), with a key of any length: HMAC-SHA-256 (RFC 2104).
  fileprivate static func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var state = crypto_auth_hmacsha256_state()
    var hash = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_bytes()))
    unsafe _ = crypto_auth_hmacsha256_init(&state, key, key.count)
    unsafe _ = crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
    unsafe _ = crypto_auth_hmacsha256_final(&state, &hash)
    unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
    return hash
  }

  // MARK: Pointers

  private static func bytes(_ pointer: UnsafeRawPointer) -> UnsafePointer<UInt8> {
    unsafe pointer.assumingMemoryBound(to: UInt8.self)
  }

  private static func bytes(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt8> {
    unsafe pointer.assumingMemoryBound(to: UInt8.self)
  }

  private static func bytes(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutablePointer<UInt8>
  {
    unsafe buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
  }
}

/// BLAKE2b without a key, for the hash chain of the journal's frames.
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

/// SHA-256, which other programs and servers speak. Nothing in the format of a store uses it.
package enum SHA256 {
  package static let byteCount = 32

  package static func hash(_ message: [UInt8]) -> [UInt8] { Sodium.sha256(message) }

  package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    Sodium.hmacSHA256(message, key: key)
  }
}
