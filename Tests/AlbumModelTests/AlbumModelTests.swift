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

  /// Windows' first second, the year 2500, and what remains of 64 bits.
  @Test(arguments: [
    (-11_644_473_600, 0), (16_725_225_600, 0), (9_214_364_799, 999_999_999), (9_214_364_800, 0),
    (-9_214_364_800, 1), (-9_214_364_801, 0), (9_000_000_000_000_000, 0),
    (-9_000_000_000_000_000, 0), (9_223_372_036, 0), (1 << 40, 0),
  ])
  func aTimeFarOffIsKeptInWholeSeconds(_ time: (Int64, Int64)) throws {
    let stamp = try #require(Timestamp(exactSeconds: time.0, nanoseconds: time.1))
    #expect(stamp.seconds == time.0 && stamp.subsecond == time.1)
    #expect(Timestamp(seconds: time.0 - 1) < stamp && stamp < Timestamp(seconds: time.0 + 1))
    #expect(stamp + .seconds(5) == Timestamp(seconds: time.0 + 5, nanoseconds: time.1))
  }

  @Test func aTimeThatNoTimestampIsExactlyHasNone() {
    for (seconds, part) in [(Int64.max, Int64(0)), (.min, 0), (16_725_225_600, 1), (1 << 62, 0)] {
      #expect(Timestamp(exactSeconds: seconds, nanoseconds: part) == nil)
    }
  }

  @Test func `centuries have as many milliseconds as they have`() {
    let centuries = Duration.seconds(400 * 365 * 86_400)
    #expect(centuries.milliseconds == 12_614_400_000_000)
    #expect(centuries.microseconds == 12_614_400_000_000_000)
    #expect((Duration.zero - centuries).milliseconds == -12_614_400_000_000)
    #expect(Duration.milliseconds(Int64.max / 4).milliseconds == .max / 4)
    #expect(Duration.nanoseconds(1_999_999).milliseconds == 1)
  }

  @Test func noNumberOfAnyClockTraps() {
    let numbers = [
      Int64.min, .min + 1, -1 << 40, -9_223_372_037, -9_214_364_801, -1, 0, 1, 999_999_999,
      9_214_364_800, 9_223_372_036, 1 << 56, .max - 1, .max,
    ]
    for first in numbers {
      for second in numbers {
        let time = Timestamp(seconds: first, nanoseconds: second)
        #expect(0..<1_000_000_000 ~= time.subsecond)
        #expect(Timestamp(nanoseconds: first).seconds <= .max)
        for wait in [Duration.seconds(second), .nanoseconds(second), .milliseconds(first)] {
          _ = (time + wait, time - wait, wait.nanoseconds, wait.milliseconds)
        }
        #expect(0..<StoreTime.limit ~= StoreTime(time).milliseconds)
        let (one, other) = (StoreTime(milliseconds: first), StoreTime(milliseconds: second))
        _ = (one - other, one.floor, one + .milliseconds(second))
      }
    }
    for value in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
      _ = Int64(saturating: value)
    }
    #expect(Int64(saturating: -2.9) == -2 && Int64(saturating: 1e30) == .max)
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
