import AlbumSecrets
import Testing

// The same password unlocks the same slot wherever it is typed, and no copy of it stays in memory that other
// code may get.

@Suite struct PasswordTextTests {
  /// From NormalizationTest.txt of Unicode, columns 1 to 3: source, form C, form D.
  @Test(arguments: [
    ("1E0A", "1E0A", "0044 0307"), ("1E0C 0307", "1E0C 0307", "0044 0323 0307"),
    ("0044 0307 0323", "1E0C 0307", "0044 0323 0307"), ("212B", "00C5", "0041 030A"),
    ("AC00", "AC00", "1100 1161"), ("0344", "0308 0301", "0308 0301"),
    ("1100 AC00 11A8", "1100 AC01", "1100 1100 1161 11A8"), ("FB01", "FB01", "FB01"),
    ("0958", "0915 093C", "0915 093C"), ("1D15E", "1D157 1D165", "1D157 1D165"),
  ])
  func `form C is that of Unicode, from every form`(source: String, composed: String, apart: String)
  {
    for spelling in [source, composed, apart] {
      #expect(normalized(utf8(spelling)) == utf8(composed), "\(spelling)")
    }
  }

  @Test func `a password of a Mac is the same on Linux`() {
    let mac = Array("scho\u{308}ner Ka\u{308}fer".utf8)
    let linux = Array("sch\u{F6}ner K\u{E4}fer".utf8)
    #expect(mac != linux)
    #expect(normalized(mac) == normalized(linux))
    #expect(normalized(linux) == linux)
  }

  @Test func `bytes that are not UTF-8 stay as they are`() {
    for bytes in [
      [0xFF], [0x61, 0xCC], [0xC3, 0x28], [0xED, 0xA0, 0x80], [0xC0, 0x80],
      Array("u\u{308}".utf8) + [0xFE], [0xF5, 0x80, 0x80, 0x80],
    ] as [[UInt8]] {
      #expect(normalized(bytes) == bytes)
    }
  }

  @Test func `ASCII, control characters and zeros stay as they are`() {
    for bytes in [[], [0], Array("correct horse\t\r\u{1B}".utf8), [0x61, 0, 0x62], [0x7F]] {
      #expect(normalized(bytes) == bytes)
    }
  }

  @Test func `long passwords and all characters go through, once and again`() {
    var all: [UInt8] = []
    for value in stride(from: 0x20, to: 0x2FA20, by: 7) {
      guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
      all += Array(String(Character(scalar)).utf8)
      if all.count < 4000 { continue }
      let once = normalized(all)
      #expect(normalized(once) == once)
      // Swift compares strings by canonical equivalence.
      #expect(String(decoding: once, as: UTF8.self) == String(decoding: all, as: UTF8.self))
      all = []
    }
    // Each character has three code points in form D, the most for its number of bytes.
    let widest = Array(String(repeating: "\u{1D160}", count: 1024).utf8)
    #expect(normalized(widest).count == 3 * widest.count)
  }

  private func normalized(_ bytes: [UInt8]) -> [UInt8] {
    var copy = bytes
    let text = PasswordText.normalized(SecretBytes(wiping: &copy))
    return unsafe text.withUnsafeBytes { unsafe Array($0) }
  }

  private func utf8(_ points: String) -> [UInt8] {
    let scalars = points.split(separator: " ").map { Unicode.Scalar(UInt32($0, radix: 16)!)! }
    return scalars.flatMap { Array(String(Character($0)).utf8) }
  }
}

/// Passwords that are easy to guess are reported as weak, and no others.
@Suite struct PasswordStrengthTests {
  @Test(arguments: [
    "", "a", "1234", "password", "P4ssw0rd!", "correct", "qwertyuiop", "sesame", "12.05.1987",
    "aaaaaaaaaaaaaaaa", "iloveyou2", "trustno1",
  ])
  func `is weak`(password: String) { #expect(isWeak(Array(password.utf8))) }

  @Test(arguments: [
    "correct horse battery staple wagon", "t7#Kq9!zWm2x", "vlohnkbqyvjvtzfgqlwd",
    "Der Hund lief 17 mal um den alten Kirchturm",
    "\u{4F60}\u{597D}\u{4E16}\u{754C}\u{6771}\u{4EAC}",
  ])
  func `is not weak`(password: String) { #expect(!isWeak(Array(password.utf8))) }

  @Test func `any bytes and any length are estimated, soon`() {
    for bytes in [
      [UInt8](repeating: 0xFF, count: 4096), Array(repeating: 0, count: 100),
      (0..<4096).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 / 97) },
      Array(String(repeating: "password1", count: 400).utf8),
    ] {
      var copy = bytes
      let estimate = PasswordStrength.bits(of: SecretBytes(wiping: &copy))
      #expect(estimate != nil)
    }
  }

  private func isWeak(_ password: [UInt8]) -> Bool {
    var bytes = password
    return PasswordStrength.isWeak(SecretBytes(wiping: &bytes))
  }
}
