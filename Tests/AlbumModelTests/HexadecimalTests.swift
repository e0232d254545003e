import AlbumModel
import Testing

@Suite struct HexadecimalTests {
  @Test func `every byte is two lower-case digits, and reads back`() {
    let all = Array(UInt8.min...UInt8.max)
    #expect(Hexadecimal.text(all).hasPrefix("000102030405060708090a0b0c0d0e0f10"))
    #expect(Hexadecimal.bytes(Hexadecimal.text(all)) == all)
    #expect(Hexadecimal.bytes(Hexadecimal.text(all).uppercased()) == all)
    #expect(Hexadecimal.text(UInt64(0x00FE_DCBA_0000_0001).bigEndianBytes) == "00fedcba00000001")
  }

  @Test(arguments: ["0", "000", "0g", "+f", "-1", "f ", "0x", "é0"])
  func `a text that is no pairs of digits is none`(_ text: String) {
    #expect(Hexadecimal.bytes(text) == nil)
  }
}
