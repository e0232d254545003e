import AlbumFormat
import AlbumModel
import Testing

@Suite struct SegmentLayoutTests {
  @Test func `a segment's name is 32 hexadecimal digits, there and back`() {
    let name = SegmentName(high: 0x00ab, low: 1)
    #expect(name.text == "00000000000000ab0000000000000001")
    #expect(SegmentName(text: name.text) == name)
    let highest = SegmentName(high: .max, low: .max)
    #expect(SegmentName(text: highest.text) == highest)
  }

  @Test(arguments: [
    "", "3f", "00000000000000ab000000000000000", "00000000000000AB0000000000000001",
    "00000000000000ab000000000000000g", "00000000000000ab00000000000000011",
  ])
  func `other spellings are no names`(text: String) {
    #expect(SegmentName(text: text) == nil)
  }

  @Test func `segments are powers of two within bounds`() {
    #expect(SegmentLayout.isValidByteCount(SegmentLayout.defaultByteCount))
    #expect(SegmentLayout.isValidByteCount(256 << 10))
    #expect(SegmentLayout.isValidByteCount(64 << 20))
    for count in [0, -4096, 128 << 10, 3 << 20, 128 << 20, (4 << 20) + 1] {
      #expect(!SegmentLayout.isValidByteCount(count))
    }
  }
}
