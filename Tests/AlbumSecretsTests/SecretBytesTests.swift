import AlbumSecrets
import Testing

@Suite struct SecretBytesTests {
  @Test func `a secret keeps its bytes`() {
    let secret = unsafe SecretBytes(count: 5) { unsafe $0.copyBytes(from: [1, 2, 3, 4, 5]) }
    let content = unsafe secret.withUnsafeBytes { unsafe Array($0) }
    #expect(content == [1, 2, 3, 4, 5])
  }

  @Test func `taking over an array leaves nothing in it`() {
    var bytes: [UInt8] = [1, 2, 3]
    let secret = SecretBytes(wiping: &bytes)
    #expect(bytes.isEmpty)
    let content = unsafe secret.withUnsafeBytes { unsafe Array($0) }
    #expect(content == [1, 2, 3])
  }

  @Test func `an empty secret is a secret`() {
    var none: [UInt8] = []
    let secret = SecretBytes(wiping: &none)
    let (isEmpty, isEqual) = (secret.isEmpty, secret.isEqual(to: secret.copy()))
    #expect(isEmpty && isEqual)
  }

  @Test func `two are equal when all bytes are`() {
    let one = SecretBytes(randomCount: 32)
    var other = one.copy()
    let before = one.isEqual(to: other)
    #expect(before)
    unsafe other.withUnsafeMutableBytes { unsafe $0[31] ^= 1 }
    let after = one.isEqual(to: other)
    #expect(!after)
    let shorter = one.isEqual(to: SecretBytes(randomCount: 31))
    #expect(!shorter)
  }

  @Test func `random secrets differ`() {
    let equal = SecretBytes(randomCount: 32).isEqual(to: SecretBytes(randomCount: 32))
    #expect(!equal)
  }
}
