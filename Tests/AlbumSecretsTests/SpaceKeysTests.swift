import AlbumFormat
import AlbumModel
import AlbumSecrets
import Testing

// The derived keys are part of the format: a store must open with them for ever. The expected values
// were computed in Python, with hashlib's BLAKE2b, from the documentation alone.

@Suite struct SpaceKeysTests {
  @Test func `names of segments are the documented ones`() {
    let keys = fixedKeys()
    #expect(
      keys.name(of: .journal, number: SegmentNumber(7)).text
        == "48e01810bbede1e5b1e787b271bbb6ef")
    #expect(
      keys.name(of: .data, number: SegmentNumber(0x0102_0304)).text
        == "79d8f25c9e2daa3e1cc0a59bd99518d6")
  }

  @Test func `kinds, numbers and spaces never share a name`() {
    var names = Set<SegmentName>()
    for keys in [SpaceKeys(), SpaceKeys()] {
      for kind in SegmentKind.allCases {
        for number in 1...300 {
          #expect(names.insert(keys.name(of: kind, number: SegmentNumber(UInt32(number)))).inserted)
        }
      }
    }
  }

  @Test func `the lock is where it is documented to be`() {
    #expect(fixedKeys().lockOffset == 1_168_436_755_766_447_081)
  }

  @Test func `no space's lock can meet that of the key slots`() {
    for _ in 0..<200 {
      let offset = SpaceKeys().lockOffset
      #expect(offset >= 1 << 32 && offset < 1 << 62 + 1 << 32)
    }
  }
}

/// Keys of the master key 00…1f.
func fixedKeys() -> SpaceKeys {
  SpaceKeys(
    master: unsafe SecretBytes(count: 32) { unsafe $0.copyBytes(from: Array(UInt8(0)...31)) })
}
