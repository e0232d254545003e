import AlbumModel
import Testing

struct FileNameTests {
  @Test func aNameHasOneTo255BytesOfAnyEncoding() throws {
    #expect(try FileName([0xFF, 0x01]).bytes == [0xFF, 0x01])
    #expect(try FileName([UInt8](repeating: 65, count: 255)).bytes.count == 255)
    #expect(throws: FileName.Invalid.tooLong) { try FileName([UInt8](repeating: 65, count: 256)) }
    #expect(throws: FileName.Invalid.empty) { try FileName("") }
  }

  @Test(arguments: [".", "..", "a/b", "a\0b"]) func aNameThatIsAPathIsRefused(_ name: String) {
    #expect(throws: FileName.Invalid.reserved) { try FileName(name) }
  }

  @Test func aLeadingDotHides() throws {
    #expect(try FileName(".Trash").isHidden)
    #expect(!FileName.photo.isHidden)
  }
}

struct TimestampTests {
  @Test(arguments: [(0, 0), (1, 999_999_999), (-1, 0), (-1, 500_000_000), (9_000_000_000, 1)])
  func secondsAndNanosecondsComeBackAsTheyWere(_ time: (Int64, Int64)) {
    let stamp = Timestamp(seconds: time.0, nanoseconds: time.1)
    #expect(stamp.seconds == time.0)
    #expect(stamp.subsecond == time.1)
  }

  @Test func timesBeyondTheRangeBecomeTheNearestInIt() {
    #expect(Timestamp(seconds: .max, nanoseconds: 0).nanoseconds == .max)
    #expect(Timestamp(seconds: .min, nanoseconds: 0).nanoseconds == .min)
    for extreme in [Int64.min, .max] {
      let stamp = Timestamp(nanoseconds: extreme)
      #expect(stamp.seconds &* 1_000_000_000 &+ stamp.subsecond == extreme)
      #expect((0..<1_000_000_000).contains(stamp.subsecond))
    }
    #expect(Timestamp(nanoseconds: .min).seconds == -9_223_372_037)
  }

  /// A store on another user's disk may have any file times.
  @Test func noTimeOverflows() {
    #expect(Timestamp(seconds: 90) - .seconds(60) == Timestamp(seconds: 30))
    #expect(Timestamp(nanoseconds: .min) - .seconds(60) == Timestamp(nanoseconds: .min))
    #expect(Timestamp(nanoseconds: .max) + .seconds(60) == Timestamp(nanoseconds: .max))
    let time = StoreTime(Timestamp(seconds: 2000))
    #expect(time.floor == StoreTime(milliseconds: 1_100_000))
    #expect(time.floor + StoreTime.grace == time && time - time.floor == StoreTime.grace)
  }
}

struct CRC32Tests {
  /// The published check value judges it.
  @Test func theChecksumIsThatOfTheStandard() {
    func checksum(_ pieces: [String]) -> UInt32 {
      var sum = CRC32()
      for piece in pieces { sum.add(Array(piece.utf8)[...]) }
      return sum.value
    }
    #expect(checksum(["123456789"]) == 0xCBF4_3926)
    #expect(checksum(["123", "456789"]) == 0xCBF4_3926)
    #expect(checksum([]) == 0)
  }
}
