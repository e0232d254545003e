import AlbumFormat
import AlbumModel
import AlbumSecrets
import Testing

// The derived keys are part of the format: every later version must decrypt a store with them. The expected
// values were computed in Python, with hashlib's BLAKE2b, from the documentation alone.

@Suite struct SpaceKeysTests {
  @Test func `names of segments are the documented ones`() {
    let keys = fixedKeys()
    #expect(
      keys.name(
        of: .journal, number: SegmentNumber(7), birth: SegmentBirth(0x0102_0304_0506)
      ).text == "d2611a865b5d8d14fa98a0844155b3d2")
    #expect(
      keys.name(
        of: .data, number: SegmentNumber(0x0102_0304), birth: SegmentBirth(0xFFFE_FDFC_FBFA)
      ).text == "df305c6cfd21cc7a8f726e7271aff377")
  }

  @Test func `a name shows its segment to a holder of the keys, and nothing to others`() {
    let (keys, others) = (SpaceKeys(), SpaceKeys())
    for kind in SegmentKind.allCases {
      for raw in [1, 2, 77, NumberLimits.segment] {
        let (number, birth) = (SegmentNumber(raw), SegmentBirth.random())
        let name = keys.name(of: kind, number: number, birth: birth)
        let found = keys.segment(named: name)
        #expect(found?.kind == kind && found?.number == number && found?.birth == birth)
        #expect(others.segment(named: name) == nil)
        #expect(keys.segment(named: SegmentName(high: name.high ^ 1, low: name.low)) == nil)
      }
    }
    for _ in 0..<1000 {
      let name = SegmentName(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
      #expect(keys.segment(named: name) == nil)
    }
  }

  @Test func `kinds, numbers, births and spaces never share a name`() {
    var names = Set<SegmentName>()
    for keys in [SpaceKeys(), SpaceKeys()] {
      for kind in SegmentKind.allCases {
        for number in 1...300 {
          for birth in [1, 2, SegmentBirth.limit - 1] {
            let name = keys.name(
              of: kind, number: SegmentNumber(UInt32(number)), birth: SegmentBirth(birth))
            #expect(names.insert(name).inserted)
          }
        }
      }
    }
  }

  @Test func `the lock is where it is documented to be`() {
    #expect(fixedKeys().lockOffset == 1_168_436_755_766_447_081)
  }

  @Test func `the mark of a slot is the documented one`() {
    let seed = Array(UInt8(0)...15)
    let mark = unsafe seed.withUnsafeBytes { unsafe fixedKeys().slotMark(on: $0) }
    #expect(mark == 15_159_137_018_222_433_082)
  }

  @Test func `no space's lock can meet that of the key slots`() {
    for _ in 0..<200 {
      let offset = SpaceKeys().lockOffset
      #expect(offset >= 1 << 32 && offset < 1 << 62 + 1 << 32)
    }
  }
}

/// Keys of the master key 00…1f.
func fixedKeys(_ cipher: CipherKind = .xchacha20Poly1305) -> SpaceKeys {
  SpaceKeys(
    master: unsafe SecretBytes(count: 32) { unsafe $0.copyBytes(from: Array(UInt8(0)...31)) },
    cipher: cipher)
}
