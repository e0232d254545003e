import AlbumFormat
import AlbumModel
import Testing

@Suite struct RecordLayoutTests {
  @Test func `the worked sizes of the documentation hold`() {
    #expect(RecordLayout.overhead == 48)
    #expect(RecordLayout.sealedByteCount(plaintext: 0) == 48)
    #expect(RecordLayout.paddedByteCount(plaintext: 0) == 256)
    #expect(RecordLayout.paddedByteCount(plaintext: 208) == 256)
    #expect(RecordLayout.paddedByteCount(plaintext: 209) == 512)
    #expect(RecordLayout.sealedByteCount(plaintext: 65_576) == 65_624)
    #expect(RecordLayout.paddedByteCount(plaintext: 65_576) == 65_792)
  }

  @Test func `a record takes the least number of grid units that holds it`() {
    for count in 0...2000 {
      let padded = RecordLayout.paddedByteCount(plaintext: count)
      #expect(padded % RecordLayout.grid == 0)
      #expect(padded >= RecordLayout.sealedByteCount(plaintext: count))
      #expect(padded - RecordLayout.sealedByteCount(plaintext: count) < RecordLayout.grid)
    }
  }

  @Test func `the smallest segment holds several of the largest records`() {
    let largest = RecordLayout.paddedByteCount(plaintext: RecordLayout.maximumPlaintext)
    #expect(largest * 3 <= SegmentLayout.minimumByteCount)
  }

  @Test func `the content of a header is decoded again`() {
    for kind in RecordKind.allCases {
      for count in [0, 1, 65_535, RecordLayout.maximumPlaintext] {
        let header = RecordHeader.decode(RecordHeader.encode(kind: kind, byteCount: count))
        #expect(header?.kind == kind)
        #expect(header?.byteCount == count)
      }
    }
  }

  @Test(arguments: [
    0, UInt64(7) << 32, UInt64(1) << 32 | UInt64(RecordLayout.maximumPlaintext + 1),
    UInt64(1) << 32 | 1 << 40, UInt64(1) << 32 | 1 << 63, .max,
  ])
  func `bytes that cannot be a header are refused`(header: UInt64) {
    #expect(RecordHeader.decode(header) == nil)
  }

  @Test func `associated data are laid out as documented`() {
    let name = SegmentName(text: "48e01810bbede1e5b1e787b271bbb6ef")!
    var associated = AssociatedData(kind: .frame, segment: name, offset: 0x1200, byteCount: 22)
    #expect(MemoryLayout<AssociatedData>.size == AssociatedData.byteCount)
    let bytes = unsafe withUnsafeBytes(of: &associated) { unsafe Array($0) }
    #expect(Array(bytes[..<8]) == [1, 0, 3, 0, 22, 0, 0, 0])
    #expect(bytes[8..<24].map { String($0, radix: 16) }.first == "48")
    #expect(bytes[8] == 0x48 && bytes[15] == 0xe5 && bytes[16] == 0xb1 && bytes[23] == 0xef)
    #expect(Array(bytes[24...]) == [0, 0x12, 0, 0, 0, 0, 0, 0])
  }
}
