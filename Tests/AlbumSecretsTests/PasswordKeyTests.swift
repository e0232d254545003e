import AlbumFormat
import AlbumModel
import AlbumSecrets
import Testing

// A slot decrypts with its password and its lines of the conf, unchanged. Otherwise nobody can distinguish it
// from random bytes.

@Suite struct PasswordKeyTests {
  private let formatLine = "format 1 segment-size 4194304"
  private let derivation = KeyDerivation(
    number: 1, cost: KDFCost(operations: 1, memory: 8 << 10), salt: Array(0..<16))

  /// Made in Python with libsodium and hashlib, from the documentation alone.
  @Test func `a slot of format 1 decrypts in every version`() {
    let slot = bytes(
      "c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedff3a6070c2dde2cf81f1eb861ae8b0ab3d60fffda6863738008f5ce17ed8d6aefc023219de965deb140238678d84e838c8de289c928e08df5a7749ff366bca804dbe57e500d0841075200423e2ec5848c1e6d77f0b1d955fe76c5cec12a1bec9d53c610af79a943933d6967011efeab63af6c3387a32fb41aed6df16fc97518e91f5cfe79cb4028bf83f62d934d92478028d2fae89f244b28ed158719706a045af91eb69196f71d087d51e077f21a0b1f7e3456aac91388076154ca27dbc44ab56eb3fc067a7c935cfd64841eb28adbaa2a46a731dcb8af3405a19e83c66cfc404dee51fc8ee018da9439002c69a556255151c3cb3ace9f14ca441c7a3fb1dcd6bf68900c85a06a71086b5f383574d76ccf1ba0c08c3ff548483ce5c87381ed607033048bd36b572407bbdf6de5318059193d291b2beb880731968263e6fd71ddfc2c46d93878bb0ade6130c5efc92b7d31be8cb45eb5fce913c349410ae29e88d2eccfbbe64a7e9782c51b08bd2440cb50fc1705d64a47334a8b971e364bb3728a04af01dbaa5fe9cbf3f6016c0bade2af2f983387176113c95d1689711999da185d23e62a5d370d83d3f42c7b7b3d6bfb154e020c3ca6b90479a79a8bf1031ec4f40fdca1e658550eb3140d4782c07bc1d9195e32c007205c80ee4ed609b1393bb4153816dbb537"
    )
    let content = opened(key("correct horse").unwrap(slot[...]))
    #expect(content?.header == KeySlot.Content())
    #expect(
      content?.spaceKeys().name(
        of: .journal, number: SegmentNumber(7), birth: SegmentBirth(0x0102_0304_0506)
      ).text == "d2611a865b5d8d14fa98a0844155b3d2")
  }

  @Test func `unwrapping restores everything, feature words included`() {
    var header = KeySlot.Content()
    header.mayIgnore = 77
    header.mayWrite = 1
    let content = SlotContent(SpaceKeys(), header: header)
    let password = key("correct horse")
    let found = opened(password.unwrap(password.wrap(content)[...]))
    #expect(found?.isEqual(to: content) == true)
    #expect(found?.header == header)
    #expect(found?.spaceKeys().isWritable == false)
  }

  @Test func `other passwords do not decrypt it`() {
    let slot = key("correct horse").wrap(SlotContent(SpaceKeys()))
    for password in ["", "correct hors", "Correct horse", "correct horse\n", "correct horse\0"] {
      #expect(isNotThis(key(password).unwrap(slot[...])))
    }
  }

  @Test func `a change of any bit makes it nobody's`() {
    let password = key("correct horse")
    let slot = password.wrap(SlotContent(SpaceKeys()))
    for place in slot.indices {
      var changed = slot
      changed[place] ^= 1 << Int.random(in: 0..<8)
      #expect(isNotThis(password.unwrap(changed[...])), "byte \(place)")
    }
  }

  @Test func `an edit of the conf that leaves the password's hash as it is is noticed`() {
    let slot = key("correct horse").wrap(SlotContent(SpaceKeys()))
    let others = [
      key("correct horse", formatLine: "format 1 segment-size 8388608"),
      key(
        "correct horse",
        derivation: KeyDerivation(number: 2, cost: derivation.cost, salt: derivation.salt)),
      // Argon2id counts memory in KiB: the hash is the same, the line is not.
      key(
        "correct horse",
        derivation: KeyDerivation(
          number: 1, cost: KDFCost(operations: 1, memory: 8193), salt: derivation.salt)),
    ]
    for other in others {
      guard case .sealedWithOtherLines = other.unwrap(slot[...]) else {
        Issue.record("an edited conf went unnoticed")
        continue
      }
    }
  }

  @Test func `another cost or salt is another password`() {
    let slot = key("correct horse").wrap(SlotContent(SpaceKeys()))
    var other = derivation
    other.salt[15] ^= 1
    #expect(isNotThis(key("correct horse", derivation: other).unwrap(slot[...])))
    other = derivation
    other.cost.operations = 2
    #expect(isNotThis(key("correct horse", derivation: other).unwrap(slot[...])))
  }

  @Test func `a password typed on a Mac unlocks a space from Linux, and the reverse`() {
    let content = SlotContent(SpaceKeys())
    let (mac, linux) = (key("Ka\u{308}fer"), key("K\u{E4}fer"))
    #expect(opened(mac.unwrap(linux.wrap(content)[...]))?.isEqual(to: content) == true)
    #expect(opened(linux.unwrap(mac.wrap(content)[...]))?.isEqual(to: content) == true)
    #expect(isNotThis(key("Kafer").unwrap(linux.wrap(content)[...])))
  }

  @Test func `a slot is its space's by the master key alone, whatever the password`() {
    let (keys, others) = (SpaceKeys(), SpaceKeys())
    for password in ["one", "two"] {
      let slot = key(password).wrap(SlotContent(keys))
      #expect(keys.isOwn(slot: slot[...]))
      #expect(!others.isOwn(slot: slot[...]))
    }
    for _ in 0..<1000 {
      let slot = (0..<KeySlot.byteCount).map { _ in UInt8.random(in: .min ... .max) }
      #expect(!keys.isOwn(slot: slot[...]))
    }
  }

  /// Computed in Python with hashlib, from the documentation alone.
  @Test func `a slot lists lines by their documented digests, and keeps all else`() {
    let line = KeyDerivation(
      number: 1, cost: .moderate, salt: (0..<16).map { UInt8($0 * 0x11) })
    #expect(
      line.digest
        == bytes("903e74614fe8eb3c1415aa6270de4973546b6db23af67abbbcf75dfdfb4e43b5"))
    var header = KeySlot.Content()
    header.mayIgnore = 77
    let content = SlotContent(fixedKeys(), header: header)
    let vouching = content.vouching(for: [line, derivation])
    #expect(vouching.header.trustedLines.contains(line.digest))
    #expect(vouching.header.trustedLines.contains(derivation.digest))
    #expect(vouching.header.mayIgnore == 77)
    #expect(vouching.vouching(for: []).isEqual(to: content))
  }

  /// Chi-square over all bytes of many slots of the same space and password: 255 degrees of freedom, mean
  /// 255, deviation 22.6. Chance does not exceed 450.
  @Test func `slots in use look random, in every byte`() {
    let password = key("correct horse")
    let content = SlotContent(fixedKeys())
    var counts = [Double](repeating: 0, count: 256)
    var seen = [Set<UInt8>](repeating: [], count: KeySlot.byteCount)
    for _ in 0..<300 {
      for (place, byte) in password.wrap(content).enumerated() {
        counts[Int(byte)] += 1
        seen[place].insert(byte)
      }
    }
    let expected = Double(300 * KeySlot.byteCount) / 256
    let chiSquare = counts.reduce(0) { $0 + ($1 - expected) * ($1 - expected) / expected }
    #expect(chiSquare < 450)
    #expect(seen.allSatisfy { $0.count > 120 })
  }

  private func key(
    _ password: String, derivation: KeyDerivation? = nil, formatLine: String? = nil
  ) -> PasswordKey {
    var text = Array(password.utf8)
    return PasswordKey(
      password: SecretBytes(wiping: &text), derivation: derivation ?? self.derivation,
      formatLine: formatLine ?? self.formatLine)!
  }

  private func opened(_ outcome: PasswordKey.Outcome) -> SlotContent? {
    if case .decrypted(let content) = outcome { content } else { nil }
  }

  private func isNotThis(_ outcome: PasswordKey.Outcome) -> Bool {
    if case .notThis = outcome { true } else { false }
  }
}
