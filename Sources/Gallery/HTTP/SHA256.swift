import CCrypto

/// SHA-256 of bytes as they come (OpenSSL's libcrypto). For one thread.
@safe
struct SHA256: ~Copyable {
  private let context: OpaquePointer

  /// libcrypto's calls fail only where it has no memory or was built without SHA-256.
  init() {
    guard let made = unsafe EVP_MD_CTX_new(), unsafe EVP_DigestInit(made, EVP_sha256()) == 1 else {
      fatalError("libcrypto has no SHA-256.")
    }
    unsafe context = made
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  mutating func update(_ bytes: [UInt8]) {
    let result = unsafe EVP_DigestUpdate(context, bytes, bytes.count)
    precondition(result == 1, "libcrypto cannot go on")
  }

  consuming func finish() -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    let result = unsafe EVP_DigestFinal_ex(context, &hash, nil)
    precondition(result == 1, "libcrypto cannot end")
    return hash
  }

  static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    hash.update(bytes)
    return hash.finish()
  }

  /// HMAC with SHA-256 (RFC 2104).
  static func code(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    let made = unsafe HMAC(
      EVP_sha256(), key, CInt(key.count), bytes, bytes.count, &code, nil)
    precondition(unsafe made != nil, "libcrypto has no HMAC")
    return code
  }
}
