import AlbumFormat
import AlbumModel
import AlbumSecrets
import Testing

// With each cipher, a record decrypts only at the place where it was sealed, as the kind that it was sealed
// as, and unchanged.

/// Keys of a space for each cipher that this machine has.
private let everyKeys = CipherKind.allCases.filter(\.isAvailable).map { SpaceKeys(cipher: $0) }

@Suite struct RecordCipherTests {
  private let segment = SegmentName(high: 0x0123_4567_89ab_cdef, low: 42)

  @Test(
    arguments: everyKeys,
    [0, 1, 31, 32, 160, 208, 209, 4096, 65_536, RecordLayout.maximumPlaintext])
  func `sealed records decrypt`(keys: SpaceKeys, count: Int) {
    let plaintext = random(count)
    let sealed = seal(plaintext, offset: 512, keys)
    #expect(sealed.count == count + RecordLayout.overhead)
    #expect(open(sealed, count: count, offset: 512, keys) == plaintext)
  }

  @Test(arguments: everyKeys, RecordKind.allCases)
  func `its header contains kind and length`(keys: SpaceKeys, kind: RecordKind) {
    for count in [0, 1, 255, 256, 65_600] {
      let sealed = seal(random(count), kind: kind, offset: 0, keys)
      let header = unsafe sealed.withUnsafeBytes { unsafe keys.cipher.header(of: $0) }
      #expect(header?.kind == kind)
      #expect(header?.byteCount == count)
    }
  }

  /// Sealed in Python, from the documentation alone: the first with libsodium, the second with an HChaCha20
  /// of its own and OpenSSL's AES-256-GCM.
  @Test(arguments: [
    (
      CipherKind.xchacha20Poly1305,
      "91d7a399660922a57eba95a69ed0c4463a1c2db83245ed2161b084973391575ad85b04ee0ae3"
    ),
    (
      CipherKind.aes256GCM,
      "90743ced058b5512a0bb74d3e5dfa42621a41517e55a5ce294e57509c53737cea15870d962c7"
    ),
  ])
  func `a record of format 1 decrypts in every version`(kind: CipherKind, ciphertext: String) {
    guard kind.isAvailable else { return }
    let keys = fixedKeys(kind)
    let sealed = bytes(
      "6465666768696a6b6c6d6e6f707172737475767778797a7b50cb04b705f41adb" + ciphertext)
    let name = keys.name(
      of: .journal, number: SegmentNumber(7), birth: SegmentBirth(0x0102_0304_0506))
    let header = unsafe sealed.withUnsafeBytes { unsafe keys.cipher.header(of: $0) }
    #expect(header?.kind == .frame)
    #expect(header?.byteCount == 22)
    var plaintext = [UInt8](repeating: 0, count: 22)
    let opens = unsafe sealed.withUnsafeBytes { sealed in
      unsafe plaintext.withUnsafeMutableBytes {
        unsafe keys.cipher.open(
          sealed, kind: .frame, byteCount: 22, segment: name, offset: 0x1200, into: $0)
      }
    }
    #expect(opens)
    #expect(plaintext == Array("a frame of the journal".utf8))
  }

