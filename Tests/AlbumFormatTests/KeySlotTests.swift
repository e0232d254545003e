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

  @Test func `what a slot says is there again`() {
    var content = KeySlot.Content()
    content.mustUnderstand = 0x0102
    content.mayWrite = 1 << 63
    content.mayIgnore = 5
    #expect(roundTrip(content) == content)
  }

  @Test func `what must be understood refuses the space, what may be ignored does not`() {
    var content = KeySlot.Content()
    #expect(content.refusal == nil && content.isWritable)
    content.mayIgnore = .max
    #expect(content.refusal == nil && content.isWritable)
    content.mayWrite = 4
    #expect(content.refusal == nil && !content.isWritable)
    content.mustUnderstand = 0x10
    #expect(content.refusal == "it uses features 0x10")
    content.mustUnderstand = 0
    content.cipher = 2
    #expect(content.refusal == "its records are sealed with cipher 2")
  }

  private func roundTrip(_ content: KeySlot.Content) -> KeySlot.Content {
    var bytes = [UInt8](repeating: 0, count: KeySlot.plaintextByteCount)
    return unsafe bytes.withUnsafeMutableBytes {
      unsafe content.encode(into: $0)
      return unsafe KeySlot.Content(decoding: UnsafeRawBufferPointer($0))
    }
  }
}
