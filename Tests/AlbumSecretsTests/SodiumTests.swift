import AlbumSecrets
import Testing

// Compares each primitive with published vectors, so that arguments of libsodium cannot be swapped.

@Suite struct SodiumTests {
  /// draft-irtf-cfrg-xchacha-03, A.3.1.
  private let plaintext = Array(
    """
    Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, \
    sunscreen would be it.
    """.utf8)
  private let associated = bytes("50515253c0c1c2c3c4c5c6c7")
  private let key = Array(UInt8(0x80)...0x9f)
  private let nonce = Array(UInt8(0x40)...0x57)
  private let ciphertext = bytes(
    "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e"
      + "39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565"
      + "d3fff921f9664c97637da9768812f615c68b13b52e")
  private let tag = bytes("c0875924c1c7987947deafd8780acf49")

  @Test func `XChaCha20-Poly1305 seals as the draft says`() {
    var sealed = [UInt8](repeating: 0, count: plaintext.count)
    var sealedTag = [UInt8](repeating: 0, count: 16)
    unsafe plaintext.withUnsafeBytes { plain in
      unsafe sealed.withUnsafeMutableBytes { out in
        unsafe sealedTag.withUnsafeMutableBytes { tag in
          unsafe associated.withUnsafeBytes { associated in
            unsafe Sodium.encrypt(
              plain, into: out.baseAddress!, tag: tag.baseAddress!, associated: associated,
              nonce: nonce, key: key)
          }
        }
      }
    }
    #expect(sealed == ciphertext)
    #expect(sealedTag == tag)
  }

  @Test func `XChaCha20-Poly1305 decrypts what the draft sealed, and nothing else`() {
    #expect(open(tag) == plaintext)
    var wrong = tag
    wrong[15] ^= 1
    #expect(open(wrong) == nil)
  }

  private func open(_ tag: [UInt8]) -> [UInt8]? {
    var opened = [UInt8](repeating: 0, count: ciphertext.count)
    let fits = unsafe ciphertext.withUnsafeBytes { sealed in
      unsafe opened.withUnsafeMutableBytes { out in
        unsafe associated.withUnsafeBytes { associated in
          unsafe Sodium.decrypt(
            sealed, into: out.baseAddress!, tag: tag, associated: associated, nonce: nonce,
            key: key)
        }
      }
    }
    return fits ? opened : nil
  }

  /// The first line of libsodium's own test `pwhash_argon2id`. RFC 9106's vectors need inputs that
  /// crypto_pwhash does not have.
  @Test func `Argon2id gives what libsodium published`() {
    let password = bytes(
      "a347ae92bce9f80f6f595a4480fc9c2fe7e7d7148d371e9487d75f5c23008ffae065577a928febd9b1973a5a9507"
        + "3acdbeb6a030cfc0d79caa2dc5cd011cef02c08da232d76d52dfbca38ca8dcbd665b17d1665f7cf5fe59772ec9"
        + "09733b24de97d6f58d220b20c60d7c07ec1fd93c52c31020300c6c1facd77937a597c7a6")
    let salt = bytes("5541fbc995d5c197ba290346d2c559de")
    var hash = [UInt8](repeating: 0, count: 155)
    let done = unsafe password.withUnsafeBytes { password in
      unsafe salt.withUnsafeBytes { salt in
        unsafe hash.withUnsafeMutableBytes { hash in
          unsafe Sodium.passwordHash(
            password, salt: salt, operations: 5, memory: 7_256_678, into: hash)
        }
      }
    }
    #expect(done)
    #expect(
      hash
        == bytes(
          "18acec5d6507739f203d1f5d9f1d862f7c2cdac4f19d2bdff64487e60d969e3ced615337b9eec6ac4461c6ca07f0"
            + "939741e57c24d0005c7ea171a0ee1e7348249d135b38f222e4dad7b9a033ed83f5ca27277393e316582033c74a"
            + "ffe2566a2bea47f91f0fd9fe49ece7e1f79f3ad6e9b23e0277c8ecc4b313225748dd2a80f5679534a0700e246a"
            + "79a49b3f74eb89ec6205fe1eeb941c73b1fcf1"))
  }

  /// BLAKE2's official test vectors: key 00…3f, no message and the message 00.
  @Test func `BLAKE2b with a key gives what its authors published`() {
    #expect(
      keyedHash([])
        == bytes(
          "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786b5e996e8f0f4eb981fc214b005f42d"
            + "2ff4233499391653df7aefcbc13fc51568"))
    #expect(
      keyedHash([0])
        == bytes(
          "961f6dd1e4dd30f63901690c512e78e4b45e4742ed197c3c5e45c549fd25f2e4187b0bc9fe30492b16b0d0bc4ef9b0"
            + "f34c7003fac09a5ef1532e69430234cebd"))
  }

  private func keyedHash(_ message: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 64)
    let key = Array(UInt8(0)...63)
    unsafe message.withUnsafeBytes { message in
      unsafe hash.withUnsafeMutableBytes { hash in
        unsafe key.withUnsafeBytes { unsafe Sodium.keyedHash(message, into: hash, key: $0) }
      }
    }
    return hash
  }

  /// libsodium's own test `kdf`, first line.
  @Test func `sub-keys are derived as crypto_kdf documents`() {
    var subkey = [UInt8](repeating: 0, count: 64)
    unsafe subkey.withUnsafeMutableBytes {
      unsafe Sodium.derive(into: $0, id: 0, context: "KDF test", key: Array(UInt8(0)...31))
    }
    #expect(
      subkey
        == bytes(
          "a0c724404728c8bb95e5433eb6a9716171144d61efb23e74b873fcbeda51d807"
            + "1b5d70aae12066dfc94ce943f145aa176c055040c3dd73b0a15e36254d450614"))
  }

  /// RFC 8439's predecessor, draft-agl-tls-chacha20poly1305-04, section 7: key and nonce of zeros.
  @Test func `ChaCha20's keystream is the published one`() {
    var stream = [UInt8](repeating: 1, count: 64)
    unsafe stream.withUnsafeMutableBytes {
      unsafe Sodium.keystream($0, key: [UInt8](repeating: 0, count: 32))
    }
    #expect(
      stream
        == bytes(
          "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            + "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"))
  }

  /// libsodium's own test `xchacha20`, first vector.
  @Test func `XChaCha20's keystream is the published one`() {
    let mask = unsafe Sodium.mask(
      nonce: bytes("b33ffd3096479bcfbc9aee49417688a0a2554f8d95389419"),
      key: bytes("79c99798ac67300bbb2704c95c341e3245f3dcb21761b98e52ff45b24f304fc4"))
    #expect(mask == 0xc63a_0860_8175_e9c6)
  }
}