  @Test(arguments: everyKeys) func `a change of any bit that matters is noticed`(keys: SpaceKeys) {
    let sealed = seal(random(100), offset: 256, keys)
    for place in sealed.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed[place] ^= 1 << bit
        let header = unsafe changed.withUnsafeBytes { unsafe keys.cipher.header(of: $0) }
        let opened = header.flatMap {
          open(changed, kind: $0.kind, count: $0.byteCount, offset: 256, keys)
        }
        #expect(opened == nil, "byte \(place), bit \(bit)")
      }
    }
  }

  @Test(arguments: everyKeys)
  func `a record decrypts nowhere else and as nothing else`(keys: SpaceKeys) {
    let plaintext = random(300)
    let sealed = seal(plaintext, offset: 1024, keys)
    #expect(open(sealed, count: 300, offset: 1024, keys) == plaintext)
    #expect(open(sealed, count: 300, offset: 1280, keys) == nil)
    #expect(open(sealed, count: 299, offset: 1024, keys) == nil)
    for kind in RecordKind.allCases where kind != .data {
      #expect(open(sealed, kind: kind, count: 300, offset: 1024, keys) == nil)
    }
    let others = [
      SegmentName(high: segment.high ^ 1, low: segment.low),
      SegmentName(high: segment.high, low: segment.low ^ 1),
      SegmentName(high: segment.low, low: segment.high),
    ]
    for other in others {
      #expect(open(sealed, count: 300, offset: 1024, keys, segment: other) == nil)
    }
  }

  @Test(arguments: everyKeys)
  func `another space cannot decrypt it, nor see that it is one`(keys: SpaceKeys) {
    let sealed = seal(random(64), offset: 0, keys)
    let stranger = SpaceKeys(cipher: keys.cipher.kind)
    #expect(open(sealed, count: 64, offset: 0, stranger) == nil)
    var seen = 0
    for _ in 0..<1000 {
      let sealed = seal([], offset: 0, keys)
      let header = unsafe sealed.withUnsafeBytes { unsafe stranger.cipher.header(of: $0) }
      if header != nil { seen += 1 }
    }
    #expect(seen == 0)
  }

  @Test(arguments: everyKeys)
  func `a record cut short does not decrypt`(keys: SpaceKeys) {
    let sealed = seal(random(64), offset: 0, keys)
    #expect(open(Array(sealed.dropLast()), count: 64, offset: 0, keys) == nil)
    #expect(open(sealed, count: 65, offset: 0, keys) == nil)
    #expect(open(sealed, count: RecordLayout.maximumPlaintext + 1, offset: 0, keys) == nil)
    #expect(open(sealed, count: -1, offset: 0, keys) == nil)
  }

  @Test(arguments: everyKeys)
  func `sealing and decrypting work in place`(keys: SpaceKeys) {
    let plaintext = random(5000)
    var buffer = [UInt8](repeating: 0, count: RecordLayout.sealedByteCount(plaintext: 5000))
    buffer.replaceSubrange(32..<5032, with: plaintext)
    let opens = unsafe buffer.withUnsafeMutableBytes { memory in
      let body = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[32..<5032])
      unsafe keys.cipher.seal(
        UnsafeRawBufferPointer(body), kind: .data, segment: segment, offset: 0, into: memory)
      return unsafe keys.cipher.open(
        UnsafeRawBufferPointer(memory), kind: .data, byteCount: 5000, segment: segment, offset: 0,
        into: body)
    }
    #expect(opens)
    #expect(Array(buffer[32..<5032]) == plaintext)
  }

  @Test(arguments: everyKeys) func `no nonce comes twice, from whichever thread`(keys: SpaceKeys)
    async
  {
    let nonces = await withTaskGroup(of: [[UInt8]].self) { group in
      for _ in 0..<8 {
        group.addTask { (0..<2000).map { _ in Array(seal([], offset: 0, keys)[..<24]) } }
      }
      var all: [[UInt8]] = []
      for await part in group { all += part }
      return all
    }
    #expect(Set(nonces).count == nonces.count)
  }

  @Test func `no cipher decrypts what the other sealed`() {
    for keys in CipherKind.allCases.filter(\.isAvailable).map(fixedKeys) {
      for other in CipherKind.allCases.filter(\.isAvailable).map(fixedKeys) {
        let plaintext = random(300)
        let opened = open(seal(plaintext, offset: 0, keys), count: 300, offset: 0, other)
        #expect(opened == (keys.cipher.kind == other.cipher.kind ? plaintext : nil))
      }
    }
  }

  @Test func `the fastest cipher is one that the machine has`() {
    #expect(CipherKind.fastest().isAvailable)
  }

  private func random(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max) }
  }

  private func seal(
    _ plaintext: [UInt8], kind: RecordKind = .data, offset: Int64, _ keys: SpaceKeys
  ) -> [UInt8] {
    var sealed = [UInt8](
      repeating: 0, count: RecordLayout.sealedByteCount(plaintext: plaintext.count))
    unsafe plaintext.withUnsafeBytes { plaintext in
      unsafe sealed.withUnsafeMutableBytes {
        unsafe keys.cipher.seal(plaintext, kind: kind, segment: segment, offset: offset, into: $0)
      }
    }
    return sealed
  }

  private func open(
    _ sealed: [UInt8], kind: RecordKind = .data, count: Int, offset: Int64, _ keys: SpaceKeys,
    segment: SegmentName? = nil
  ) -> [UInt8]? {
    var plaintext = [UInt8](repeating: 0, count: max(count, 0))
    let opens = unsafe sealed.withUnsafeBytes { sealed in
      unsafe plaintext.withUnsafeMutableBytes {
        unsafe keys.cipher.open(
          sealed, kind: kind, byteCount: count, segment: segment ?? self.segment, offset: offset,
          into: $0)
      }
    }
    return opens ? plaintext : nil
  }
}
