import AlbumFormat
import Testing

@Suite struct KeySlotTests {
  @Test func `the parts of a slot fill it without gap`() {
    let parts = [
      KeySlot.nonceRange, KeySlot.commitmentRange, KeySlot.ciphertextRange, KeySlot.tagRange,
    ]
    var end = 0
    for part in parts {
      #expect(part.lowerBound == end)
      end = part.upperBound
    }
    #expect(end == KeySlot.byteCount)
    #expect(KeySlot.plaintextByteCount == 440)
  }

  @Test func `the content of a slot is decoded again`() {
    var content = KeySlot.Content()
    content.mustUnderstand = 0x0102
    content.mayWrite = 1 << 63
    content.mayIgnore = 5
    content.trustedLines = TrustedLines([digest(1), digest(2)])
    #expect(roundTrip(content) == content)
  }

  @Test func `up to four lines are vouched for, and zeros are none`() {
    var lines = TrustedLines()
    #expect(lines.digests.isEmpty)
    lines = TrustedLines([
      digest(1), digest(1), digest(0), digest(2), digest(3), digest(4), digest(5),
    ])
    #expect(lines.digests == [digest(1), digest(2), digest(3), digest(4)])
    #expect(lines.contains(digest(3)) && !lines.contains(digest(5)) && !lines.contains(digest(0)))
  }

  /// The documentation says that the entries are in bytes 64..<192 of the plaintext, 32 bytes each.
  @Test func `the entries are where they are documented to be`() {
    var bytes = [UInt8](repeating: 0, count: KeySlot.plaintextByteCount)
    bytes[32] = 1
    for place in 96..<128 { bytes[place] = 7 }
    let content = unsafe bytes.withUnsafeBytes { unsafe KeySlot.Content(decoding: $0) }
    #expect(content.trustedLines == TrustedLines([digest(7)]))
    var written = [UInt8](repeating: 0xFF, count: KeySlot.plaintextByteCount)
    unsafe written.withUnsafeMutableBytes { unsafe content.encode(into: $0) }
    #expect(written[64..<96].allSatisfy { $0 == 7 } && written[96..<192].allSatisfy { $0 == 0 })
    #expect(written[192...].allSatisfy { $0 == 0xFF })
  }

  private func digest(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

  @Test func `unknown features refuse the space, unless they may be ignored`() {
    var content = KeySlot.Content()
    #expect(content.refusal == nil && content.isWritable)
    content.mayIgnore = .max
    #expect(content.refusal == nil && content.isWritable)
    content.mayWrite = 4
    #expect(content.refusal == nil && !content.isWritable)
    content.mustUnderstand = 0x10
    #expect(content.refusal == "it uses features 0x10")
    content.mustUnderstand = 0
    content.cipher = 7
    #expect(content.refusal == "its records are sealed with cipher 7")
  }

  private func roundTrip(_ content: KeySlot.Content) -> KeySlot.Content {
    var bytes = [UInt8](repeating: 0, count: KeySlot.plaintextByteCount)
    return unsafe bytes.withUnsafeMutableBytes {
      unsafe content.encode(into: $0)
      return unsafe KeySlot.Content(decoding: UnsafeRawBufferPointer($0))
    }
  }
}
