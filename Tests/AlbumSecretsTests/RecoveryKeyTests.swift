import AlbumFormat
import AlbumModel
import AlbumSecrets
import Testing

// A recovery key is read back from paper, however a person types it, and never wrongly.

@Suite struct RecoveryKeyTests {
  /// The recovery key of the master key 00…1f, computed in Python.
  private let fixed =
    "000G-40R4-0M30-E209-185G-R38E-1W81-24GK-2GAH-C5RR-34D1-P70X-3RFK-8TA4"

  @Test func `the recovery key of format 1 stays what it is`() throws {
    #expect(text(RecoveryKey.encode(fixedKeys())) == fixed)
    #expect(
      try name(fixed)
        == fixedKeys().name(of: .data, number: SegmentNumber(1), birth: SegmentBirth(1)))
  }

  @Test func `the recovery key contains the cipher`() throws {
    guard CipherKind.aes256GCM.isAvailable else { return }
    let fixed = "000G-40R4-0M30-E209-185G-R38E-1W81-24GK-2GAH-C5RR-34D1-P70X-3RFX-JVYH"
    let keys = fixedKeys(.aes256GCM)
    #expect(text(RecoveryKey.encode(keys)) == fixed)
    for keys in [keys, fixedKeys()] {
      var typed = Array(text(RecoveryKey.encode(keys)).utf8)
      #expect(try RecoveryKey.decode(SecretBytes(wiping: &typed)).cipher.kind == keys.cipher.kind)
    }
  }

  @Test func `any space's recovery key unlocks it`() throws {
    for turn in 0..<50 {
      let keys = SpaceKeys(
        cipher: turn % 2 == 0 && CipherKind.aes256GCM.isAvailable ? .aes256GCM : .xchacha20Poly1305)
      let typed = text(RecoveryKey.encode(keys))
      #expect(
        try name(typed) == keys.name(of: .data, number: SegmentNumber(1), birth: SegmentBirth(1)))
    }
  }

  @Test func `case, spaces, dashes and look-alike letters are forgiven`() throws {
    let expected = try name(fixed)
    let spellings = [
      fixed.lowercased(), fixed.replacing("-", with: ""), fixed.replacing("-", with: " "),
      fixed.replacing("0", with: "o").replacing("1", with: "l"),
      fixed.replacing("0", with: "O").replacing("1", with: "I"), "  \(fixed)\r\n",
      fixed.map { "\($0) " }.joined(),
    ]
    for spelling in spellings { #expect(try name(spelling) == expected) }
  }

  @Test func `one wrong character is noticed, wherever it is`() {
    for place in fixed.indices where fixed[place] != "-" {
      var typed = fixed
      typed.replaceSubrange(place...place, with: fixed[place] == "Z" ? "Y" : "Z")
      #expect(mistake(typed) == .checksum)
    }
  }

  @Test func `two swapped neighbours are noticed`() {
    let plain = Array(fixed.replacing("-", with: ""))
    for place in 1..<plain.count where plain[place] != plain[place - 1] {
      var typed = plain
      typed.swapAt(place, place - 1)
      #expect(mistake(String(typed)) == .checksum)
    }
  }

  @Test func `the message about a mistake does not contain the key`() {
    #expect(mistake("") == .length(0))
    #expect(mistake(String(fixed.dropLast())) == .length(55))
    #expect(mistake(fixed + "0") == .length(57))
    #expect(mistake(fixed.replacing("K", with: "U")) == .character(32))
    #expect(mistake("000G-é0R4") == .character(5))
  }

  private func text(_ secret: consuming SecretBytes) -> String {
    unsafe secret.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
  }

  private func name(_ typed: String) throws -> SegmentName {
    var bytes = Array(typed.utf8)
    return try RecoveryKey.decode(SecretBytes(wiping: &bytes))
      .name(of: .data, number: SegmentNumber(1), birth: SegmentBirth(1))
  }

  private func mistake(_ typed: String) -> RecoveryKey.Mistake? {
    var bytes = Array(typed.utf8)
    do throws(RecoveryKey.Mistake) {
      _ = try RecoveryKey.decode(SecretBytes(wiping: &bytes))
      return nil
    } catch {
      return error
    }
  }
}
